/**
 * All faults and interleavings of whole processes, one by one, on PostgreSQL and Redis of their own. `npm run
 * test:exhaustive` plays them; `npm test` plays a few of the quicker ones (short.test.ts).
 */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { INTERLEAVINGS } from './interleavings.ts'
import { SCENARIOS } from './scenarios.ts'
import { createChance } from './seeded.ts'
import { openStage, type Stage } from './stage.ts'

const SEED = Number(process.env['CHAOS_SEED'] ?? randomInt(1, 1_000_000))
const TIMEOUT_MS = 240_000

describe.runIf(inject('postgresUrl') !== null)(`faults with seed ${SEED}`, () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ settings: 'fast', chance: createChance(SEED) })
  }, TIMEOUT_MS)
  afterAll(async () => {
    await stage.close()
  }, TIMEOUT_MS)

  it.each(Object.entries({ ...SCENARIOS, ...INTERLEAVINGS }))(
    '%s: nothing lost, nothing doubled',
    async (_, play) => {
      expect((await play(stage)).findings).toEqual([])
    },
    TIMEOUT_MS,
  )
})
