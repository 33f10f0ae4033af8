/**
 * The short form of `npm run test:chaos`: some 25 kills with fast settings, a few of the other faults and
 * interleavings (interleavings.test.ts plays all of them), and the controls, which show that the auditor finds the harm that each safety feature prevents.
 */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { CONTROLS } from './controls.ts'
import { INTERLEAVINGS } from './interleavings.ts'
import { SCENARIOS } from './scenarios.ts'
import { createChance } from './seeded.ts'
import { openStage, type Stage } from './stage.ts'
import { raiseStorm } from './storm.ts'

const SEED = Number(process.env['CHAOS_SEED'] ?? randomInt(1, 1_000_000))
const KILLS = 25
const TIMEOUT_MS = 240_000

/** Those that are over within some seconds. */
const QUICK = [
  'worker-stopped-after-send',
  'loop-blocked',
  'wakes-after-redis-was-flushed-before-sending',
]

describe.runIf(inject('postgresUrl') !== null)(`chaos with seed ${SEED}`, () => {
  const chance = createChance(SEED)
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ settings: 'fast', chance })
  }, TIMEOUT_MS)
  afterAll(async () => {
    await stage.close()
  }, TIMEOUT_MS)

  it(
    `${KILLS} kills, at every fault point and at random moments: nothing lost, nothing doubled`,
    async () => {
      const figures = await raiseStorm({
        ...{ stage, chance, kills: KILLS, workers: 4, lanes: 6, maxRows: 150 },
        report: (line) => process.stderr.write(`chaos, seed ${SEED}: ${line}\n`),
        keep: () => Promise.resolve(),
      })
      expect(figures.findings).toEqual([])
      expect(figures.faults).toEqual([])
      expect(figures.missingPlaces).toEqual([])
      expect(figures).toMatchObject({ doubled: 0, lost: 0 })
      expect(figures.runningAgainMs.length).toBeGreaterThan(5)
    },
    TIMEOUT_MS,
  )

  it.each(QUICK)(
    '%s: nothing lost, nothing doubled',
    async (name) => {
      const told = await { ...SCENARIOS, ...INTERLEAVINGS }[name]?.(stage)
      expect(told?.findings).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'two workers forced on one sync: nothing lost, nothing doubled',
    async () => {
      expect((await CONTROLS.fence(stage, false)).findings).toEqual([])
    },
    TIMEOUT_MS,
  )

  it.each(Object.entries(CONTROLS))(
    'without the %s the auditor finds doubled records (the control)',
    async (_, play) => {
      const { findings } = await play(stage, true)
      expect(findings.map(({ kind }) => kind)).toContain('doubled')
    },
    TIMEOUT_MS,
  )
})
