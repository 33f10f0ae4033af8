/**
 * Closing runs of scheduled syncs that stopped reporting.
 *
 * Invariants: a run is closed as it was seen (worker, epoch, last beat) or not at all, and the fence is
 * raised with it, so that whatever its worker still sends to PostgreSQL changes nothing; the run that
 * takes its place is queued in the same transaction, and only where the sync is active after what the breaker
 * made of the failure (I18). Rows are locked in the order sync, fence, run.
 */
import { sql } from 'drizzle-orm'
import { type Failure, failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import type { Instant } from '../runtime/clock.ts'
import { auditRunOfSilentWorker } from './audit.ts'
import { applyBreaker, type BreakerParts, type Trip } from './breaker.ts'
import type { Database, Handle } from './database.ts'
import { settlePause } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'
import { closeTakenOver, type RunningRun, raiseFence, STANDING, type TakenRun } from './workers.ts'

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
           ${STANDING} as "syncStatus", run.cancel_requested_at is not null as "isCancelRequested"
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
  /** The run that takes its place; null: the sync is not active, or it was a test. */
  readonly queued: RunProgress | null
  /** What the breaker made of it; null: nothing. */
  readonly trip: Trip | null
}

/**
 * running → failed, and a new run of a sync that is still active. Null: the run has moved on, its worker has
 * beaten, or somebody has asked to cancel it (it is not failed then).
 */
export async function sweepRun(
  database: Database,
  parts: BreakerParts,
  seen: RunningRun,
): Promise<SweptRun | null> {
  return await database.transaction('sweeps.sweepRun', async (tx) => {
    const stuck = await closeStuckRun(tx, seen, failure('stale_job_swept'))
    if (!stuck) {
      return null
    }
    const { closed, isTest } = stuck
    const reason = closed.failureCode
    await auditRunOfSilentWorker(tx, parts.ids, { action: 'sweep', run: closed, reason })
    if (isTest) {
      return { closed, queued: null, trip: null } // nobody waits for a run in its place
    }
    const trip = await applyBreaker(tx, parts, seen.syncId)
    const queued = trip ? null : await replaceRun(tx, { ...seen, nextRunId: parts.ids.next() })
    return { closed, queued, trip }
  })
}

async function closeStuckRun(
  tx: Handle,
  seen: RunningRun,
  told: Failure,
): Promise<{ readonly closed: RunProgress; readonly isTest: boolean } | null> {
  const { code, step, subject, detail } = told
  const [row] = await tx.rows<
    ProgressRow & { readonly isTest: boolean }
  >(sql`/* sweeps.closeStuckRun */
    with raised as (${raiseFence(seen, sql`locked_run.cancel_requested_at is null`)}),
    ended as (
      update run
      set status = 'failed', finished_at = now(), epoch = raised.epoch, event_n = 0,
          failure_code = ${code}, failure_step = ${step}, failure_subject = ${subject},
          failure_detail = ${detail}
      from raised
      where run.id = ${seen.runId}
      returning ${PROGRESS_COLUMNS}, run.claims, run.cause = 'test' as "isTest"
    ),
    closed as (${closeTakenOver('swept', told)}),
    settled as (${settlePause(sql`raised`)})
    select * from ended`)
  return row ? { closed: toProgress(row), isTest: row.isTest } : null
}

/** Queues a run of the published version. Null: the sync, which is held, is not active. */
async function replaceRun(
  tx: Handle,
  given: { readonly syncId: string; readonly nextRunId: string },
): Promise<RunProgress | null> {
  const [row] = await tx.rows<ProgressRow>(sql`/* sweeps.replaceRun */
    insert into run (id, workspace_id, sync_id, publication_id, cause, attempt_allowance)
    select ${given.nextRunId}::uuid, workspace_id, id, publication_id, 'sweep',
           ${ATTEMPT_ALLOWANCE}::integer
    from sync
    where id = ${given.syncId} and status = 'active'
    returning ${PROGRESS_COLUMNS}`)
  return row ? toProgress(row) : null
}
