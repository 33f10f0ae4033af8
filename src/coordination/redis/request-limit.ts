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
import { createCountWithRedis } from './apart.ts'

/** A request does not wait longer for its count. */
const COUNT_DEADLINE_MS = 250

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
  const count = createCountWithRedis({
    ...{ client, clock, logger, event: 'request_limit.apart', deadlineMs: COUNT_DEADLINE_MS },
  })
  const take = (caller: string): Promise<number | null> =>
    count(
      () => readTaken(shared.consume(caller)),
      () => readTaken(own.consume(caller)),
    )
  return {
    ...settings,
    take: (caller) => (maxRequests === 0 ? Promise.resolve(null) : take(caller)),
  }
}
