/** A rolling restart in short; `npm run test:rolling` is the long one. */
import { describe, expect, it } from 'vitest'
import { restartProcesses } from '../rolling/restart-processes.ts'
import { createTestDatabase } from '../support/databases.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'

describe.runIf(HAS_REDIS)('three processes that are restarted one after another', () => {
  it('lose nothing, double nothing, burn no attempt, and hand over within 5 s', async () => {
    const test = await createTestDatabase()
    try {
      const { handOversMs, ...figures } = await restartProcesses({
        databaseUrl: test.url,
        redisUrl: redisUrl(),
        database: await test.open(),
        restarts: 3,
        tell: () => undefined,
      })
      expect(figures).toMatchObject({
        badExits: 0,
        failedRuns: 0,
        lost: 0,
        doubled: 0,
        attemptsBurnt: 0,
        takeOvers: 0,
      })
      expect(handOversMs.length).toBeGreaterThan(0)
      expect(Math.max(...handOversMs)).toBeLessThan(5_000)
    } finally {
      await test.drop()
    }
  }, 180_000)
})
