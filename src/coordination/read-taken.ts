import { RateLimiterRes } from 'rate-limiter-flexible'

/** The limiter rejects with its figures when a caller has taken too much: milliseconds until it may come again, or null. */
export async function readTaken(taken: Promise<unknown>): Promise<number | null> {
  try {
    await taken
    return null
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) {
      return refusal.msBeforeNext
    }
    throw refusal
  }
}
