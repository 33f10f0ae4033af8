/**
 * Every pair of source and destination, while its workers are killed: a few kills each, and under
 * `npm run test:exhaustive` 25 with one at every place, as `npm run test:chaos -- --pair all` does it.
 */
import { randomInt } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { createChance } from '../seeded.ts'
import { raisePairStorm } from './pair-storm.ts'
import { PAIRS } from './pairs.ts'

const SEED = Number(process.env['CHAOS_SEED'] ?? randomInt(1, 1_000_000))
const IS_WHOLE = inject('isExhaustive')
const KILLS = IS_WHOLE ? 25 : 2
const TIMEOUT_MS = 600_000

describe.runIf(inject('postgresUrl') !== null)(`pairs with seed ${SEED}`, () => {
  it.each(Object.entries(PAIRS))(
    `%s: ${KILLS} kills, nothing lost, nothing doubled`,
    async (name, open) => {
      const chance = createChance(SEED)
      const told = await raisePairStorm({
        ...{ name, chance, kills: KILLS, coversPlaces: IS_WHOLE, open },
      })
      expect(told.findings).toEqual([])
      expect(told.faults).toEqual([])
      expect(told.kills).toBeGreaterThanOrEqual(KILLS)
    },
    TIMEOUT_MS,
  )
})
