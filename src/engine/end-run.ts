/**
 * Records how an attempt ended: the domain decides the verb, the store carries it out.
 *
 * Invariant: the end of an attempt is not lost to a database that is away for a moment: it is tried
 * again until it is recorded or the run turns out to be another's, but not past a drain's deadline. A failure
 * is recorded together with what follows from it for the sync (I18), and for the connection that was refused (I24).
 */
import { announceAlerts } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import type { Failure } from '../domain/failure.ts'
import { failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { decideAfterFailure, decideAfterInterruption, type RetryPolicy } from '../domain/retry.ts'
import { decideEnd, type EndOfRun } from '../domain/run.ts'
import { sealedFor, type TestRecord } from '../domain/test-run.ts'
import { unreachable } from '../runtime/assert.ts'
import { drawChance, type IdSource, type Random } from '../runtime/random.ts'
import type { Sealer } from '../runtime/seal.ts'
import { type BreakerSettings, recordWithBreaker } from '../store/breaker.ts'
import { clearRefusal, markRefused, type StoredConnection } from '../store/connections.ts'
import type { Database, Handle } from '../store/database.ts'
import {
  cancelRun,
  completeRun,
  failRun,
  findInterruptions,
  type Interruption,
  postponeRun,
  type RunHolder,
  releaseRun,
} from '../store/run-ends.ts'
import type { ClaimedRun } from '../store/runs.ts'
import { completeTestRun } from '../store/test-runs.ts'
import type { StopCause } from './attempt-stop.ts'
import { type KeepTryingParts, keepTrying } from './keep-trying.ts'
import type { Ends } from './open-connectors.ts'

export type RunEnd =
  | { readonly kind: 'end_of_source'; readonly totals: EndOfRun }
  | { readonly kind: 'tested'; readonly records: readonly TestRecord[] }
  | { readonly kind: 'stopped'; readonly stop: StopCause }

export interface EndRunParts extends KeepTryingParts {
  readonly database: Database
  readonly bus: Bus
  readonly ids: IdSource
  readonly random: Random
  readonly sealer: Sealer
  readonly settings: { readonly retry: RetryPolicy; readonly breaker: BreakerSettings }
  readonly claimed: ClaimedRun
  readonly holder: RunHolder
  /** The connections as they were read when the attempt began; null: it did not get so far. */
  readonly ends: Ends | null
}

/** Null: the run is another's. Throws when the database stayed away; recovery then finds the run dropped. */
export async function endRun(parts: EndRunParts, end: RunEnd): Promise<RunProgress | null> {
  const tried = {
    runId: parts.holder.runId,
    event: 'run.end_not_recorded',
    isWorthAnother: () => true,
  }
  return await keepTrying(parts, tried, () => recordEnd(parts, end))
}

function recordEnd(parts: EndRunParts, end: RunEnd): Promise<RunProgress | null> {
  if (end.kind === 'end_of_source') {
    return recordEndOfSource(parts, end.totals)
  }
  if (end.kind === 'tested') {
    return recordTest(parts, end.records)
  }
  const { stop } = end
  switch (stop.kind) {
    case 'failed':
      return recordFailure(parts, stop.failure, stop.retryAfterMs)
    case 'draining':
      return recordRelease(parts, null)
    case 'interrupted':
      return recordInterruption(parts, stop.failure)
    case 'canceled':
      return recordCancel(parts)
    case 'fenced_off':
      return Promise.resolve(null)
    default:
      return unreachable(stop)
  }
}

async function recordEndOfSource(
  parts: EndRunParts,
  totals: EndOfRun,
): Promise<RunProgress | null> {
  const decision = decideEnd(totals)
  if (decision.verb === 'complete') {
    const completed = await completeRun(parts.database, parts.holder, decision.status)
    parts.logger.info('run.completed', { runId: parts.holder.runId, status: decision.status })
    if (completed) {
      await clearRefusals(parts, hasAnswered(parts.claimed.progress, completed.progress))
    }
    if (completed?.hasEndedSilence) {
      await announceAlerts(parts.bus)
    }
    return completed?.progress ?? null
  }
  return recordFailure(parts, failure(decision.code, { step: 'writing' }), null)
}

/** The destination has taken or rejected records since the attempt began: where none were sent, it let nobody through. */
function hasAnswered(before: RunProgress, after: RunProgress): boolean {
  const answered = ({ counters }: RunProgress) => counters.written + counters.rejected
  return answered(after) > answered(before)
}

/**
 * What let the run through is not refused any more (I24). Asks only where it was when the attempt began; should this be lost,
 * the next run does it.
 */
async function clearRefusals(
  { database, ends, logger, holder }: EndRunParts,
  hasDestinationAnswered: boolean,
): Promise<void> {
  const passed = ends ? [ends.from, ...(hasDestinationAnswered ? [ends.to] : [])] : []
  for (const connection of passed.filter(({ refusedAt }) => refusedAt !== null)) {
    const which = { connectionId: connection.id, runId: holder.runId }
    try {
      if (await clearRefusal(database, connection)) {
        logger.info('connection.let_in', which)
      }
    } catch (error) {
      // The run has ended: it must not be ended a second time for this.
      logger.warn('connection.not_let_in', which, error)
    }
  }
}

async function recordTest(
  parts: EndRunParts,
  records: readonly TestRecord[],
): Promise<RunProgress | null> {
  const { database, holder, logger, sealer } = parts
  const { runId } = holder
  const completed = await completeTestRun(database, holder, {
    read: records.length,
    recordsWithProblems: records.filter(({ problem }) => problem !== null).length,
    sealedRecords: sealer.seal(JSON.stringify(records), sealedFor(runId)),
  })
  logger.info('run.completed', { runId, status: 'succeeded' })
  if (completed) {
    await clearRefusals(parts, false)
  }
  return completed
}

async function recordFailure(
  parts: EndRunParts,
  told: Failure,
  retryAfterMs: number | null,
): Promise<RunProgress | null> {
  const { database, holder, claimed, logger } = parts
  const decision = decideAfterFailure(
    {
      code: told.code,
      attemptsSpent: claimed.attemptsSpent,
      attemptAllowance: claimed.attemptAllowance,
      retryAfterMs,
      chance: drawChance(parts.random),
    },
    parts.settings.retry,
  )
  if (decision.verb === 'postpone') {
    const { delayMs } = decision
    const progress = await postponeRun(database, holder, { failure: told, delayMs })
    if (progress) {
      logger.info('run.postponed', { runId: holder.runId, code: told.code, delayMs })
      return progress
    }
    // Nobody wants the run any more (or it is another's): there is no next attempt.
    const canceled = await recordCancel(parts)
    if (canceled) {
      return canceled
    }
  }
  return await recordFailed(parts, told)
}

/** In one transaction with what the breaker makes of it. Null: the run is another's, or an earlier try was committed. */
async function recordFailed(parts: EndRunParts, told: Failure): Promise<RunProgress | null> {
  const { database, holder, ids, logger } = parts
  const { runId, syncId } = holder
  const { breaker } = parts.settings
  logger.info('run.failed', { runId, code: told.code })
  const fail = (tx: Handle) => failWithRefusal(tx, parts, told)
  if (parts.claimed.testLimit !== null) {
    // It says nothing of what is published.
    return await database.transaction('endRun.recordFailed', fail)
  }
  const settings = { ids, breaker, name: 'endRun.recordFailed', syncId }
  const failed = await recordWithBreaker(database, settings, fail)
  if (failed?.trip) {
    logger.warn('breaker.tripped', failed.trip)
    await announceAlerts(parts.bus)
  }
  return failed?.recorded ?? null
}

/** The connection is marked with the run, unless it has been connected anew since the attempt began. */
async function failWithRefusal(
  tx: Handle,
  { holder, logger, ends }: EndRunParts,
  told: Failure,
): Promise<RunProgress | null> {
  const progress = await failRun(tx, holder, told)
  const refused = progress && ends ? findRefused(told, ends) : null
  if (refused && (await markRefused(tx, refused, told.detail ?? ''))) {
    logger.warn('connection.refused', { connectionId: refused.id, runId: holder.runId })
  }
  return progress
}

/** The step tells at which end it was. Null: access was not refused, or nobody can tell by whom. */
function findRefused({ code, step }: Failure, { from, to }: Ends): StoredConnection | null {
  if (code !== 'connection_unauthorized') {
    return null
  }
  switch (step) {
    case 'reading':
      return from
    case 'writing':
      return to
    default:
      return null
  }
}

async function recordInterruption(parts: EndRunParts, told: Failure): Promise<RunProgress | null> {
  const { database, holder, settings } = parts
  const interruptions = await findInterruptions(database, holder)
  if (interruptions === null) {
    return null
  }
  const decision = decideAfterInterruption(interruptions, settings.retry)
  return decision.verb === 'count'
    ? await recordFailure(parts, told, null)
    : await recordRelease(parts, { failure: told, delayMs: decision.delayMs })
}

async function recordRelease(
  parts: EndRunParts,
  interruption: Interruption | null,
): Promise<RunProgress | null> {
  const { database, holder, logger } = parts
  const progress = await releaseRun(database, holder, interruption)
  if (progress) {
    const { failure: told, delayMs = 0 } = interruption ?? {}
    logger.info('run.released', { runId: holder.runId, delayMs, why: told?.detail ?? 'draining' })
    return progress
  }
  const unwanted = failure('attestation_rule_not_active')
  return (await recordCancel(parts)) ?? (await recordFailed(parts, unwanted))
}

/** Null: nobody asked for it, or the run is another's. */
async function recordCancel(parts: EndRunParts): Promise<RunProgress | null> {
  const { database, holder, logger } = parts
  const progress = await cancelRun(database, holder)
  if (progress) {
    logger.info('run.canceled', { runId: holder.runId })
  }
  return progress
}
