/**
 * Where the promises end, each shown: docs/guarantees.md tells of them. These tests are no wishes. One that
 * turns red because the product does better by now is to be changed together with the page.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import {
  breaksAt,
  counts,
  createWaitingClock,
  notesOf,
  rejecting,
  timesSent,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
  scriptedRows,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'

const HOUR_MS = 3_600_000
const PLAIN = { email: { $path: 'email' }, note: { $path: 'note' } }
const BY_EMAIL = { path: 'PAGE', identityField: 'email' }

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a limit', () => {
  let test: TestDatabase
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  const use = async (given: { readonly honoursKeys: boolean }) => {
    destination = await startRecordingDestination(given)
    harness = createEngineHarness({ database: await test.open(), source, destination })
  }

  beforeEach(async () => {
    test = await createTestDatabase()
    source = createScriptedSource()
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    await test.drop()
  })

  const put = (rank: number, email: string, note: string) =>
    source.put({ ...scriptedRow(`row${rank}`, rank), fields: { email, note } })

  describe('of a database that was restored from a backup: what was delivered since is sent again', () => {
    it.each([
      ['with the same keys, which a destination that honours them does not apply again', true, 1],
      ['and is there twice where keys are not honoured', false, 2],
    ])('%s', async (_, honoursKeys, times) => {
      await use({ honoursKeys })
      source.put(scriptedRow('r0', 0))
      await harness.startEngine()
      const sync = await harness.seedSync({ objectOptions: BY_EMAIL })
      await harness.run(sync)
      await harness.close()
      const backup = await test.backUp()
      try {
        for (const [name, database] of [
          ['r1', await test.open()],
          ['r2', await backup.open()],
        ] as const) {
          // The second time the first of the two is new again to the database, and so is a third record.
          harness = createEngineHarness({ database, source, destination })
          source.put(scriptedRow(name, source.rows.size))
          await harness.startEngine()
          expect((await harness.run(sync)).status).toBe('succeeded')
          await harness.close()
        }
        const effects = ['r0', 'r1', 'r2'].map(
          (name) => notesOf(destination, `${name}@example.com`).length,
        )
        expect(effects).toEqual([1, times, 1])
        expect(timesSent(destination, 'r1@example.com')).toBe(2)
        const [first, second] = destination.requests.slice(1).map(({ keys }) => keys)
        expect(second).toContain(first?.[0])
      } finally {
        await backup.drop()
      }
    })
  })

  it('of a destination that applies a request after its settling time: a write is there twice', async () => {
    await use({ honoursKeys: false })
    source.put(scriptedRow('r0', 0))
    const clock = createWaitingClock(25_000, 40_000)
    const landing = createSignal()
    await harness.startEngine({ faults: breaksAt('afterSend') })
    const objectOptions = {
      deliveryClass: 'LOOKUP',
      lookupObject: '/writes/{key}',
      requestDeadlineMs: 1_000,
      settlingMs: 30_000,
    }
    const sync = await harness.seedSync({ objectOptions })
    destination.script({ kind: 'hang', appliedOn: landing.reached })
    await harness.run(sync, { attemptAllowance: 1 })
    await harness.close()
    clock.pass()
    await harness.startEngine({ clock })
    // The quiet time has been waited for, and the destination was asked: it had nothing.
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: { written: 1 } })
    expect([destination.questions.length, clock.waits.length]).toEqual([1, 1])
    landing.reach()
    await landing.reached
    await new Promise((resolve) => setImmediate(resolve))
    expect([...destination.effects.values()]).toEqual([2])
  })

  it('of a destination that never forgets a key: A, B and A again end with B', async () => {
    await use({ honoursKeys: true })
    let faults = breaksAt('beforeCheckpoint')
    await harness.startEngine({ faults: (point, runId) => faults(point, runId) })
    const sync = await harness.seedSync({ objectOptions: BY_EMAIL })
    for (const note of ['A', 'B', 'A']) {
      put(0, 'x', note)
      faults = breaksAt('beforeCheckpoint')
      await harness.run(sync, { attemptAllowance: 1 })
    }
    // The third write was sent, and its key was taken for that of the first one.
    expect(timesSent(destination, 'x')).toBe(3)
    expect(notesOf(destination, 'x')).toEqual(['A', 'B'])
  })

  it('of a newer record that is deleted while it is unknown whether it was written: the older one is written', async () => {
    await use({ honoursKeys: true })
    put(0, 'x', 'old')
    put(1, 'x', 'new')
    await harness.startEngine({ faults: breaksAt('afterSend', 2) })
    const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
    destination.decide(rejecting(({ note }) => note === 'old'))
    await harness.run(sync, { attemptAllowance: 1 })
    source.rows.delete('row1')
    destination.always({ kind: 'apply' })
    const waiting = await harness.run(sync)
    expect(waiting.counters).toEqual(counts({ read: 2, rejected: 1, skipped: 1 }))
    // The call of the newer one cannot arrive any more.
    await (await test.open()).rows(sql`update delivery_intent set quiet_at = now()`)
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(notesOf(destination, 'x')).toEqual(['new', 'old'])
  })

  it('of a reset: what was sent without an answer before it is not waited for where it cannot be mapped any more', async () => {
    await use({ honoursKeys: true })
    put(0, 'x', '1')
    put(1, 'x', '2')
    await harness.startEngine({ faults: breaksAt('afterSend', 2) })
    const mapping = { ...PLAIN, note: { $number: { value: { $path: 'note' } } } }
    const sync = await harness.seedSync({ pageSize: 1, objectOptions: BY_EMAIL, mapping })
    destination.decide(rejecting(({ note }) => Number(note) === 1))
    await harness.run(sync, { attemptAllowance: 1 })
    const database = await test.open()
    await database.rows(sql`update delivery_intent set quiet_at = now()`)
    await createPerson(database, harness, sync).reset()
    put(1, 'x', 'no number')
    destination.always({ kind: 'apply' })
    expect(await harness.run(sync)).toMatchObject({ status: 'partial' })
    expect(notesOf(destination, 'x')).toEqual([2, 1])
  })

  it('of a destination that is asked and never forgets a key: of A, B and A the last is taken for the first', async () => {
    await use({ honoursKeys: false })
    await harness.startEngine()
    const objectOptions = {
      ...{ ...BY_EMAIL, path: 'RECORD', requestDeadlineMs: 1_000 },
      ...{ deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' },
    }
    const sync = await harness.seedSync({ objectOptions })
    const person = createPerson(await test.open(), harness, sync)
    for (const note of ['A', 'B', 'A']) {
      put(0, 'x', note)
      if (destination.calls() === 2) {
        destination.script({ kind: 'reset' })
      }
      expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
      await person.reset()
    }
    expect(notesOf(destination, 'x')).toEqual(['A', 'B'])
  })

  it('is not set by a clock: a worker that is off by 200 hours delivers, remembers and replays as any other', async () => {
    await use({ honoursKeys: false })
    for (const row of scriptedRows(4)) {
      source.put(row)
    }
    const sync = await harness.seedSync({ pageSize: 2, objectOptions: { path: 'PAGE' } })
    for (const hours of [-200, 200]) {
      const now = () => new Date(Date.now() + hours * HOUR_MS)
      await harness.startEngine({ clock: { ...systemClock, now } })
      expect((await harness.run(sync)).status).toBe('succeeded')
      await harness.close()
      await createPerson(await test.open(), harness, sync).reset()
    }
    expect([...destination.effects.values()]).toEqual([1, 1, 1, 1])
  })
})
