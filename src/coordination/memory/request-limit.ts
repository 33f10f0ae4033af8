/** The request limit of a process that is alone: the embedded default. */
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { readTaken } from '../read-taken.ts'
import type { RequestLimit, RequestLimitSettings } from '../request-limit.ts'

export function createMemoryRequestLimit(settings: RequestLimitSettings): RequestLimit {
  const { maxRequests, windowS } = settings
  const limiter = new RateLimiterMemory({ points: maxRequests, duration: windowS })
  return {
    ...settings,
    take: (caller) =>
      maxRequests === 0 ? Promise.resolve(null) : readTaken(limiter.consume(caller)),
  }
}
