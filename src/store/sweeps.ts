/**
 * Closing runs of scheduled syncs that stopped reporting.
 *
 * Invariants: a run is closed as it was seen (worker, epoch, last beat) or not at all, and the fence is
 * raised with it, so that whatever its worker still sends to PostgreSQL changes nothing; the run that
 * takes its place is queued in the same statement. Rows are locked in the order sync, fence, run.
 */
import { sql } from 'drizzle-orm'
import type { Failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle } from './database.ts'
import { settlePause } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'
import { closeTakenOver, type RunningRun, raiseFence, type TakenRun } from './workers.ts'

/** Runs that one look takes in: healthy ones that take long are among them. */
const MAX_LONG_ATTEMPTS = 10_000

/** Running runs of scheduled syncs whose attempt began long ago, with the last beat of their workers. */
export function listLongAttempts(
  db: Handle,
  options: { readonly stuckAfterMs: number; readonly now: Instant | null },
): Promise<readonly TakenRun[]> {
  return db.rows<TakenRun>(sql`/* sweeps.listLongAttempts */
    select run.id as "runId", run.sync_id as "syncId", run.worker_id as "workerId", run.epoch,
           run.take_overs as "takeOvers", coalesce(worker.beat_n, -1) as "beatN",
           sync.status as "syncStatus", run.cancel_requested_at is not null as "isCancelRequested"
    from run
    join sync on sync.id = run.sync_id
    join attempt on attempt.run_id = run.id and attempt.number = run.claims
    join sync_schedule on sync_schedule.sync_id = run.sync_id
    left join worker on worker.id = run.worker_id
    where run.status = 'running' and sync_schedule.schedule is not null
      and attempt.started_at
        < coalesce(${options.now?.toISOString() ?? null}::timestamptz, now())
          - ${options.stuckAfterMs}::float8 * interval '1 millisecond'
    order by attempt.started_at, run.id
    limit ${MAX_LONG_ATTEMPTS}`)
}

export interface SweptRun {
  readonly closed: RunProgress
  /** The run that takes its place; null: the sync is not active. */
  readonly queued: RunProgress | null
}

/**
 * running → failed, and a new run of an active sync. Null: the run has moved on, its worker has beaten, or
 * somebody has asked to cancel it (it is not failed then).
 */
export async function sweepRun(
  db: Handle,
  seen: RunningRun,
  given: { readonly failure: Failure; readonly nextRunId: string },
): Promise<SweptRun | null> {
  const { code, step, subject, detail } = given.failure
  const rows = await db.rows<ProgressRow>(sql`/* sweeps.sweepRun */
    with raised as (${raiseFence(seen, sql`locked_run.cancel_requested_at is null`)}),
    ended as (
      update run
      set status = 'failed', finished_at = now(), epoch = raised.epoch, event_n = 0,
          failure_code = ${code}, failure_step = ${step}, failure_subject = ${subject},
          failure_detail = ${detail}
      from raised
      where run.id = ${seen.runId}
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeTakenOver('swept', given.failure)}),
    settled as (${settlePause(sql`raised`)}),
    queued as (
      insert into run (id, workspace_id, sync_id, publication_id, cause, attempt_allowance)
      select ${given.nextRunId}::uuid, raised.workspace_id, raised.sync_id, raised.publication_id,
             'sweep', ${ATTEMPT_ALLOWANCE}::integer
      from ended
      join raised on raised.sync_id = ended."syncId"
      where raised.sync_status = 'active'
      returning ${PROGRESS_COLUMNS}
    )
    select ${sql.raw(PROGRESS_NAMES)} from ended
    union all
    select ${sql.raw(PROGRESS_NAMES)} from queued`)
  const closed = rows.find((row) => row.runId === seen.runId)
  const queued = rows.find((row) => row.runId === given.nextRunId)
  return closed ? { closed: toProgress(closed), queued: queued ? toProgress(queued) : null } : null
}

const PROGRESS_NAMES = `"runId", "syncId", "workspaceId", status, epoch, "eventN", "read", written,
  replayed, rejected, "inDoubt", quarantined, skipped, "totalRecords", "failureCode"`
