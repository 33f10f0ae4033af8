/**
 * The life of a run: its states, the verbs that move it, and how it ends.
 *
 * Invariants: a final run never changes (I5); at most one run of a sync is queued or running (I9); a run
 * succeeds only if its books balance (I8) and nothing was rejected or in doubt.
 */
import { booksBalance, type Counters } from './delivery.ts'
import type { FailureCode } from './failure.ts'

export const RUN_STATUSES = [
  'queued',
  'running',
  'succeeded',
  'partial',
  'failed',
  'canceled',
] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

export const FINAL_RUN_STATUSES = ['succeeded', 'partial', 'failed', 'canceled'] as const
export type FinalRunStatus = (typeof FINAL_RUN_STATUSES)[number]

/** Why a run was started. */
export const RUN_CAUSES = ['schedule', 'run_now', 'retry', 'redrive', 'sweep', 'test'] as const
export type RunCause = (typeof RUN_CAUSES)[number]

/** How one attempt of a run ended. */
const ATTEMPT_OUTCOMES = [
  'completed',
  'postponed',
  'failed',
  'released',
  'recovered',
  'swept',
  'canceled',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** Attempts of a run that nobody started by hand. */
export const ATTEMPT_ALLOWANCE = 5
/** Take-overs in a row, without a checkpoint between them, that end a run: it ends its workers. */
export const MAX_TAKE_OVERS = 5

/**
 * Every verb with the states it may leave and reach. `refuse` leaves none: it records a run that fails
 * before any worker could see it. `enqueue`, which makes the others, is none of a run's own verbs.
 * A verb that meets another state has lost a race and changes nothing.
 */
export const RUN_TRANSITIONS = {
  refuse: { from: [], to: ['failed'], raisesFence: false },
  claim: { from: ['queued'], to: ['running'], raisesFence: true },
  complete: { from: ['running'], to: ['succeeded', 'partial'], raisesFence: false },
  postpone: { from: ['running'], to: ['queued'], raisesFence: false },
  fail: { from: ['queued', 'running'], to: ['failed'], raisesFence: false },
  release: { from: ['running'], to: ['queued'], raisesFence: false },
  recover: { from: ['running'], to: ['queued', 'failed'], raisesFence: true },
  sweep: { from: ['running'], to: ['failed'], raisesFence: true },
  cancel: { from: ['queued', 'running'], to: ['canceled'], raisesFence: false },
} as const satisfies Record<
  string,
  { from: readonly RunStatus[]; to: readonly RunStatus[]; raisesFence: boolean }
>
export type RunVerb = keyof typeof RUN_TRANSITIONS

export function isFinal(status: RunStatus): status is FinalRunStatus {
  return FINAL_RUN_STATUSES.some((final) => final === status)
}

/** Whether the verb may act on a run in that state. */
export function isAllowed(verb: RunVerb, status: RunStatus): boolean {
  const from: readonly RunStatus[] = RUN_TRANSITIONS[verb].from
  return from.includes(status)
}

/** What a run that has reached the end of its source knows about itself. */
export interface EndOfRun {
  readonly counters: Counters
  /** Records that this run sent without their having been held before, and how many of these were rejected. */
  readonly firstSends: number
  readonly firstSendsRejected: number
}

export type EndDecision =
  | { readonly verb: 'complete'; readonly status: 'succeeded' | 'partial' }
  | { readonly verb: 'fail'; readonly code: FailureCode }

/** How a run ends that has read its source to the end. Throws RangeError when the books do not balance: that is a bug. */
export function decideEnd(end: EndOfRun): EndDecision {
  const { counters, firstSends, firstSendsRejected } = end
  if (!booksBalance(counters)) {
    throw new RangeError(`The books of the run do not balance: ${JSON.stringify(counters)}.`)
  }
  if (firstSends > 0 && firstSendsRejected === firstSends) {
    return { verb: 'fail', code: 'destination_rejected' }
  }
  const isWhole = counters.rejected === 0 && counters.inDoubt === 0 && counters.quarantined === 0
  return { verb: 'complete', status: isWhole ? 'succeeded' : 'partial' }
}

/** What people may want of a run that is under way: that it ends, or that its sync stops. */
export type StopWish = 'cancel' | 'pause'

/** How long it may take until a running attempt knows of such a wish. */
export const STOP_LOOK_MS = 2_000
/** How long it may take to record the last answers and the end. */
const STOP_RECORDING_MS = 10_000
/** How long it takes until the run of a worker that falls silent is taken over: also that may be so. */
const STOP_TAKE_OVER_MS = 30_000

/** How soon a running run has stopped that is asked to; `requestDeadlineMs`: the longest that its calls may take. */
export function stopsWithinMs(requestDeadlineMs: number): number {
  return Math.max(STOP_LOOK_MS + requestDeadlineMs + STOP_RECORDING_MS, STOP_TAKE_OVER_MS)
}

export type CancelDecision =
  /** No worker has it: it is over at once. */
  | { readonly kind: 'cancel' }
  /** Its attempt carries the request out at its next safe point. */
  | { readonly kind: 'request' }
  /** It is over, or asked to be. */
  | { readonly kind: 'noop' }

export function decideCancel(run: {
  readonly status: RunStatus
  readonly isCancelRequested: boolean
}): CancelDecision {
  if (run.status === 'queued') {
    return { kind: 'cancel' }
  }
  return run.status === 'running' && !run.isCancelRequested ? { kind: 'request' } : { kind: 'noop' }
}

export type TakeOverDecision = 'requeue' | 'close' | StopWish

/**
 * What recovery does with the run of a silent worker: what people asked for meanwhile, which nobody else
 * can carry out any more; else it is queued again, until it was taken over too often since its last checkpoint.
 */
export function decideTakeOver(facts: {
  readonly takeOversInARow: number
  readonly wish: StopWish | null
}): TakeOverDecision {
  return facts.wish ?? (facts.takeOversInARow + 1 >= MAX_TAKE_OVERS ? 'close' : 'requeue')
}

/**
 * Orders a run's progress events: the epoch first, then the count within it, so that an event of a
 * later attempt always sorts after one of an earlier attempt.
 */
export interface Sequence {
  readonly epoch: number
  readonly n: number
}

export function isAfter(a: Sequence, b: Sequence): boolean {
  return a.epoch === b.epoch ? a.n > b.n : a.epoch > b.epoch
}
