/**
 * How a running run leaves its worker: one function a verb.
 *
 * Invariants: every transition is a compare-and-set on status, worker and epoch, and answers null when
 * it lost (I5); rows are locked in the order sync, fence, run. A person's wish (pause, cancel) that meets a
 * running run is carried out where the run ends: a run that nobody wants any more is not queued again (I15).
 */
import { type SQL, sql } from 'drizzle-orm'
import { silenceIncident } from '../domain/alert.ts'
import { SILENCE_CLOSINGS } from '../domain/dead-man.ts'
import type { Failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { closeAlert, noticeClosing } from './alerts.ts'
import type { Handle } from './database.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'

/** Who holds a run: the compare of every compare-and-set below. */
export interface RunHolder {
  readonly runId: string
  readonly syncId: string
  readonly workerId: string
  readonly epoch: number
}

export interface CompletedRun {
  readonly progress: RunProgress
  /** Whether an alert was closed by it. */
  readonly hasEndedSilence: boolean
}

/**
 * running → succeeded or partial. A success takes the runs that it retried out of the DLQ, and ends the silence
 * of its workspace (I19): the alert is closed with it, and who was told of it is told so.
 */
export async function completeRun(
  db: Handle,
  holder: RunHolder,
  status: 'succeeded' | 'partial',
): Promise<CompletedRun | null> {
  const [row] = await db.rows<
    ProgressRow & { readonly hasEndedSilence: boolean }
  >(sql`/* runEnds.completeRun */
    with recursive held as (${heldRun(holder)}),
    ended as (
      update run
      set status = ${status}, finished_at = now(), progress_at = now(), event_n = run.event_n + 1
      from held
      where run.id = held.id
      returning ${PROGRESS_COLUMNS}, run.retry_of, run.claims
    ),
    closed as (${closeAttempt('completed', null)}),
    settled as (${settlePause(sql`held`)}),
    retried (id, retry_of) as (
      select older.id, older.retry_of
      from ended
      join run as older on older.id = ended.retry_of
      where ${status} = 'succeeded'
      union all
      select older.id, older.retry_of
      from retried
      join run as older on older.id = retried.retry_of
    ),
    resolved as (
      update run
      set resolved_at = now(), resolved_by_run_id = ${holder.runId}
      from retried
      where run.id = retried.id and run.resolved_at is null
    ),
    succeeded as (
      select ${silenceIncident('')}::text || "workspaceId" as incident
      from ended
      where ${status} = 'succeeded'
    ),
    broken as (${closeAlert(sql`succeeded.incident`, { closing: SILENCE_CLOSINGS.succeeded, of: sql`succeeded` })}),
    noticed as (${noticeClosing(sql`broken`)})
    select ended.*, exists (select from broken) as "hasEndedSilence" from ended`)
  return row ? { progress: toProgress(row), hasEndedSilence: row.hasEndedSilence } : null
}

/** running → failed. */
export async function failRun(
  db: Handle,
  holder: RunHolder,
  failure: Failure,
): Promise<RunProgress | null> {
  const { code, step, subject, detail } = failure
  const [row] = await db.rows<ProgressRow>(sql`/* runEnds.failRun */
    with held as (${heldRun(holder)}),
    ended as (
      update run
      set status = 'failed', finished_at = now(), progress_at = now(), event_n = run.event_n + 1,
          attempts_spent = run.attempts_spent + 1, failure_code = ${code}, failure_step = ${step},
          failure_subject = ${subject}, failure_detail = ${detail}
      from held
      where run.id = held.id
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeAttempt('failed', failure)}),
    settled as (${settlePause(sql`held`)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** running → queued, due later: the attempt failed and another one is allowed. Null also when nobody wants the run any more. */
export async function postponeRun(
  db: Handle,
  holder: RunHolder,
  options: { readonly failure: Failure; readonly delayMs: number },
): Promise<RunProgress | null> {
  const [row] = await db.rows<ProgressRow>(sql`/* runEnds.postponeRun */
    with held as (${heldRun(holder)}),
    ended as (
      update run
      set status = 'queued', worker_id = null, event_n = run.event_n + 1,
          attempts_spent = run.attempts_spent + 1,
          due_at = now() + ${options.delayMs}::float8 * interval '1 millisecond'
      from held
      where run.id = held.id and held.is_wanted
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeAttempt('postponed', options.failure)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** Why a run is handed back that its worker could have gone on with, and how long nobody is to take it. */
export interface Interruption {
  readonly failure: Failure
  readonly delayMs: number
}

/**
 * running → queued: its worker stops (due now) or was interrupted, and hands the run back; the attempt does
 * not count. Null as for {@link postponeRun}.
 */
export async function releaseRun(
  db: Handle,
  holder: RunHolder,
  interruption: Interruption | null = null,
): Promise<RunProgress | null> {
  const { failure = null, delayMs = 0 } = interruption ?? {}
  const [row] = await db.rows<ProgressRow>(sql`/* runEnds.releaseRun */
    with held as (${heldRun(holder)}),
    ended as (
      update run
      set status = 'queued', worker_id = null, event_n = run.event_n + 1,
          interruptions = run.interruptions + ${interruption ? 1 : 0}::integer,
          due_at = date_trunc('milliseconds', now() + ${delayMs}::float8 * interval '1 millisecond')
      from held
      where run.id = held.id and held.is_wanted
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeAttempt('released', failure)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** How many attempts in a row lost the database, without a checkpoint. Null: the run is another's. */
export async function findInterruptions(db: Handle, holder: RunHolder): Promise<number | null> {
  const [row] = await db.rows<{ interruptions: number }>(sql`/* runEnds.findInterruptions */
    select interruptions
    from run
    where id = ${holder.runId} and status = 'running' and worker_id = ${holder.workerId}
      and epoch = ${holder.epoch}`)
  return row?.interruptions ?? null
}

/** running → canceled, as a person asked. Null also when nobody did. */
export async function cancelRun(db: Handle, holder: RunHolder): Promise<RunProgress | null> {
  const [row] = await db.rows<ProgressRow>(sql`/* runEnds.cancelRun */
    with held as (${heldRun(holder)}),
    ended as (
      update run
      set status = 'canceled', finished_at = now(), progress_at = now(), event_n = run.event_n + 1
      from held
      where run.id = held.id and held.is_cancel_requested
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeAttempt('canceled', null)}),
    settled as (${settlePause(sql`held`)})
    select * from ended`)
  return row ? toProgress(row) : null
}

/** Locks sync, fence and run of a holder, in that order; empty when the run is not the holder's any more. */
export function heldRun(holder: RunHolder) {
  return sql`
    select run.id,
           (locked_sync.status = 'active' or run.cause = 'test')
             and run.cancel_requested_at is null as is_wanted,
           locked_sync.status as sync_status, locked_sync.pause_cause,
           run.cancel_requested_at is not null as is_cancel_requested
    from (select id, status, pause_cause
          from sync
          where id = ${holder.syncId}
          for no key update) as locked_sync
    cross join lateral (
      select sync_id
      from sync_fence
      where sync_id = locked_sync.id and epoch = ${holder.epoch}
      for share) as locked_fence
    cross join lateral (
      select id, cause, cancel_requested_at
      from run
      where id = ${holder.runId} and sync_id = locked_fence.sync_id and status = 'running'
        and worker_id = ${holder.workerId} and epoch = ${holder.epoch}
      for no key update) as run`
}

export function closeAttempt(outcome: string, failure: Failure | null) {
  return sql`
    update attempt
    set finished_at = now(), outcome = ${outcome}, failure_code = ${failure?.code ?? null},
        failure_step = ${failure?.step ?? null}, failure_subject = ${failure?.subject ?? null},
        failure_detail = ${failure?.detail ?? null}
    from ended
    where attempt.run_id = ended."runId" and attempt.number = ended.claims`
}

/**
 * A sync that was waiting for its run to stop is paused where that run ends. Whether it waits, and why, is
 * what the statement saw when it had locked the sync (`sync_status` and `pause_cause` of `locked`). A pause
 * that was committed while it waited for that is not in its snapshot: asked of the table itself, the sync
 * would go on pausing for ever, and its constraints are checked on the row as the snapshot has it.
 */
export function settlePause(locked: SQL) {
  return sql`
    update sync
    set status = 'paused', pause_cause = locked.pause_cause, updated_at = now()
    from ended, ${locked} as locked
    where sync.id = ended."syncId" and locked.sync_status = 'pausing'`
}
