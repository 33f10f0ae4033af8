/**
 * Workers: the processes that run syncs, and taking over from one that fell silent.
 *
 * Invariants: a worker beats on a row of its own (never on a run's); silence is what an observer saw,
 * so a take-over names the beat it saw and changes nothing when there was another one since; it raises
 * the fence, so that whatever the old worker still sends to PostgreSQL changes nothing.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { ClockDifference } from '../domain/clock-difference.ts'
import type { Failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { SyncStatus } from '../domain/sync.ts'
import { assert } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { IdSource } from '../runtime/random.ts'
import { auditRunOfSilentWorker } from './audit.ts'
import type { Database, Handle } from './database.ts'
import { settlePause } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'

export async function registerWorker(
  db: Handle,
  worker: {
    readonly id: string
    readonly host: string
    readonly pid: number
    /** The key that it seals with. */
    readonly sealingKeyId?: string
  },
): Promise<void> {
  await db.rows(sql`/* workers.registerWorker */
    insert into worker (id, host, pid, sealing_key_id)
    values (${worker.id}, ${worker.host}, ${worker.pid}, ${worker.sealingKeyId ?? null}::text)`)
}

export async function beat(db: Handle, workerId: string): Promise<void> {
  await db.rows(sql`/* workers.beat */
    update worker
    set beat_n = beat_n + 1, beat_at = now()
    where id = ${workerId}`)
}

export async function markStopped(db: Handle, workerId: string): Promise<void> {
  await db.rows(sql`/* workers.markStopped */
    update worker
    set stopped_at = now()
    where id = ${workerId}`)
}

/** A running run with the last beat of its worker. */
export type RunningRun = {
  readonly runId: string
  readonly syncId: string
  readonly workerId: string
  readonly epoch: number
  readonly takeOvers: number
  /** -1 when the worker has no row. */
  readonly beatN: number
}

/** With what people asked for meanwhile. */
export type TakenRun = RunningRun & {
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
  /** Of a draft: neither the sync's standing nor the breaker has to do with it. */
  readonly isTest: boolean
}

/** What a run needs its sync to be: a test run does not ask, as it calls no destination. */
export const STANDING = sql`case when run.cause = 'test' then 'active' else sync.status end`

/** Runs that one look at the workers takes in. */
const MAX_RUNNING_RUNS = 10_000

export function listRunningRuns(db: Handle): Promise<readonly TakenRun[]> {
  return db.rows<TakenRun>(sql`/* workers.listRunningRuns */
    select run.id as "runId", run.sync_id as "syncId", run.worker_id as "workerId", run.epoch,
           run.take_overs as "takeOvers", coalesce(worker.beat_n, -1) as "beatN",
           ${STANDING} as "syncStatus", run.cancel_requested_at is not null as "isCancelRequested",
           run.cause = 'test' as "isTest"
    from run
    join sync on sync.id = run.sync_id
    left join worker on worker.id = run.worker_id
    where run.status = 'running'
    order by run.worker_id
    limit ${MAX_RUNNING_RUNS}`)
}

/**
 * running, worker silent → queued, due now; counts the take-over. Null: it beat again, the run has moved
 * on, or nobody wants it any more.
 */
export async function recoverRun(db: Handle, seen: RunningRun): Promise<RunProgress | null> {
  const [row] = await db.rows<ProgressRow>(sql`/* workers.recoverRun */
    with raised as (${raiseFence(seen, IS_WANTED)}),
    ended as (
      update run
      set status = 'queued', worker_id = null, due_at = date_trunc('milliseconds', now()), epoch = raised.epoch, event_n = 0,
          take_overs = run.take_overs + 1
      from raised
      where run.id = ${seen.runId}
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeTakenOver('recovered', null)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** running, worker silent → failed: the run ended its worker time after time, or its sync was paused. */
export async function closeRunOfSilentWorker(
  db: Handle,
  seen: RunningRun,
  failure: Failure,
): Promise<RunProgress | null> {
  const [row] = await db.rows<ProgressRow>(sql`/* workers.closeRunOfSilentWorker */
    with raised as (${raiseFence(seen, sql`true`)}),
    ended as (
      update run
      set status = 'failed', finished_at = now(), epoch = raised.epoch, event_n = 0,
          take_overs = run.take_overs + 1, failure_code = ${failure.code},
          failure_step = ${failure.step}, failure_subject = ${failure.subject},
          failure_detail = ${failure.detail}
      from raised
      where run.id = ${seen.runId}
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeTakenOver('recovered', failure)}),
    settled as (${settlePause(sql`raised`)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** running, worker silent → canceled, as a person asked: no attempt is left to carry it out. */
export async function cancelRunOfSilentWorker(
  db: Handle,
  seen: RunningRun,
): Promise<RunProgress | null> {
  const [row] = await db.rows<ProgressRow>(sql`/* workers.cancelRunOfSilentWorker */
    with raised as (${raiseFence(seen, sql`locked_run.cancel_requested_at is not null`)}),
    ended as (
      update run
      set status = 'canceled', finished_at = now(), epoch = raised.epoch, event_n = 0,
          take_overs = run.take_overs + 1
      from raised
      where run.id = ${seen.runId}
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeTakenOver('canceled', null)}),
    settled as (${settlePause(sql`raised`)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** The same in a transaction, with its entry in the audit trail. */
export async function cancelAudited(
  database: Database,
  ids: IdSource,
  seen: RunningRun,
): Promise<RunProgress | null> {
  return await database.transaction('workers.cancelAudited', async (tx) => {
    const canceled = await cancelRunOfSilentWorker(tx, seen)
    if (canceled) {
      const deed = { action: 'cancel', run: canceled, reason: null } as const
      await auditRunOfSilentWorker(tx, ids, deed)
    }
    return canceled
  })
}

/** Neither was it canceled nor its sync paused. */
const IS_WANTED = sql`(locked_sync.status = 'active' or locked_run.cause = 'test')
  and locked_run.cancel_requested_at is null`

/**
 * Locks sync, fence and run, in that order, and raises the fence if all is still as it was seen, and as it
 * `must` be. Tells what the sync is as it is locked.
 */
export function raiseFence(seen: RunningRun, must: SQL) {
  return sql`
    update sync_fence
    set epoch = sync_fence.epoch + 1
    from (select id, workspace_id, status, pause_cause, publication_id
          from sync
          where id = ${seen.syncId}
          for no key update) as locked_sync
    cross join lateral (
      select sync_id
      from sync_fence as held_fence
      where held_fence.sync_id = locked_sync.id and held_fence.epoch = ${seen.epoch}
      for no key update) as locked_fence
    cross join lateral (
      select id, cause, cancel_requested_at
      from run
      where id = ${seen.runId} and sync_id = locked_fence.sync_id and status = 'running'
        and worker_id = ${seen.workerId} and epoch = ${seen.epoch}
      for no key update) as locked_run
    cross join lateral (${lastBeat(seen.workerId)}) as last_beat
    where sync_fence.sync_id = locked_fence.sync_id and last_beat.beat_n = ${seen.beatN}
      and ${must}
    returning sync_fence.epoch, sync_fence.sync_id, locked_sync.workspace_id,
              locked_sync.status as sync_status, locked_sync.pause_cause,
              locked_sync.publication_id`
}

/** The worker's last beat, -1 for one without a row. Locked, so that a beat that comes while this waits is seen. */
function lastBeat(workerId: string) {
  return sql`
    select beat_n
    from (select beat_n from worker where id = ${workerId} for share) as beating
    union all
    select -1
    where not exists (select from worker where id = ${workerId})`
}

export function closeTakenOver(outcome: string, failure: Failure | null) {
  return sql`
    update attempt
    set finished_at = now(), outcome = ${outcome}, failure_code = ${failure?.code ?? null},
        failure_detail = ${failure?.detail ?? null}
    from ended
    where attempt.run_id = ended."runId" and attempt.number = ended.claims`
}

/** How long ago the worker beat, by the database's clock; null: there is no such worker. */
export async function findBeatAgeMs(db: Handle, workerId: string): Promise<number | null> {
  const [row] = await db.rows<{ ageMs: number }>(sql`/* workers.findBeatAgeMs */
    select round(extract(epoch from now() - beat_at) * 1000)::float8 as "ageMs"
    from worker
    where id = ${workerId}`)
  return row?.ageMs ?? null
}

/** Halfway between question and answer both clocks are taken for the same moment; half of that time is what is not known. */
export async function measureClockDifference(db: Handle, clock: Clock): Promise<ClockDifference> {
  const askedAtMs = clock.monotonicMs()
  const [row] = await db.rows<{ nowMs: number }>(sql`/* workers.measureClockDifference */
    select round(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`)
  assert(row !== undefined, 'A database tells the time.')
  const halfMs = (clock.monotonicMs() - askedAtMs) / 2
  return {
    differenceMs: Math.round(clock.now().getTime() - halfMs - row.nowMs),
    uncertaintyMs: Math.ceil(halfMs),
  }
}
