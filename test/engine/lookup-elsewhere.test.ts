/**
 * A destination that is asked for a write where it knows nothing: at a place that leads nowhere, that has
 * something for every path, or at another one than the sync named when it was sent. That something is not there is
 * believed only where it would be found, and that it is there where it could be missing (I12). The destination of
 * these tests applies the same write twice, so it is the oracle.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { listDoubts } from '../../src/store/history/doubts.ts'
import { hasEverything, isAway, leadsNowhere, places } from '../support/asked-places.ts'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, counts, createHurriedClock, createWaitingClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import { passQuietTime } from '../support/quarantine-stage.ts'
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

const DEADLINE_MS = 8_000
const LOST_AFTER_APPLYING: Reaction = { kind: 'reset', isApplied: true }
const LOST: Reaction = { kind: 'reset' }
const APPLY: Reaction = { kind: 'apply' }
const NOTHING = leadsNowhere('/writes/')
const WRONG = places(leadsNowhere('/wrong/'), hasEverything('/every/'))
/** Its writes show so much later, in milliseconds. */
const SETTLING_MS = 600_000

describe.each(ENGINE_DATABASE_KINDS)('a write without an answer, on %s,', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    destination.decideQuestion(WRONG)
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
  const start = (point?: FaultPoint, nth?: number, clock = createHurriedClock(DEADLINE_MS)) =>
    harness.startEngine({
      ...{ settings: CALM_SETTINGS, clock },
      ...(point && { faults: breaksAt(point, nth) }),
    })
  const askedAt = (lookupObject: string, path = 'RECORD') => ({
    pageSize: 1,
    objectOptions: {
      ...{ deliveryClass: 'LOOKUP', lookupObject, path, requestDeadlineMs: DEADLINE_MS },
    },
  })
  const republished = (sync: Parameters<typeof republish>[1], lookupObject: string) =>
    republish(database(), sync, askedAt(lookupObject))

  describe.each(['RECORD', 'PAGE'])('by the path %s', (path) => {
    it.each([
      ['in its own attempt', undefined],
      ['by the next attempt', 'afterSend'],
    ] as const)(
      'is not sent again when the destination, asked %s, denies what it has confirmed',
      async (_, point) => {
        fill(3)
        await start(point, 2)
        const sync = await harness.seedSync(askedAt('/wrong/{key}', path))
        destination.script(APPLY, LOST_AFTER_APPLYING)
        if (point) {
          await harness.run(sync, { attemptAllowance: 1 })
        }
        for (let n = 0; n < 2; n += 1) {
          const run = await harness.run(sync, { attemptAllowance: 1 })
          expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
          expect(run.failureDetail).toContain('Asked at /wrong/{key}')
        }
        expect(destination.requests).toHaveLength(2)
        expect((await harness.run(await republished(sync, '/writes/{key}'))).status).toBe(
          'succeeded',
        )
        expect(effects()).toEqual([1, 1, 1])
      },
    )
  })

  it.each([
    ['of a page that has no checkpoint yet', 2, 0],
    ['when an earlier version has kept nothing at the checkpoints', 4, 2],
  ])(
    'is not sent again where a place denies what the ledger says is confirmed, %s',
    async (_, count, passed) => {
      fill(count)
      await start('afterSend', count)
      const settings = askedAt('/wrong/{key}')
      const objectOptions = { ...settings.objectOptions, concurrency: 1 }
      const sync = await harness.seedSync({ pageSize: 2, objectOptions })
      await harness.run(sync, { attemptAllowance: 1 })
      await database().rows(sql`
        update sync_fence set confirmed_keys = null where sync_id = ${sync.syncId}`)
      const run = await harness.run(sync, { attemptAllowance: 1 })
      expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
      expect(run.failureDetail).toContain('knows nothing of writes that it has confirmed')
      expect(destination.requests).toHaveLength(passed + 2)
      expect((await harness.run(await republished(sync, '/writes/{key}'))).status).toBe('succeeded')
      expect(effects()).toEqual(Array.from({ length: count }, () => 1))
    },
  )

  describe.each(['RECORD', 'PAGE'])('by the path %s', (path) => {
    it.each([
      ['in its own attempt', undefined],
      ['by the next attempt', 'afterSend'],
    ] as const)(
      'is not taken for written when the destination, asked %s, has what nobody made',
      async (_, point) => {
        fill(2)
        await start(point, 2)
        const sync = await harness.seedSync(askedAt('/every/{key}', path))
        destination.script(APPLY, LOST)
        if (point) {
          await harness.run(sync, { attemptAllowance: 1 })
        }
        for (let n = 0; n < 2; n += 1) {
          const run = await harness.run(sync, { attemptAllowance: 1 })
          expect(run).toMatchObject({ status: 'failed', failureCode: 'node_failed' })
          expect(run.failureDetail).toContain('Asked at /every/{key}')
          expect(run.failureDetail).toContain('a write that nobody made')
        }
        expect(destination.requests).toHaveLength(2)
        const run = await harness.run(await republished(sync, '/writes/{key}'))
        expect(run).toMatchObject({ status: 'succeeded', counters: { read: 1, written: 1 } })
        expect(effects()).toEqual([1, 1])
      },
    )
  })

  it('is not taken for written while the destination does not say whether it has what nobody made', async () => {
    fill(1)
    await start()
    destination.script(LOST_AFTER_APPLYING)
    const isOfNobody = (path: string) => !path.endsWith(destination.applied[0]?.key ?? '-')
    destination.decideQuestion((asked) =>
      isOfNobody(asked.path) ? isAway('/writes/')(asked) : null,
    )
    const sync = await harness.seedSync(askedAt('/writes/{key}'))
    const run = await harness.run(sync, { attemptAllowance: 1 })
    expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    expect(run.counters).toEqual(counts({}))
    destination.decideQuestion(() => null)
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 1, replayed: 1 }))
    expect(effects()).toEqual([1])
  })

  it('is told from what nobody made once an attempt, however many are asked for', async () => {
    fill(3)
    await start()
    destination.script(LOST_AFTER_APPLYING, LOST_AFTER_APPLYING, LOST_AFTER_APPLYING)
    const run = await harness.run(await harness.seedSync(askedAt('/writes/{key}')))
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 3, written: 3 }) })
    expect(destination.questions).toHaveLength(4)
  })

  it.each([
    ['in its own attempt', undefined],
    ['by the next attempt', 'afterSend'],
  ] as const)(
    'is compared, %s, with none that was confirmed too lately to be shown',
    async (_, point) => {
      fill(2)
      const clock = createWaitingClock(SETTLING_MS - 60_000, SETTLING_MS + 60_000)
      clock.pass()
      await start(point, 2, clock)
      const settings = askedAt('/writes/{key}')
      const objectOptions = { ...settings.objectOptions, settlingMs: SETTLING_MS }
      const sync = await harness.seedSync({ ...settings, objectOptions })
      destination.script(APPLY, LOST)
      // The quiet time of the lost one is over first; that which is shown then was confirmed before.
      destination.decideQuestion((asked) => (clock.waits.length < 2 ? NOTHING(asked) : null))
      const run = await harness.run(sync, { attemptAllowance: point ? 2 : 1 })
      expect(run.status).toBe('succeeded')
      expect(clock.waits).toHaveLength(2)
      expect(destination.requests).toHaveLength(3)
      expect(effects()).toEqual([1, 1])
    },
  )

  it('is sent again where the destination has what it has confirmed, and not this', async () => {
    fill(2)
    await start()
    destination.script(APPLY, LOST)
    const run = await harness.run(await harness.seedSync(askedAt('/writes/{key}')))
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, written: 2 }) })
    expect(destination.requests).toHaveLength(3)
    expect(effects()).toEqual([1, 1])
  })

  it('is not sent again while the destination does not say what became of those that it has confirmed', async () => {
    fill(2)
    await start()
    destination.script(APPLY, LOST)
    destination.decideQuestion(({ path }) =>
      path.includes(destination.applied[0]?.key ?? '-')
        ? { kind: 'answer', status: 502, body: '<html>bad gateway</html>' }
        : null,
    )
    const sync = await harness.seedSync(askedAt('/writes/{key}'))
    const run = await harness.run(sync, { attemptAllowance: 1 })
    expect(run).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
    expect(destination.requests).toHaveLength(2)
    destination.decideQuestion(() => null)
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(effects()).toEqual([1, 1])
  })

  it.each([
    ['asked for where the sync says by now, and replayed when it is there', LOST_AFTER_APPLYING, 2],
    ['sent again when what was confirmed is there, and this is not', LOST, 3],
  ])('that was sent when the sync named another place is %s', async (_, reaction, calls) => {
    fill(2)
    await start('afterSend', 2)
    const sync = await harness.seedSync(askedAt('/wrong/{key}'))
    destination.script(APPLY, reaction)
    await harness.run(sync, { attemptAllowance: 1 })
    const run = await harness.run(await republished(sync, '/writes/{key}'))
    expect(run.status).toBe('succeeded')
    expect(destination.requests).toHaveLength(calls)
    expect(effects()).toEqual([1, 1])
  })

  it('that is not there where the sync says by now is for a person when nothing shows that it would be', async () => {
    fill(1)
    await start('afterSend')
    const sync = await harness.seedSync(askedAt('/writes/{key}'))
    await harness.run(sync, { attemptAllowance: 1 })
    const run = await harness.run(await republished(sync, '/wrong/{key}'))
    expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 1, inDoubt: 1 }) })
    expect(destination.requests).toHaveLength(1)
    const { workspaceId, syncId } = sync
    const shown = { syncId, runId: null, after: null, limit: 10 }
    expect(await listDoubts(database(), workspaceId, shown)).toMatchObject([
      { cause: 'lookup_moved' },
    ])
  })

  it('is not compared with what a person settled as delivered: the destination need not have it', async () => {
    fill(2)
    let isBroken = true
    const faults = (at: FaultPoint) => {
      if (isBroken && at === 'afterReserve') {
        throw new Error('Broken before it is sent.')
      }
    }
    const clock = createHurriedClock(DEADLINE_MS)
    await harness.startEngine({ settings: CALM_SETTINGS, clock, faults })
    const sync = await harness.seedSync(askedAt('/wrong/{key}'))
    await harness.run(sync, { attemptAllowance: 1 })
    const moved = await republished(sync, '/writes/{key}')
    await harness.run(moved, { attemptAllowance: 1 })
    isBroken = false
    await passQuietTime(database(), sync)
    const person = createPerson(database(), harness, moved)
    const [doubt] = await person.listDoubts()
    const { intentId = '' } = doubt ?? {}
    await person.settle({ intentId, position: null, settlement: 'delivered' })
    expect(await harness.run(moved)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, replayed: 1, written: 1 }),
    })
    expect(destination.requests).toHaveLength(1)
  })

  it('is written twice by a sync that has confirmed nothing yet, at a place that leads nowhere (the control)', async () => {
    fill(1)
    await start()
    destination.script(LOST_AFTER_APPLYING)
    const run = await harness.run(await harness.seedSync(askedAt('/wrong/{key}')))
    expect(run.status).toBe('succeeded')
    expect(effects()).toEqual([2])
  })
})
