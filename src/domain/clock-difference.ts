/**
 * How far a process's clock is off the database's, and when that is worth a line in the log.
 *
 * Due times, retention and quiet times go by the database's clock, so nothing is delivered wrongly by a clock
 * that is off; what people see (times in the log, a token's end) is. Said once, not at every look.
 */

/** As it was measured: the answer took its time, so the difference is known to within the uncertainty. */
export interface ClockDifference {
  /** The process's clock minus the database's. */
  readonly differenceMs: number
  readonly uncertaintyMs: number
}

/** The last notice that is still true. */
export interface ClockNotice {
  readonly differenceMs: number
  /** The monotonic moment at which it was given. */
  readonly givenAtMs: number
}

export type ClockNoticeDecision = 'differs' | 'agrees' | 'nothing_new'

/** Past this difference it is logged. */
export const NOTED_CLOCK_DIFFERENCE_MS = 1_000
/** Below this it is over. Further down, so that a clock that is off by just about the bound is not told of for ever. */
const AGREED_CLOCK_DIFFERENCE_MS = NOTED_CLOCK_DIFFERENCE_MS / 2
/** A difference that stays is said again so often. */
export const CLOCK_NOTICE_INTERVAL_MS = 60 * 60 * 1000

/** What to say of a difference. `last`: null while the clocks are not known to differ. */
export function decideClockNotice(
  measured: ClockDifference,
  last: ClockNotice | null,
  nowMs: number,
): ClockNoticeDecision {
  const { differenceMs, uncertaintyMs } = measured
  const isOff = Math.abs(differenceMs) - uncertaintyMs > NOTED_CLOCK_DIFFERENCE_MS
  if (last === null) {
    return isOff ? 'differs' : 'nothing_new'
  }
  if (Math.abs(differenceMs) + uncertaintyMs <= AGREED_CLOCK_DIFFERENCE_MS) {
    return 'agrees'
  }
  const isDue = nowMs - last.givenAtMs >= CLOCK_NOTICE_INTERVAL_MS
  return isOff && (isDue || isNotable(measured, last)) ? 'differs' : 'nothing_new'
}

/** A clock that runs too fast is off by a little more at each look; only a jump is news. */
function isNotable(measured: ClockDifference, last: ClockNotice): boolean {
  const changedMs = Math.abs(measured.differenceMs - last.differenceMs) - measured.uncertaintyMs
  return changedMs > Math.max(NOTED_CLOCK_DIFFERENCE_MS, Math.abs(last.differenceMs) / 2)
}
