/** The columns of a run that make its progress event, and their way back into the domain. */
import { sql } from 'drizzle-orm'
import type { FailureCode } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { RunStatus } from '../domain/run.ts'
import type { Row } from './database.ts'

/** For a `select` from, or a `returning` of, a relation called `run`. */
export const PROGRESS_COLUMNS = sql.raw(`run.id as "runId", run.sync_id as "syncId",
  run.workspace_id as "workspaceId", run.status, run.epoch, run.event_n as "eventN", run."read",
  run.written, run.replayed, run.rejected, run.in_doubt as "inDoubt", run.quarantined, run.skipped,
  run.total_records as "totalRecords", run.failure_code as "failureCode"`)

export interface ProgressRow extends Row {
  readonly runId: string
  readonly syncId: string
  readonly workspaceId: string
  readonly status: RunStatus
  readonly epoch: number
  readonly eventN: number
  readonly read: number
  readonly written: number
  readonly replayed: number
  readonly rejected: number
  readonly inDoubt: number
  readonly quarantined: number
  readonly skipped: number
  readonly totalRecords: number | null
  readonly failureCode: FailureCode | null
}

export function toProgress(row: ProgressRow): RunProgress {
  const { read, written, replayed, rejected, inDoubt, quarantined, skipped } = row
  return {
    runId: row.runId,
    syncId: row.syncId,
    workspaceId: row.workspaceId,
    status: row.status,
    sequence: { epoch: row.epoch, n: row.eventN },
    counters: { read, written, replayed, rejected, inDoubt, quarantined, skipped },
    totalRecords: row.totalRecords,
    failureCode: row.failureCode,
  }
}
