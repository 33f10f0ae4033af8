/**
 * How far a source has been read, by a field of its records: a time (RFC 3339) or a whole number, kept as text.
 *
 * Invariant: nothing is rounded up. What is taken off loses digits downwards, so that more is read and never less.
 */
import type { JsonValue } from '../../../domain/json.ts'
import { instantAt, parseInstant } from '../../../runtime/clock.ts'

const WHOLE_NUMBER = /^\d{1,40}$/

/** The value as text, or null where it is neither a time nor a whole number. */
export function readWatermark(value: JsonValue | undefined): string | null {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && (WHOLE_NUMBER.test(text) || parseInstant(text) !== null)
    ? text
    : null
}

/** Below 0: `a` comes first. Numbers come before times. */
function compareWatermarks(a: string, b: string): number {
  const [one, other] = [parseInstant(a), parseInstant(b)]
  if (one === null || other === null) {
    return one === null && other === null ? compare(BigInt(a), BigInt(b)) : one === null ? -1 : 1
  }
  return compare(one.getTime(), other.getTime()) || compare(fractionOf(a), fractionOf(b))
}

export function highestOf(a: string | null, b: string | null): string | null {
  if (a === null || b === null) {
    return a ?? b
  }
  return compareWatermarks(a, b) >= 0 ? a : b
}

/** `overlap` seconds, or numbers, before a watermark. */
export function stepBack(watermark: string, overlap: number): string {
  if (overlap === 0) {
    return watermark
  }
  const instant = parseInstant(watermark)
  if (instant === null) {
    const number = BigInt(watermark) - BigInt(overlap)
    return String(number < 0n ? 0n : number)
  }
  return instantAt(Math.max(instant.getTime() - overlap * 1_000, 0)).toISOString()
}

/**
 * A time no later than the moment: what changed after a pass was begun may lie before the place where it was read, and
 * a record may be from the future. Numbers tell no moment.
 */
export function notAfter(watermark: string, moment: string | null): string {
  const isLater =
    moment !== null && parseInstant(watermark) !== null && compareWatermarks(watermark, moment) > 0
  return isLater ? moment : watermark
}

/** Nine digits: what lies below the millisecond that an instant keeps. */
function fractionOf(time: string): string {
  return (/\.(\d{1,9})/.exec(time)?.[1] ?? '').padEnd(9, '0')
}

function compare<Value extends bigint | number | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0
}
