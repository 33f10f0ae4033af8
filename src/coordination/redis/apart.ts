/**
 * Counting with Redis where nothing correct rests on the count: with Redis out of reach a process counts for itself
 * for a while, so that nobody waits for it.
 */
import type { Redis } from 'ioredis'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { isReady } from './connection.ts'

export interface ApartOptions {
  readonly client: Redis
  readonly clock: Clock
  readonly logger: Logger
  /** The log's event when the process begins to count for itself. */
  readonly event: string
  /** Longest that anybody waits for Redis, in milliseconds. */
  readonly deadlineMs: number
}

/** How long a process counts for itself after Redis has not answered. */
const APART_MS = 5_000

/** Resolves with what Redis says; where that is out of reach or late, with what the process says by itself. */
export type CountWithRedis = <T>(shared: () => Promise<T>, own: () => Promise<T>) => Promise<T>

export function createCountWithRedis(options: ApartOptions): CountWithRedis {
  const { client, clock, logger, event, deadlineMs } = options
  let apartUntilMs = 0
  return async (shared, own) => {
    if (clock.monotonicMs() < apartUntilMs || !isReady(client)) {
      return await own()
    }
    const counted = new AbortController()
    const late = clock.sleep(deadlineMs, counted.signal).then(() => {
      throw new Error('Redis did not answer in time.')
    })
    try {
      return await Promise.race([shared(), late])
    } catch (error) {
      logger.warn(event, { forMs: APART_MS }, error)
      apartUntilMs = clock.monotonicMs() + APART_MS
      return await own()
    } finally {
      counted.abort()
    }
  }
}
