/**
 * Time, handed in. Nothing else in the product reads a clock or waits on a timer.
 *
 * Two clocks: the wall clock for what people see, the monotonic clock for every duration and trust
 * window (a wall clock may be set back; a trust window must not grow because of it).
 */
import { setTimeout as wait } from 'node:timers/promises'

/** A moment, as the wall clock or the database tells it. */
export type Instant = Date

/** Milliseconds since 1970 in UTC, as an instant. */
export function instantAt(ms: number): Instant {
  return new Date(ms)
}

/** With an offset always. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** Reads a text as in RFC 3339; null: it is none, a day that does not exist, or not of the years 1 to 9999, which can be stored. */
export function parseInstant(text: string): Instant | null {
  const day = RFC_3339.test(text) ? new Date(text.slice(0, 10)) : null
  // The platform takes 30 February for 2 March.
  if (
    day === null ||
    Number.isNaN(day.getTime()) ||
    !day.toISOString().startsWith(text.slice(0, 10))
  ) {
    return null
  }
  const instant = new Date(text.toUpperCase())
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= 9_999 ? instant : null
}

export interface Clock {
  now(): Date
  /** Milliseconds since an arbitrary moment; never goes back. */
  monotonicMs(): number
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * A signal that aborts after `ms` with a TimeoutError. It is not to be joined with others by
   * `AbortSignal.any`: Node 20 may collect the timeout with the joined signal's source, and it never fires.
   */
  deadline(ms: number): AbortSignal
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await wait(ms, undefined, signal ? { signal } : {})
    } catch (error) {
      throw signal?.aborted ? signal.reason : error
    }
  },
  deadline: (ms) => AbortSignal.timeout(ms),
}
