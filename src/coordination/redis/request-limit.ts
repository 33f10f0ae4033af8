/**
 * The request limit of all processes together: one counter in Redis a caller and window.
 *
 * Invariants: with Redis out of reach the process counts for itself; a caller that is over the limit is refused
 * without asking Redis again until its window is over.
 */
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { readTaken } from '../read-taken.ts'
import type { RequestLimit, RequestLimitSettings } from '../request-limit.ts'
import { isReady } from './connection.ts'

/** A request does not wait longer for its count. */
const COUNT_DEADLINE_MS = 250
/** How long a process counts for itself after Redis has not answered. */
const APART_MS = 5_000

export function createRedisRequestLimit(
  settings: RequestLimitSettings,
  client: Redis,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): RequestLimit {
  const { maxRequests, windowS } = settings
  const given = { points: maxRequests, duration: windowS, keyPrefix: 'requests' }
  const own = new RateLimiterMemory(given)
  const shared = new RateLimiterRedis({
    ...given,
    storeClient: client,
    inMemoryBlockOnConsumed: maxRequests + 1,
  })
  let apartUntilMs = 0
  const take = async (caller: string): Promise<number | null> => {
    if (clock.monotonicMs() < apartUntilMs || !isReady(client)) {
      return await readTaken(own.consume(caller))
    }
    const counted = new AbortController()
    const late = clock.sleep(COUNT_DEADLINE_MS, counted.signal).then(() => {
      throw new Error('Redis did not answer in time.')
    })
    try {
      return await Promise.race([readTaken(shared.consume(caller)), late])
    } catch (error) {
      logger.warn('request_limit.apart', { forMs: APART_MS }, error)
      apartUntilMs = clock.monotonicMs() + APART_MS
      return await readTaken(own.consume(caller))
    } finally {
      counted.abort()
    }
  }
  return {
    ...settings,
    take: (caller) => (maxRequests === 0 ? Promise.resolve(null) : take(caller)),
  }
}
