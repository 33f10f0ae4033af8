import type { RequestLimitSettings } from '../coordination/request-limit.ts'

/** For a token that makes more requests than it may. */
export function describeTooManyRequests({ maxRequests, windowS }: RequestLimitSettings): {
  readonly code: string
  readonly message: string
} {
  return {
    code: 'TOO_MANY_REQUESTS',
    message: `The token has made ${maxRequests} requests within ${windowS} s, and no more are allowed: wait as long as Retry-After says.`,
  }
}
