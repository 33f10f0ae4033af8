/**
 * The wall clock of a time zone: what it shows at a moment, and the moment at which it shows something.
 *
 * A wall clock's reading is written as the milliseconds that it would be in UTC. Invariant: a reading
 * belongs to the first moment at which the wall clock has got that far. So one that is passed over in
 * spring belongs to the moment after the gap, and one that comes twice in autumn to its first coming.
 */

import { daysFromCivil } from './mapping-dates.ts'

/** No zone is farther from UTC, and its offset changes at most once within two of them. */
const DAY_MS = 24 * 60 * 60 * 1000

/** Names of zones: letters first, so that a bare offset such as `+02:00` is none. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/

export function isTimeZone(name: string): boolean {
  if (!ZONE_NAME.test(name)) {
    return false
  }
  try {
    getFormat(name)
    return true
  } catch {
    return false
  }
}

/** What the wall clock of the zone shows at a moment. Throws RangeError for a zone that does not exist. */
export function wallClockAt(timeZone: string, ms: number): number {
  const parts = new Map(
    getFormat(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const days = daysFromCivil(part('year'), part('month'), part('day'))
  const seconds = part('hour') * 3600 + part('minute') * 60 + part('second')
  // Formats leave out the milliseconds.
  return days * DAY_MS + seconds * 1000 + (((ms % 1000) + 1000) % 1000)
}

/** The first moment at which the wall clock of the zone shows `wallMs` or has passed it. */
export function firstMomentOf(timeZone: string, wallMs: number): number {
  const offsetAt = (ms: number) => wallClockAt(timeZone, ms) - ms
  // The two moments at which it would be so, by the offset before and by the one after a change of clocks.
  const guesses = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)].map(
    (offset) => wallMs - offset,
  )
  const [earlier, later] = [Math.min(...guesses), Math.max(...guesses)]
  if (wallClockAt(timeZone, earlier) === wallMs) {
    return earlier
  }
  if (wallClockAt(timeZone, later) === wallMs) {
    return later
  }
  // Passed over: clocks are put forward between the two.
  return firstBetween(earlier, later, (ms) => wallClockAt(timeZone, ms) >= wallMs)
}

/** The first moment after `low`, and at most `high`, from which on it holds. */
function firstBetween(low: number, high: number, holds: (ms: number) => boolean): number {
  let [before, after] = [low, high]
  while (after - before > 1) {
    const middle = before + Math.floor((after - before) / 2)
    if (holds(middle)) {
      after = middle
    } else {
      before = middle
    }
  }
  return after
}

/** Making a format takes longer than a thousand uses of it; there are some 600 zones. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 1_000

function getFormat(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) {
    return known
  }
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formats.size >= MAX_FORMATS) {
    formats.clear()
  }
  formats.set(timeZone, made)
  return made
}
