/**
 * The failure circuit breaker: pauses a sync after so many failed runs in a row.
 *
 * The incident behind it: the tool of a sync had been disconnected, so each of its scheduled runs failed
 * before any worker saw it. Whatever counted failures counted them in a worker, and nobody was counting: the
 * sync failed at every tick, for as long as it took until somebody missed its records. So the count is no
 * counter: it is read from the runs themselves, whenever a failed one is recorded, on whatever path, in the
 * transaction that records it.
 *
 * Invariants: one run that did not fail resets the streak; a change (publishing, resuming) begins a new one;
 * only a sync that is active is paused, so it trips once.
 */
import {
  describeFailure,
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  type Failure,
  type FailureCode,
} from './failure.ts'
import type { RunCause, RunStatus } from './run.ts'
import type { SyncStatus } from './sync.ts'

/** Failed runs in a row that pause a sync, unless the deployment or the sync says otherwise. */
export const BREAKER_THRESHOLD = 5
export const MAX_BREAKER_THRESHOLD = 100

export const BREAKER_PAUSE_REASON = 'Paused automatically by the failure circuit breaker'
/** Why it acted, as the audit trail and the log name it. */
export const BREAKER_TRIPPED = 'circuit_breaker_tripped'
/** Why an alert of it is over. */
export const BREAKER_INCIDENT_CLOSING = 'The sync was published again, which begins a new count.'

/** Runs that have ended in one of these count. A canceled one says nothing of the sync: a person ended it. */
export const COUNTED_STATUSES = [
  'succeeded',
  'partial',
  'failed',
] as const satisfies readonly RunStatus[]
/** Runs that were started for these do not count. What people try out must neither pause a sync nor hide its failures. */
export const UNCOUNTED_CAUSES: readonly RunCause[] = ['test']
/** Runs that failed for the want of a run slot say nothing of the sync. */
export const UNCOUNTED_CODES: readonly FailureCode[] = FAILURE_CODES.filter((code) =>
  code.startsWith('lease_'),
)

/** Whether a run belongs to the streak at all. */
export function isCounted(run: {
  readonly status: RunStatus
  readonly cause: RunCause
  readonly failureCode: FailureCode | null
}): boolean {
  const { status, cause, failureCode } = run
  return (
    COUNTED_STATUSES.some((counted) => counted === status) &&
    !UNCOUNTED_CAUSES.includes(cause) &&
    (failureCode === null || !UNCOUNTED_CODES.includes(failureCode))
  )
}

/** A run that counts; `failure` is null when it did not fail. */
export interface CountedRun {
  readonly runId: string
  readonly failure: Failure | null
}

export interface BreakerFacts {
  readonly syncStatus: SyncStatus
  /** Failed runs in a row, 1 or more. */
  readonly threshold: number
  /** Those of the current publication since the sync was last activated, newest first, `threshold` at most. */
  readonly lastRuns: readonly CountedRun[]
}

export type BreakerDecision =
  | { readonly kind: 'rest' }
  /** The sync is to be paused, because of this run and those before it; all of them, newest first. */
  | {
      readonly kind: 'trip'
      readonly runId: string
      readonly failure: Failure
      readonly runIds: readonly string[]
    }

/** What a failed run that has just been recorded means for its sync. */
export function decideBreaker(facts: BreakerFacts): BreakerDecision {
  const { syncStatus, threshold, lastRuns } = facts
  const streak = lastRuns.slice(0, threshold)
  const [last] = streak
  const isWhole = streak.length === threshold && streak.every(({ failure }) => failure !== null)
  if (syncStatus !== 'active' || !isWhole || !last?.failure) {
    return { kind: 'rest' }
  }
  const { runId, failure } = last
  return { kind: 'trip', runId, failure, runIds: streak.map((run) => run.runId) }
}

/** What people are told: what happened, what to do, and who has to. The technical detail stays with the run. */
export function describeTrip(told: {
  readonly syncName: string
  readonly runId: string
  readonly failure: Failure
  readonly failedRuns: number
}): { readonly title: string; readonly message: string } {
  const { syncName, runId, failure, failedRuns } = told
  const { owner, todo } = FAILURE_CATALOGUE[failure.code]
  const runs = failedRuns === 1 ? 'its last run failed' : `its last ${failedRuns} runs failed`
  const sentences = [
    `The failure circuit breaker paused the sync ${JSON.stringify(syncName)}, because ${runs}.`,
    `What happened in the last one: ${toSentence(describeFailure(failure))}`,
    `What to do: ${todo}`,
    OWNERS[owner],
    'The sync stays paused until somebody publishes it again, once the cause is mended.',
    // As the API names it, so that it can be looked up there.
    `The id of the run is run_${runId}.`,
  ]
  const inARow = failedRuns === 1 ? 'a failed run' : `${failedRuns} failed runs in a row`
  return { title: `A sync was paused after ${inARow}`, message: sentences.join(' ') }
}

const OWNERS = {
  CUSTOMER: 'This is for whoever owns the sync and its connections.',
  TAJO: 'This is for Tajo: send us the id of the run.',
} as const

function toSentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
