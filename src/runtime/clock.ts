/**
 * Time, handed in. Nothing else in the product reads a clock or waits on a timer.
 *
 * Two clocks: the wall clock for what people see, the monotonic clock for every duration and trust
 * window (a wall clock may be set back; a trust window must not grow because of it).
 */
import { setTimeout as wait } from 'node:timers/promises'

/** A moment, as the wall clock or the database tells it. */
export type Instant = Date

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
