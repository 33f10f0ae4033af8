/**
 * What people want of runs that are in flight: to be canceled, or that their sync stops.
 *
 * Invariant: whoever acts here for a person has locked the sync, so the run neither starts nor ends
 * meanwhile.
 */
import { sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { RunStatus } from '../domain/run.ts'
import type { SyncStatus } from '../domain/sync.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import type { Handle } from './database.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'
import { STANDING } from './workers.ts'

export type UnwantedRun = {
  readonly runId: string
  readonly epoch: number
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
}

/** The worker's running runs that somebody asked to stop. */
export function listUnwantedRuns(db: Handle, workerId: string): Promise<readonly UnwantedRun[]> {
  return db.rows<UnwantedRun>(sql`/* stopWishes.listUnwantedRuns */
    select run.id as "runId", run.epoch, ${STANDING} as "syncStatus",
           run.cancel_requested_at is not null as "isCancelRequested"
    from run
    join sync on sync.id = run.sync_id
    where run.worker_id = ${workerId} and run.status = 'running'
      and (run.cancel_requested_at is not null or ${STANDING} <> 'active')`)
}

export type RunToCancel = {
  readonly id: string
  readonly syncId: string
  readonly status: RunStatus
  readonly isCancelRequested: boolean
}

export async function findRunToCancel(
  handle: Handle,
  workspaceId: string,
  runId: string,
): Promise<RunToCancel | null> {
  const [row] = await handle.rows<RunToCancel>(sql`/* stopWishes.findRunToCancel */
    select id, sync_id as "syncId", status, cancel_requested_at is not null as "isCancelRequested"
    from run
    where id = ${runId} and workspace_id = ${workspaceId}`)
  return row ?? null
}

export interface Wish {
  readonly runId: string
  readonly by: string
  readonly reason: string
}

/** queued → canceled. Null: it is not queued. */
export async function cancelQueuedRun(tx: Handle, wish: Wish): Promise<RunProgress | null> {
  const [row] = await tx.rows<ProgressRow>(sql`/* stopWishes.cancelQueuedRun */
    update run
    set status = 'canceled', finished_at = now(), event_n = event_n + 1,
        cancel_requested_at = now(), cancel_requested_by = ${wish.by}, cancel_reason = ${wish.reason}
    where id = ${wish.runId} and status = 'queued'
    returning ${PROGRESS_COLUMNS}`)
  return row ? toProgress(row) : null
}

/** Stores the request, which the run's attempt carries out. False: it is not running, or was asked before. */
export async function requestCancel(tx: Handle, wish: Wish): Promise<boolean> {
  const rows = await tx.rows(sql`/* stopWishes.requestCancel */
    update run
    set cancel_requested_at = now(), cancel_requested_by = ${wish.by}, cancel_reason = ${wish.reason}
    where id = ${wish.runId} and status = 'running' and cancel_requested_at is null
    returning 1`)
  return rows.length > 0
}

/** What the run in flight writes to, and the moment by the database's clock. */
export interface CallInFlight {
  readonly now: Instant
  /** The destination's type and the object's options; null: the run's version is not there. */
  readonly destination: { readonly type: string; readonly options: JsonObject } | null
}

export async function findCallInFlight(tx: Handle, runId: string): Promise<CallInFlight> {
  const [row] = await tx.rows<{ nowMs: number; type: string | null; options: JsonObject | null }>(
    sql`/* stopWishes.findCallInFlight */
    select round(extract(epoch from now()) * 1000)::float8 as "nowMs", connection.type,
           version.config -> 'objectOptions' as options
    from (select ${runId}::uuid as id) as asked
    left join run on run.id = asked.id
    left join publication on publication.id = run.publication_id
    left join sync_version as version
      on version.sync_id = run.sync_id and version.digest = publication.version_digest
    left join connection on connection.id = (version.config ->> 'destinationConnectionId')::uuid`,
  )
  const { nowMs = 0, type = null, options = null } = row ?? {}
  return {
    now: instantAt(nowMs),
    destination: type === null || options === null ? null : { type, options },
  }
}
