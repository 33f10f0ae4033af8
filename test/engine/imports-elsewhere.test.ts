/**
 * Imports whose sync, or another one of their connection, names another place for them by now: what became of
 * an import is asked where it was begun (I12). The destination of these tests applies the same write twice, so
 * it is the oracle.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { listDoubts } from '../../src/store/history/doubts.ts'
import { findOpenImport } from '../../src/store/intents.ts'
import { hasNothing, isAway, leadsNowhere, listsOthers, places } from '../support/asked-places.ts'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, counts, createHurriedClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

const DEADLINE_MS = 8_000
const clock = createHurriedClock(DEADLINE_MS)
const CALM = { settings: CALM_SETTINGS, clock }
const CLASSES = {
  IDEMPOTENT: { deliveryClass: 'IDEMPOTENT' },
  LOOKUP: { deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' },
  NONE: { deliveryClass: 'NONE' },
} as const
const CLASS_NAMES = Object.keys(CLASSES) as (keyof typeof CLASSES)[]

describe.each(ENGINE_DATABASE_KINDS)('an import, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(2))
    destination = await startRecordingDestination({ honoursKeys: false })
    destination.always({ kind: 'accept' })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    // The workers of the next test must not find this one's run.
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where status = 'queued'`)
  })

  const options = (importsObject: string, name: keyof typeof CLASSES = 'NONE') => ({
    ...{ path: 'PAGE', importsObject, importPollMs: 100, requestDeadlineMs: DEADLINE_MS },
    ...CLASSES[name],
  })
  const effects = () => [...destination.effects.values()]
  const finishFirst = () => destination.imports.finish(destination.imports.ids[0] ?? '')
  const doubtsOf = ({ workspaceId, syncId }: SeededSync) =>
    listDoubts(database(), workspaceId, { ...{ syncId, runId: null, after: null, limit: 10 } })

  /** A sync whose import is under way at a place while nobody is at work on it. */
  const leaveOpen = async (importsObject: string, point: FaultPoint = 'afterAccept') => {
    destination.imports.takesMs = null
    const sync = await harness.seedSync({ objectOptions: options(importsObject) })
    const engine = await harness.startEngine({ ...CALM, faults: breaksAt(point) })
    await harness.run(sync, { attemptAllowance: 1 })
    await engine.stop()
    await database().rows(sql`update delivery_intent set quiet_at = now()
      where sync_id = ${sync.syncId}`)
    return sync
  }
  const seedOther = (like: SeededSync, importsObject: string) => {
    const { workspaceId, destinationConnectionId } = like
    const objectOptions = { ...options(importsObject), importPatienceMs: 1_000 }
    return harness.seedSync({ workspaceId, destinationConnectionId, objectOptions })
  }

  it('of a sync that names another place keeps the others of the connection waiting until it is over there', async () => {
    const left = await leaveOpen('/a/imports')
    destination.decideQuestion(hasNothing('/b/imports'))
    await harness.startEngine(CALM)
    const other = await seedOther(left, '/b/imports')
    const waiting = await harness.run(other, { attemptAllowance: 1 })
    expect(waiting).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    expect(waiting.failureDetail).toContain(`that of sync "sync ${left.syncId}" (${left.syncId}).`)
    expect(destination.requests).toHaveLength(1)

    destination.imports.takesMs = 0
    finishFirst()
    destination.decideQuestion(leadsNowhere(`/b/imports/${destination.imports.ids[0]}`))
    expect((await harness.run(other)).counters).toEqual(counts({ read: 2, written: 2 }))
    expect(destination.imports.mostOpen).toBe(1)
    expect((await harness.run(left)).counters).toEqual(counts({ read: 2, replayed: 2 }))
  })

  it.each(['afterSend', 'afterAccept'] as const)(
    'that was left at %s, and whose place leads nowhere, keeps the others of the connection waiting no longer than it goes on where they ask',
    async (point) => {
      const left = await leaveOpen('/a/imports', point)
      destination.decideQuestion(leadsNowhere('/a/imports'))
      await harness.startEngine(CALM)
      const other = await seedOther(left, '/b/imports')
      const waiting = await harness.run(other, { attemptAllowance: 1 })
      expect(waiting).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(waiting.failureDetail).toContain(left.syncId)
      expect(destination.requests).toHaveLength(1)

      destination.imports.takesMs = 0
      finishFirst()
      expect((await harness.run(other)).counters).toEqual(counts({ read: 2, written: 2 }))
      expect(destination.imports.mostOpen).toBe(1)
      expect((await harness.run(left)).counters).toEqual(counts({ read: 2, replayed: 2 }))
      expect(destination.requests).toHaveLength(2)
    },
  )

  const nowhere = leadsNowhere('/a/imports')
  it.each([
    ['leads nowhere, as does theirs,', leadsNowhere('/'), 'To GET /b/imports'],
    [
      'leads nowhere, and is not listed at theirs,',
      places(nowhere, hasNothing('/b/imports')),
      'at /b/imports, where this sync asks: it is not listed.',
    ],
    [
      'leads nowhere, while theirs lists whatever there is,',
      places(nowhere, listsOthers('/b/imports')),
      'for a tag that nobody has given',
    ],
    ['leads nowhere', places(nowhere, isAway('/b/imports')), 'To GET /a/imports'],
    ['does not answer', isAway('/a/imports'), 'answered 500'],
  ])(
    'whose place %s is not taken for over by the others of the connection',
    async (_, place, words) => {
      const left = await leaveOpen('/a/imports')
      destination.decideQuestion(place)
      await harness.startEngine(CALM)
      const other = await seedOther(left, '/b/imports')
      const waiting = await harness.run(other, { attemptAllowance: 1 })
      expect(waiting).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(waiting.failureDetail).toContain(left.syncId)
      expect(waiting.failureDetail).toContain(words)
      expect(destination.requests).toHaveLength(1)
    },
  )

  describe.each(CLASS_NAMES)('of class %s', (name) => {
    it.each(['afterSend', 'afterAccept'] as const)(
      'that an attempt left at %s is asked about where it was begun, and not where the sync says by now',
      async (point) => {
        await harness.startEngine({ ...CALM, faults: breaksAt(point) })
        const sync = await harness.seedSync({ objectOptions: options('/a/imports', name) })
        await harness.run(sync, { attemptAllowance: 1 })
        destination.decideQuestion(hasNothing('/b/imports'))
        const changed = { objectOptions: options('/b/imports', name) }
        const run = await harness.run(await republish(database(), sync, changed))
        expect(run).toMatchObject({
          ...{ status: 'succeeded', counters: counts({ read: 2, replayed: 2 }) },
        })
        expect(destination.requests).toHaveLength(1)
        expect(effects()).toEqual([1, 1])
      },
    )

    it('that was begun at a place that leads nowhere is not sent again, and found once that is mended', async () => {
      destination.imports.takesMs = null
      destination.decideQuestion(leadsNowhere('/wrong/imports'))
      await harness.startEngine(CALM)
      const sync = await harness.seedSync({ objectOptions: options('/wrong/imports', name) })
      for (let n = 0; n < 2; n += 1) {
        const run = await harness.run(sync, { attemptAllowance: 1 })
        expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
        expect(run.failureDetail).toContain('GET /wrong/imports')
      }
      finishFirst()
      const mended = { objectOptions: options('/imports', name) }
      const run = await harness.run(await republish(database(), sync, mended))
      expect(run.counters).toEqual(counts({ read: 2, replayed: 2 }))
      expect(destination.requests).toHaveLength(1)
      expect(effects()).toEqual([1, 1])
    })

    it('that is not where it was begun any more is found where the sync says by now', async () => {
      await harness.startEngine({ ...CALM, faults: breaksAt('afterAccept') })
      const sync = await harness.seedSync({ objectOptions: options('/a/imports', name) })
      await harness.run(sync, { attemptAllowance: 1 })
      // It is known there by no id, and listed under no tag.
      destination.decideQuestion(hasNothing('/a/imports'))
      const changed = { objectOptions: options('/b/imports', name) }
      const run = await harness.run(await republish(database(), sync, changed))
      expect(run.counters).toEqual(counts({ read: 2, replayed: 2 }))
      expect(destination.requests).toHaveLength(1)
      expect(effects()).toEqual([1, 1])
    })

    it('that nobody knows of, neither where it was begun nor where the sync says by now, is for a person', async () => {
      await harness.startEngine({ ...CALM, faults: breaksAt('afterAccept') })
      const sync = await harness.seedSync({ objectOptions: options('/a/imports', name) })
      await harness.run(sync, { attemptAllowance: 1 })
      destination.decideQuestion(places(leadsNowhere('/a/imports'), hasNothing('/b/imports')))
      const changed = { objectOptions: options('/b/imports', name) }
      const run = await harness.run(await republish(database(), sync, changed))
      expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 2, inDoubt: 2 }) })
      expect(destination.requests).toHaveLength(1)
      const causes = (await doubtsOf(sync)).map(({ cause }) => cause)
      expect(causes).toEqual(['import_out_of_reach', 'import_out_of_reach'])
      expect(await findOpenImport(database(), sync.destinationConnectionId)).toBeNull()
    })
  })

  it('whose place does not answer stays as it is, whatever the sync names by now', async () => {
    await harness.startEngine({ ...CALM, faults: breaksAt('afterAccept') })
    const sync = await harness.seedSync({ objectOptions: options('/a/imports') })
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { objectOptions: options('/b/imports') })
    destination.decideQuestion(places(isAway('/a/imports'), hasNothing('/b/imports')))
    const run = await harness.run(other, { attemptAllowance: 1 })
    expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    destination.decideQuestion(hasNothing('/b/imports'))
    expect((await harness.run(other)).counters).toEqual(counts({ read: 2, replayed: 2 }))
    expect(destination.requests).toHaveLength(1)
  })

  it('that was begun where the API lists none is found where the sync says by now', async () => {
    await harness.startEngine({ ...CALM, faults: breaksAt('afterSend') })
    const sync = await harness.seedSync({ objectOptions: options('/wrong/imports') })
    await harness.run(sync, { attemptAllowance: 1 })
    destination.decideQuestion(hasNothing('/wrong/imports'))
    const other = await republish(database(), sync, { objectOptions: options('/imports') })
    expect((await harness.run(other)).counters).toEqual(counts({ read: 2, replayed: 2 }))
    expect(destination.requests).toHaveLength(1)
  })

  it.each(CLASS_NAMES)(
    'is not taken for what a list shows that goes by no tags, of class %s',
    async (name) => {
      await harness.startEngine({ ...CALM, faults: breaksAt('afterSend') })
      const sync = await harness.seedSync({ objectOptions: options('/a/imports', name) })
      await harness.run(sync, { attemptAllowance: 1 })
      destination.decideQuestion(places(leadsNowhere('/a/imports'), listsOthers('/b/imports')))
      const changed = { objectOptions: options('/b/imports', name) }
      const run = await harness.run(await republish(database(), sync, changed), {
        attemptAllowance: 1,
      })
      expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
      expect(run.failureDetail).toMatch(/lists an import for a tag that nobody has given/)
      expect(destination.requests).toHaveLength(1)
    },
  )

  it('that was never begun is sent once, also where the sync names another place by now', async () => {
    await harness.startEngine({ ...CALM, faults: breaksAt('afterReserve') })
    const sync = await harness.seedSync({ objectOptions: options('/a/imports') })
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { objectOptions: options('/b/imports') })
    expect((await harness.run(other)).counters).toEqual(counts({ read: 2, written: 2 }))
    expect(effects()).toEqual([1, 1])
  })
})
