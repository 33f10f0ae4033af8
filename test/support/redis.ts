/** Redis of the tests: one for all of them, so that names and channels must be the test's own. */
import { inject } from 'vitest'

/** False: there is none on this machine, and suites that need it are not defined. */
export const HAS_REDIS: boolean = inject('redisUrl') !== null

/** Throws where there is none. */
export function redisUrl(): string {
  const url = inject('redisUrl')
  if (url === null) {
    throw new Error('This test needs Redis, and there is none on this machine.')
  }
  return url
}
