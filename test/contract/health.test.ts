/** What the health report says of a process whose clock is wrong, and of the dead-man check. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createHealth } from '../../src/health.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { findCheck, finishCheck, takeCheck } from '../../src/store/watch-checks.ts'
import { DEAD_MAN_CHECK } from '../../src/watch/dead-man.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { seedWorker } from '../support/store-seed.ts'

const SEALER = createSealer(Buffer.alloc(32, 1), systemRandom)

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
      sealer: SEALER,
    })
    expect((await health())['database']).toMatchObject({ isHealthy })
  })

  describe('as for the dead-man check', () => {
    const HOUR_MS = 3_600_000
    const FIGURES = { asked: 7, silent: 2, raised: 1, closed: 0, failed: 0 }

    async function ask(monotonicMs = 0) {
      let sinceStartMs = 0
      const health = createHealth({
        config: readConfig({}),
        database: database(),
        coordination: { isReachable: () => Promise.resolve(true) },
        // A process's own wall clock, however wrong, is not asked.
        clock: { ...systemClock, now: () => new Date(0), monotonicMs: () => sinceStartMs },
        workerId: 'none',
        sealer: SEALER,
      })
      sinceStartMs = monotonicMs
      return (await health())['deadMan']
    }
    /** Finishes one, as if so long ago; `null`: it is left without an end. */
    async function check(agoMs: number, end: typeof FIGURES | null) {
      const now = new Date(Date.now() - agoMs)
      const seen = await findCheck(database(), DEAD_MAN_CHECK, now)
      const taken = await takeCheck(database(), DEAD_MAN_CHECK, { slotMs: now.getTime(), seen })
      if (taken && end) {
        await finishCheck(database(), DEAD_MAN_CHECK, { taken, figures: end, now })
      }
    }

    it('gives a new installation two hours for its first one', async () => {
      await database().rows(sql`delete from watch_check`)
      expect(await ask(2 * HOUR_MS - 1)).toMatchObject({ isHealthy: true })
      expect(await ask(2 * HOUR_MS)).toMatchObject({ isHealthy: false })
      await check(0, null)
      expect(await ask(2 * HOUR_MS)).toMatchObject({ isHealthy: false })
    })

    it('is red after one that could not ask everybody', async () => {
      await check(HOUR_MS, { ...FIGURES, failed: 3 })
      expect(await ask()).toMatchObject({
        isHealthy: false,
        detail: expect.stringMatching(/not asked because of trouble 3\.$/),
      })
      await check(0, FIGURES)
      expect(await ask()).toMatchObject({ isHealthy: true })
    })

    it('tells when the last one was finished and what came of it, and is red after two hours', async () => {
      await check(HOUR_MS, FIGURES)
      expect(await ask()).toEqual({
        isHealthy: true,
        isShared: true,
        detail: expect.stringMatching(
          /^The last dead-man check was finished at 2\S+Z: workspaces asked 7, silent 2, alerts raised 1, not asked because of trouble 0\.$/,
        ),
      })
      await check(2 * HOUR_MS + 5_000, FIGURES)
      expect(await ask()).toMatchObject({ isHealthy: false })
      // Checks that begin and do not end make nobody well.
      await check(0, null)
      expect(await ask()).toMatchObject({ isHealthy: false })
      await check(0, FIGURES)
      expect(await ask()).toMatchObject({ isHealthy: true })
      await check(-3 * HOUR_MS, FIGURES)
      expect(await ask()).toMatchObject({ isHealthy: false })
    })
  })
})
