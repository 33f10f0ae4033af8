/**
 * A record that changes and changes back is written three times (A → B → A): of the completed keys of one
 * position only the newest counts, so that the third is not taken for the first (I4, I11).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FaultHook } from '../../src/engine/fault-points.ts'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, breaksWhenever, hurriedClock, notesOf } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import { NEVER, passQuietTime } from '../support/quarantine-stage.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

const X = 'x@example.com'
const NOTES = ['A', 'B', 'A']

describe.runIf(DATABASE_KINDS.includes('postgresql')).each([
  ['a call a page', { path: 'PAGE' }],
  ['a call a record', { path: 'RECORD' }],
])('a record that changes and changes back, with %s,', (_, path) => {
  const database = useDatabase('postgresql')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  let faults = breaksAt('afterClaim', 0)

  beforeEach(async () => {
    faults = breaksAt('afterClaim', 0)
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
    await harness.startEngine({
      settings: CALM_SETTINGS,
      clock: hurriedClock,
      faults: (point, runId) => faults(point, runId),
    })
    source.put(scriptedRow('y', 1))
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const objectOptions = { ...path, identityField: 'email', requestDeadlineMs: 1_000 }
  const change = (note: string, rank: number) => source.put(scriptedRow('x', rank, note))
  const written = () => notesOf(destination, X)
  /** Once more, and nothing is left to be said. */
  const expectSettled = async (sync: SeededSync) => {
    const calls = destination.calls()
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(destination.calls()).toBe(calls)
    expect(written()).toEqual(NOTES)
  }

  it('moving on in its source is written three times', async () => {
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    for (const [place, note] of NOTES.entries()) {
      change(note, place * 10)
      expect((await harness.run(sync)).status).toBe('succeeded')
    }
    await expectSettled(sync)
  })

  it('in its place, in front of its page, is written three times, although each attempt breaks', async () => {
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    for (const note of NOTES) {
      change(note, 0)
      faults = breaksAt('beforeCheckpoint')
      await harness.run(sync, { attemptAllowance: 1 })
    }
    expect(written()).toEqual(NOTES)
    faults = breaksAt('afterClaim', 0)
    await expectSettled(sync)
  })

  it('in its place, in a source that is read again from its beginning, is written three times', async () => {
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    for (const note of NOTES) {
      change(note, 0)
      await harness.run(sync)
      await createPerson(database(), harness, sync).reset()
    }
    await expectSettled(sync)
  })

  /** A, and then B, which the destination has and did not answer for; then A again. */
  const goBackAfterUnanswered = async (given: {
    readonly toA: FaultHook
    readonly deliveryClass: 'IDEMPOTENT' | 'NONE'
    readonly isReset: boolean
  }) => {
    const { toA, deliveryClass, isReset } = given
    const sync = await harness.seedSync({
      ...{ pageSize: 2, objectOptions: { ...objectOptions, deliveryClass } },
    })
    const person = createPerson(database(), harness, sync)
    change('A', 0)
    faults = toA
    await harness.run(sync, { attemptAllowance: 1 })
    if (isReset) {
      await person.reset()
    }
    change('B', 0)
    faults = breaksWhenever('afterSend', () => written().includes('B'))
    await harness.run(sync, { attemptAllowance: 1 })
    faults = NEVER
    expect(written()).toEqual(['A', 'B'])
    change('A', 0)
    await passQuietTime(database(), sync)
    return { sync, person, run: await harness.run(sync) }
  }

  it.each([
    ['in front of its page', breaksAt('beforeCheckpoint'), false],
    ['in a source that is read again', NEVER, true],
  ])(
    '%s is written a third time also where nobody answered for the second',
    async (_, toA, isReset) => {
      const deliveryClass = 'IDEMPOTENT'
      const { sync, run } = await goBackAfterUnanswered({ toA, deliveryClass, isReset })
      expect(run.status).toBe('succeeded')
      await expectSettled(sync)
    },
  )

  it('is not taken for what was delivered first while the second is in doubt', async () => {
    const toA = breaksAt('beforeCheckpoint')
    const given = { toA, deliveryClass: 'NONE', isReset: false } as const
    const { person, run } = await goBackAfterUnanswered(given)
    expect(run.status).toBe('partial')
    expect(run.counters.inDoubt).toBeGreaterThan(0)
    expect(run.counters.inDoubt + run.counters.replayed).toBe(2)
    expect((await person.listDoubts()).length).toBeGreaterThan(0)
    expect(written()).toEqual(['A', 'B'])
  })
})
