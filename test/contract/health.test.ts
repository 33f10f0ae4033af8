/** What the health report says of a process whose clock is wrong. */
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createHealth } from '../../src/health.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { seedWorker } from '../support/store-seed.ts'

describe.each(DATABASE_KINDS)('the health of a process on %s', (kind) => {
  const database = useDatabase(kind)

  it.each([
    [25_000, true],
    [-25_000, true],
    [35_000, false],
    [-35_000, false],
  ])('whose clock differs from the database’s by %i ms: %s', async (differenceMs, isHealthy) => {
    const health = createHealth({
      config: readConfig({}),
      database: database(),
      coordination: { isReachable: () => Promise.resolve(true) },
      clock: { ...systemClock, now: () => new Date(Date.now() + differenceMs) },
      workerId: await seedWorker(database()),
    })
    expect((await health())['database']).toMatchObject({ isHealthy })
  })
})
