/**
 * A destination that repeats what it gets twice, but can be asked (I12): what nobody answered is asked for
 * once nothing of it can land any more, and sent again only if it is not there. The destination of these
 * tests applies the same write twice, so it is the oracle.
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FAULT_POINTS } from '../../src/engine/fault-points.ts'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  counts,
  createHurriedClock,
  createWaitingClock,
  leftOf,
  notesOf,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'

/** So long that a slow machine loses no answer that the destination gave. */
const DEADLINE_MS = 8_000
const LOOKUP = {
  ...{ deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}', requestDeadlineMs: DEADLINE_MS },
}
const hurriedClock = createHurriedClock(DEADLINE_MS)
/** An attempt that lost its trust, as on a slow machine, would leave a page without its checkpoint to the next one. */
const CALM = { settings: CALM_SETTINGS }
const LOST_AFTER_APPLYING: Reaction = { kind: 'reset', isApplied: true }
const LOST: Reaction = { kind: 'reset' }
const SLOW_DOWN: Reaction = {
  kind: 'answer',
  status: 429,
  body: '{}',
  headers: { 'retry-after': '0' },
}
const DOWN: Reaction = { kind: 'answer', status: 502, body: '<html>bad gateway</html>' }
/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 15, embedded: 6 } as const satisfies Record<DatabaseKind, number>

describe.each(ENGINE_DATABASE_KINDS)('a destination of class LOOKUP, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const fill = (count: number) => {
    for (const row of scriptedRows(count)) {
      source.put(row)
    }
  }
  const effects = () => [...destination.effects.values()]

  describe.each(['RECORD', 'PAGE'])('by the path %s', (path) => {
    it.each([
      // It is there, and one that nobody made is not.
      ['is not sent again when it is there', LOST_AFTER_APPLYING, 1, 2],
      ['is sent again once when it is not', LOST, 2, 1],
    ])('within an attempt a write without an answer %s', async (_, reaction, calls, questions) => {
      fill(1)
      await harness.startEngine({ ...CALM, clock: hurriedClock })
      const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path } })
      destination.script(reaction)
      const run = await harness.run(sync, { attemptAllowance: 1 })
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, written: 1 }) })
      expect(destination.requests).toHaveLength(calls)
      expect(destination.questions).toHaveLength(questions)
      expect(effects()).toEqual([1])
    })

    it('is asked by the next attempt for what a killed one left, before anything is sent', async () => {
      fill(3)
      await harness.startEngine({ ...CALM, clock: hurriedClock, faults: breaksAt('afterSend', 2) })
      const objectOptions = { ...LOOKUP, path, concurrency: 1 }
      const sync = await harness.seedSync({ pageSize: 1, objectOptions })
      await harness.run(sync, { attemptAllowance: 1 })
      const run = await harness.run(sync)
      expect(run).toMatchObject({ status: 'succeeded', counters: { read: 2 } })
      expect(destination.questions).toHaveLength(2)
      expect(effects()).toEqual([1, 1, 1])
      expect(destination.requests).toHaveLength(3)
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })
  })

  it('is not asked before the dead worker’s request has landed: the quiet time is waited for', async () => {
    fill(1)
    const clock = createWaitingClock(50_000, 67_000)
    const landing = createSignal()
    await harness.startEngine({ ...CALM, clock, faults: breaksAt('afterSend') })
    const late = { settlingMs: 60_000, requestDeadlineMs: 1_000 }
    const objectOptions = { ...LOOKUP, path: 'PAGE', ...late }
    const sync = await harness.seedSync({ objectOptions })
    // The call hangs until its deadline, and is applied long after that.
    destination.script({ kind: 'hang', appliedOn: landing.reached })
    await harness.run(sync, { attemptAllowance: 1 })
    const runId = await harness.enqueue(sync)
    await clock.waiting
    expect(destination.questions).toHaveLength(0)
    landing.reach()
    await landing.reached
    clock.pass()
    const run = await harness.waitForEnd(runId)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, replayed: 1 }) })
    expect(destination.requests).toHaveLength(1)
    expect(effects()).toEqual([1])
  })

  it('a call that is made again has its whole quiet time again', async () => {
    fill(1)
    await harness.startEngine({ ...CALM, faults: breaksAt('afterSend', 2) })
    const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path: 'PAGE' } })
    destination.script(SLOW_DOWN)
    await harness.run(sync, { attemptAllowance: 1 })
    expect(destination.requests).toHaveLength(2)
    const [intent] = await database().rows<{ isRenewed: boolean }>(sql`
      select quiet_at - reserved_at > interval '13 seconds' as "isRenewed"
      from delivery_intent where sync_id = ${sync.syncId}`)
    // Request deadline, and what a connection may take: 13 s from the reservation without the renewal.
    expect(intent).toEqual({ isRenewed: true })
  })

  it('that does not say ends the attempt; nothing is sent until it does', async () => {
    fill(2)
    await harness.startEngine({ ...CALM, clock: hurriedClock })
    const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path: 'PAGE' } })
    destination.script(LOST_AFTER_APPLYING)
    destination.decideQuestion(() => DOWN)
    for (let n = 0; n < 2; n += 1) {
      const run = await harness.run(sync, { attemptAllowance: 1 })
      expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    }
    expect(destination.requests).toHaveLength(1)
    destination.decideQuestion(() => null)
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, replayed: 2 }))
    expect(effects()).toEqual([1, 1])
  })

  it('that is asked takes a web page for no answer', async () => {
    fill(1)
    await harness.startEngine({ ...CALM, clock: hurriedClock })
    const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path: 'PAGE' } })
    destination.script(LOST_AFTER_APPLYING)
    destination.decideQuestion(() => ({ kind: 'answer', status: 404, body: '<html>nginx</html>' }))
    const run = await harness.run(sync, { attemptAllowance: 1 })
    expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
    expect(destination.requests).toHaveLength(1)
  })

  it.each([
    ['NONE', { deliveryClass: 'NONE' }],
    ['IDEMPOTENT', {}],
  ])('and is declared to be %s: what was in flight is for a person', async (_, changed) => {
    fill(1)
    await harness.startEngine({ ...CALM, faults: breaksAt('afterSend') })
    const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path: 'PAGE' } })
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { objectOptions: { path: 'PAGE', ...changed } })
    const run = await harness.run(other)
    expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 1, inDoubt: 1 }) })
    expect(effects()).toEqual([1])
  })

  it('and was declared IDEMPOTENT before: what was in flight is asked for', async () => {
    fill(1)
    await harness.startEngine({ ...CALM, clock: hurriedClock, faults: breaksAt('afterSend') })
    const sync = await harness.seedSync({
      objectOptions: { path: 'PAGE', requestDeadlineMs: DEADLINE_MS },
    })
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { objectOptions: { ...LOOKUP, path: 'PAGE' } })
    const run = await harness.run(other)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, replayed: 1 }) })
    expect(effects()).toEqual([1])
  })

  it('a row that changed meanwhile is written after what was in flight, not instead of it', async () => {
    fill(1)
    await harness.startEngine({ ...CALM, clock: hurriedClock, faults: breaksAt('afterSend') })
    const sync = await harness.seedSync({ objectOptions: { ...LOOKUP, path: 'PAGE' } })
    await harness.run(sync, { attemptAllowance: 1 })
    const [row] = source.rows.values()
    if (row) {
      source.put({ ...row, fields: { ...row.fields, note: 'changed' } })
    }
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 1, written: 1 }))
    expect(notesOf(destination, String(row?.fields['email'])).at(-1)).toBe('changed')
    expect(effects()).toEqual([1, 1])
  })

  it('whatever is answered and wherever attempts break: everything is written once, nothing is in doubt', async () => {
    let faults = breaksAt('afterClaim', 1_000)
    await harness.startEngine({
      ...CALM,
      clock: hurriedClock,
      faults: (point, runId) => faults(point, runId),
    })
    const reaction = fc.constantFrom(LOST, LOST_AFTER_APPLYING, SLOW_DOWN, {
      kind: 'apply',
    } as const)
    const plannedRun = fc.record({
      reactions: fc.array(reaction, { maxLength: 4 }),
      isAnswering: fc.boolean(),
      point: fc.constantFrom(...FAULT_POINTS),
      nth: fc.integer({ min: 1, max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('PAGE', 'RECORD'),
        fc.array(plannedRun, { minLength: 1, maxLength: 3 }),
        async (count, pageSize, path, runs) => {
          source.rows.clear()
          fill(count)
          const sync = await harness.seedSync({ pageSize, objectOptions: { ...LOOKUP, path } })
          const before = destination.applied.length
          for (const { reactions, isAnswering, point, nth } of runs) {
            const left = [...reactions]
            destination.decide(() => left.shift() ?? { kind: 'apply' })
            destination.decideQuestion(() => (isAnswering ? null : DOWN))
            faults = breaksAt(point, nth)
            await harness.run(sync, { attemptAllowance: 1 })
          }
          destination.always({ kind: 'apply' })
          destination.decideQuestion(() => null)
          faults = breaksAt('afterClaim', 1_000)
          const last = await harness.run(sync)
          expect(last.status).toBe('succeeded')
          const written = destination.applied.slice(before)
          expect(written).toHaveLength(count)
          expect(new Set(written.map(({ key }) => key)).size).toBe(count)
          expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
        },
      ),
      { numRuns: RUNS[kind] },
    )
  }, 120_000)
})
