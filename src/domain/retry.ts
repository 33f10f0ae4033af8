/**
 * When a failed attempt is followed by another one, and when a single call is.
 *
 * Waits of attempts are due times in the database (60, 120, 240, 480 s), not timers. A wait that the
 * other system asked for counts when it is longer; a short one is sat out inside the attempt.
 */
import { FAILURE_CATALOGUE, type FailureCode } from './failure.ts'

export interface RetryPolicy {
  readonly firstBackoffMs: number
  readonly backoffFactor: number
}

export type RetryDecision =
  | { readonly verb: 'postpone'; readonly delayMs: number }
  | { readonly verb: 'fail' }

/** What follows a failed attempt. `attemptsSpent`: without the one that just failed. */
export function decideAfterFailure(
  facts: {
    readonly code: FailureCode
    readonly attemptsSpent: number
    readonly attemptAllowance: number
    readonly retryAfterMs: number | null
    /** 0 to 1: spreads the attempts of many runs that were told to wait equally long. */
    readonly chance: number
  },
  policy: RetryPolicy,
): RetryDecision {
  const { code, attemptsSpent, attemptAllowance, retryAfterMs, chance } = facts
  const isLast = attemptsSpent + 1 >= attemptAllowance
  if (isLast || FAILURE_CATALOGUE[code].retried !== 'yes') {
    return { verb: 'fail' }
  }
  const backoffMs = policy.firstBackoffMs * policy.backoffFactor ** attemptsSpent
  return { verb: 'postpone', delayMs: Math.max(backoffMs, spreadWait(retryAfterMs ?? 0, chance)) }
}

/** Interruptions in a row, without a checkpoint between them, that do not count as attempts. */
export const MAX_FREE_INTERRUPTIONS = 5

export type InterruptionDecision =
  /** The attempt does not count. */
  | { readonly verb: 'release'; readonly delayMs: number }
  /** It counts like one that failed. */
  | { readonly verb: 'count' }

/**
 * What follows an attempt that lost its database. That is nobody's fault who owns the run, so it does not
 * count; but a run that loses its database time after time may be what ends it, so that neither the
 * number nor the pace of its attempts is left open. The first one is followed at once: the database
 * answers again, or nobody could be told.
 */
export function decideAfterInterruption(
  interruptionsInARow: number,
  policy: RetryPolicy,
): InterruptionDecision {
  if (interruptionsInARow >= MAX_FREE_INTERRUPTIONS) {
    return { verb: 'count' }
  }
  const backoffMs = policy.firstBackoffMs * policy.backoffFactor ** (interruptionsInARow - 1)
  return { verb: 'release', delayMs: interruptionsInARow === 0 ? 0 : backoffMs }
}

/** Tries of one call inside an attempt, the first one counted. */
export const MAX_CALL_TRIES = 4
/** The longest wait between two tries that is sat out inside an attempt. */
export const MAX_WAIT_INSIDE_ATTEMPT_MS = 60_000
const FIRST_CALL_WAIT_MS = 500

/** Of a wait that the other system named, what may be added to it, and the most of it. */
const SPREAD_SHARE = 0.25
const MAX_SPREAD_MS = 5_000

/**
 * A wait that many were told alike, made a little longer for each: never less than was asked for. Else all of them
 * would come back in the millisecond in which it is over, and be told to wait again.
 */
export function spreadWait(askedMs: number, chance: number): number {
  return askedMs + Math.round(Math.min(askedMs * SPREAD_SHARE, MAX_SPREAD_MS) * chance)
}

/**
 * How long to wait before the same call is tried again, or null: the attempt ends. `chance`: 0 to 1,
 * spreads the tries of many workers.
 */
export function decideCallWait(
  tries: number,
  retryAfterMs: number | null,
  chance: number,
): number | null {
  if (tries >= MAX_CALL_TRIES) {
    return null
  }
  if (retryAfterMs !== null) {
    return retryAfterMs <= MAX_WAIT_INSIDE_ATTEMPT_MS ? spreadWait(retryAfterMs, chance) : null
  }
  return FIRST_CALL_WAIT_MS * 2 ** (tries - 1) * (0.5 + chance / 2)
}
