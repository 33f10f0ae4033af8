/**
 * A destination that takes calls in and works on them later. What an import did is told by the import
 * itself, whoever waits for it; one that nobody saw begin is found by its tag; a connection has one open at a
 * time. The destination of these tests applies the same write twice, so it is the oracle.
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FAULT_POINTS } from '../../src/engine/fault-points.ts'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  type Contact,
  counts,
  hurriedClock,
  leftOf,
  timesSent,
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
import type { SeededSync } from '../support/store-seed.ts'

const IMPORTS = {
  path: 'PAGE',
  importsObject: '/imports',
  importPollMs: 100,
  requestDeadlineMs: 1_000,
}
const CLASSES = {
  IDEMPOTENT: { deliveryClass: 'IDEMPOTENT' },
  LOOKUP: { deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' },
  NONE: { deliveryClass: 'NONE' },
} as const
const CLASS_NAMES = Object.keys(CLASSES) as (keyof typeof CLASSES)[]
const ACCEPT: Reaction = { kind: 'accept' }
/** Taken in, and nobody heard so. */
const ORPHAN: Reaction = { kind: 'accept', isAnswered: false }
const LOST: Reaction = { kind: 'reset' }
const BUSY: Reaction = { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '0' } }
const DOWN: Reaction = { kind: 'answer', status: 500, body: '{"error":"oops"}' }
/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 15, embedded: 6 } as const satisfies Record<DatabaseKind, number>

describe.each(ENGINE_DATABASE_KINDS)('an import, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    destination.always(ACCEPT)
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    // The workers of the next test must not find this one's run.
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where status = 'queued'`)
  })

  const fill = (count: number) => {
    for (const row of scriptedRows(count)) {
      source.put(row)
    }
  }
  const effects = () => [...destination.effects.values()]
  const options = (name: keyof typeof CLASSES) => ({ ...IMPORTS, ...CLASSES[name] })
  const seed = (name: keyof typeof CLASSES, pageSize = 2) =>
    harness.seedSync({ pageSize, objectOptions: options(name) })

  /** Resolves when the name of a sync's import is stored. */
  const jobStored = async (sync: SeededSync) => {
    for (;;) {
      const rows = await database().rows(sql`select from delivery_intent
        where sync_id = ${sync.syncId} and import_job_id is not null`)
      if (rows.length > 0) {
        return
      }
    }
  }

  describe.each(CLASS_NAMES)('of class %s', (name) => {
    it('is delivered when its own result says so, page by page, one at a time', async () => {
      fill(5)
      destination.imports.takesMs = 150
      await harness.startEngine({ clock: hurriedClock })
      const run = await harness.run(await seed(name))
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 5, written: 5 }) })
      expect(destination.requests).toHaveLength(3)
      expect(destination.imports.mostOpen).toBe(1)
      expect(effects()).toEqual([1, 1, 1, 1, 1])
    })

    it('that rejects a record holds it, and the others are written', async () => {
      fill(3)
      destination.always({
        kind: 'accept',
        of: (_, record) =>
          JSON.stringify(record).includes('r1@')
            ? { status: 'rejected', reason: 'no' }
            : { status: 'written', id: '1' },
      })
      await harness.startEngine({ clock: hurriedClock })
      const run = await harness.run(await seed(name, 3))
      expect(run).toMatchObject({
        status: 'partial',
        counters: counts({ read: 3, written: 2, rejected: 1 }),
      })
    })

    it('is waited for by the next attempt after a kill, and not sent again', async () => {
      fill(2)
      await harness.startEngine({ clock: hurriedClock, faults: breaksAt('afterAccept') })
      const sync = await seed(name)
      await harness.run(sync, { attemptAllowance: 1 })
      const run = await harness.run(sync)
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, replayed: 2 }) })
      expect(destination.requests).toHaveLength(1)
      expect(effects()).toEqual([1, 1])
    })

    it('that is an orphan of a kill is found by its tag, and not sent again', async () => {
      fill(2)
      await harness.startEngine({ clock: hurriedClock, faults: breaksAt('afterSend') })
      const sync = await seed(name)
      await harness.run(sync, { attemptAllowance: 1 })
      const run = await harness.run(sync)
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, replayed: 2 }) })
      expect(destination.requests).toHaveLength(1)
      expect(effects()).toEqual([1, 1])
    })

    it('that is an orphan of a lost answer is found by its tag within the attempt', async () => {
      fill(2)
      destination.script(ORPHAN)
      await harness.startEngine({ clock: hurriedClock })
      const run = await harness.run(await seed(name), { attemptAllowance: 1 })
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, written: 2 }) })
      expect(destination.requests).toHaveLength(1)
      expect(effects()).toEqual([1, 1])
    })

    it.each([
      ['was lost on its way', LOST, null],
      ['was never sent', ACCEPT, 'afterReserve'],
    ] as const)('that %s is sent again once, under another tag', async (_, reaction, point) => {
      fill(2)
      destination.script(reaction)
      await harness.startEngine({ clock: hurriedClock, ...(point && { faults: breaksAt(point) }) })
      const sync = await seed(name)
      await harness.run(sync, { attemptAllowance: 1 })
      const run = await harness.run(sync)
      expect(run.status).toBe('succeeded')
      expect(effects()).toEqual([1, 1])
      const tags = destination.requests.map(({ headers }) => headers['import-tag'])
      expect(new Set(tags).size).toBe(tags.length)
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })
  })

  it.each([
    ['IDEMPOTENT', 'is sent again', { written: 2 }, 2],
    ['LOOKUP', 'is asked for record by record', { written: 2 }, 1],
    ['NONE', 'is in doubt', { inDoubt: 2 }, 1],
  ] as const)('of class %s that the destination forgot %s', async (name, _, expected, calls) => {
    fill(2)
    await harness.startEngine({
      clock: hurriedClock,
      faults: (point) => {
        if (point === 'afterAccept' && destination.imports.ids.length === 1) {
          const [id = ''] = destination.imports.ids
          destination.imports.finish(id)
          destination.imports.forgotten.add(id)
        }
      },
    })
    const run = await harness.run(await seed(name), { attemptAllowance: 1 })
    expect(run.counters).toEqual(counts({ read: 2, ...expected }))
    expect(destination.requests).toHaveLength(calls)
  })

  it('that was refused for now and then broken off is in doubt for nobody: nothing was begun', async () => {
    fill(2)
    destination.script(BUSY)
    await harness.startEngine({ clock: hurriedClock, faults: breaksAt('afterComplete') })
    const sync = await seed('NONE')
    await harness.run(sync, { attemptAllowance: 1 })
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, written: 2 }))
    expect(effects()).toEqual([1, 1])
  })

  it('does not keep its worker from stopping: another one goes on waiting for it', async () => {
    fill(2)
    destination.imports.takesMs = null
    const engine = await harness.startEngine()
    const sync = await seed('NONE')
    const runId = await harness.enqueue(sync)
    await jobStored(sync)
    await engine.stop()
    const [row] = await database().rows<{ status: string; spent: number }>(sql`
      select status, attempts_spent as spent from run where id = ${runId}`)
    expect(row).toEqual({ status: 'queued', spent: 0 })
    destination.imports.finish(destination.imports.ids[0] ?? '')
    await harness.startEngine()
    const run = await harness.waitForEnd(runId)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, replayed: 2 }) })
    expect(destination.requests).toHaveLength(1)
    expect(effects()).toEqual([1, 1])
  })

  it('that does not finish in time ends the attempt; it is never sent again', async () => {
    fill(2)
    destination.imports.takesMs = null
    await harness.startEngine({ clock: hurriedClock })
    const sync = await harness.seedSync({
      objectOptions: { ...options('IDEMPOTENT'), importPatienceMs: 1_000 },
    })
    for (let n = 0; n < 2; n += 1) {
      const run = await harness.run(sync, { attemptAllowance: 1 })
      expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(run.failureDetail).toContain('has not finished')
    }
    destination.imports.finish(destination.imports.ids[0] ?? '')
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, replayed: 2 }))
    expect(destination.requests).toHaveLength(1)
    expect(effects()).toEqual([1, 1])
  })

  it('of a sync that is not at work does not keep the others of its connection waiting once it is over', async () => {
    fill(2)
    destination.imports.takesMs = null
    const engine = await harness.startEngine({ clock: hurriedClock })
    const left = await seed('NONE')
    const runId = await harness.enqueue(left)
    await jobStored(left)
    await engine.stop()
    await database().rows(
      sql`update run set due_at = now() + interval '1 hour' where id = ${runId}`,
    )

    await harness.startEngine({ clock: hurriedClock })
    const { workspaceId, destinationConnectionId } = left
    const objectOptions = { ...options('NONE'), importPatienceMs: 1_000 }
    const other = await harness.seedSync({ workspaceId, destinationConnectionId, objectOptions })
    const waiting = await harness.run(other, { attemptAllowance: 1 })
    expect(waiting).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    expect(waiting.failureDetail).toContain(left.syncId)
    expect(destination.requests).toHaveLength(1)

    destination.imports.takesMs = 0
    destination.imports.finish(destination.imports.ids[0] ?? '')
    expect((await harness.run(other)).counters).toEqual(counts({ read: 2, written: 2 }))
    expect(destination.imports.mostOpen).toBe(1)

    await database().rows(sql`update run set due_at = now() where id = ${runId}`)
    expect((await harness.waitForEnd(runId)).counters).toEqual(counts({ read: 2, replayed: 2 }))
    expect(destination.requests).toHaveLength(2)
  })

  it('waits for that of another sync of the same connection that is at work', async () => {
    fill(4)
    destination.imports.takesMs = 120
    await harness.startEngine({ clock: hurriedClock })
    const first = await seed('NONE')
    const { workspaceId, destinationConnectionId } = first
    const second = await harness.seedSync({
      ...{ workspaceId, destinationConnectionId, pageSize: 2, objectOptions: options('NONE') },
    })
    const runs = await Promise.all([harness.run(first), harness.run(second)])
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    expect(destination.imports.ids).toHaveLength(4)
    expect(destination.imports.mostOpen).toBe(1)
  })

  it.each([
    ['stops before it is sent', 'afterReserve'],
    ['stops after it is sent', 'afterSend'],
    ['does not stop', null],
  ] as const)(
    'that told nothing of a record leaves it in doubt, also where another one %s',
    async (_, point) => {
      fill(2)
      destination.script({
        kind: 'accept',
        of: (_, record) =>
          JSON.stringify(record).includes('r0@') ? null : { status: 'retry', retryAfterMs: 1 },
      })
      await harness.startEngine({
        clock: hurriedClock,
        ...(point && { faults: breaksAt(point, 2) }),
      })
      const sync = await seed('NONE')
      await harness.run(sync, { attemptAllowance: 1 })
      const run = await harness.run(sync)
      expect(run.counters).toMatchObject({ read: 2, inDoubt: 1 })
      expect(timesSent(destination, 'r0@example.com')).toBe(1)
      expect(destination.applied.map(({ record }) => (record as Contact).email)).toEqual([
        'r1@example.com',
      ])
    },
  )

  it('that nobody can ask about any more, since the sync says nothing of imports, is for a person', async () => {
    fill(2)
    await harness.startEngine({ faults: breaksAt('afterAccept') })
    const sync = await seed('IDEMPOTENT')
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { objectOptions: { path: 'PAGE' } })
    const run = await harness.run(other)
    expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 2, inDoubt: 2 }) })
    expect(destination.requests).toHaveLength(1)
  })

  it('whatever is answered and wherever attempts break: everything is written once, nothing is in doubt', async () => {
    let faults = breaksAt('afterClaim', 1_000)
    await harness.startEngine({
      clock: hurriedClock,
      faults: (point, runId) => faults(point, runId),
    })
    const plannedRun = fc.record({
      reactions: fc.array(fc.constantFrom(ACCEPT, ORPHAN, LOST, BUSY), { maxLength: 4 }),
      isAnswering: fc.boolean(),
      point: fc.constantFrom(...FAULT_POINTS),
      nth: fc.integer({ min: 1, max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(...CLASS_NAMES),
        fc.array(plannedRun, { minLength: 1, maxLength: 3 }),
        async (count, pageSize, name, runs) => {
          source.rows.clear()
          fill(count)
          const sync = await seed(name, pageSize)
          const before = destination.applied.length
          for (const { reactions, isAnswering, point, nth } of runs) {
            const left = [...reactions]
            destination.decide(() => left.shift() ?? ACCEPT)
            destination.decideQuestion(() => (isAnswering ? null : DOWN))
            faults = breaksAt(point, nth)
            await harness.run(sync, { attemptAllowance: 1 })
          }
          destination.always(ACCEPT)
          destination.decideQuestion(() => null)
          faults = breaksAt('afterClaim', 1_000)
          const last = await harness.run(sync)
          expect(last.status).toBe('succeeded')
          const written = destination.applied.slice(before)
          expect(written).toHaveLength(count)
          expect(new Set(written.map(({ key }) => key)).size).toBe(count)
          expect(destination.imports.mostOpen).toBe(1)
          expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
        },
      ),
      { numRuns: RUNS[kind] },
    )
  }, 120_000)
})
