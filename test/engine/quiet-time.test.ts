/**
 * A write that nobody answered to a destination that is idempotent (I11, I12): it is sent again as it was, at
 * once; another content of its identity waits, for the old request may still land and overwrite it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, counts, createWaitingClock, notesOf } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'

describe.each(ENGINE_DATABASE_KINDS)(
  'a write in flight to an idempotent destination, on %s,',
  (kind) => {
    const database = useDatabase(kind)
    let source: ScriptedSource
    let destination: RecordingDestination
    let harness: EngineHarness
    let faults = breaksAt('afterSend')

    beforeEach(async () => {
      faults = breaksAt('afterSend')
      source = createScriptedSource()
      destination = await startRecordingDestination({ honoursKeys: false })
      harness = createEngineHarness({ database: database(), source, destination })
    })
    afterEach(async () => {
      await harness.close()
      await destination.close()
    })

    /** Leaves a record in flight whose quiet time is a minute and some seconds, and says when somebody waits for it. */
    async function leaveInFlight() {
      const clock = createWaitingClock(30_000, 67_000)
      await harness.startEngine({ clock, faults: (point, runId) => faults(point, runId) })
      source.put(scriptedRow('r0', 0, 'first'))
      const objectOptions = { path: 'PAGE', requestDeadlineMs: 1_000, settlingMs: 60_000 }
      const sync = await harness.seedSync({ pageSize: 1, objectOptions })
      await harness.run(sync, { attemptAllowance: 1 })
      return { clock, sync }
    }

    it('is sent again at once, as it was', async () => {
      const { clock, sync } = await leaveInFlight()
      const run = await harness.run(sync)
      expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 1, written: 1 }) })
      expect(clock.waits).toEqual([])
      expect(destination.requests[1]?.keys).toEqual(destination.requests[0]?.keys)
    })

    it.each([
      ['in its place', 0],
      ['where it moved to', 5],
    ])('is followed by a changed record %s only after its quiet time', async (_, rank) => {
      const { clock, sync } = await leaveInFlight()
      source.put(scriptedRow('r0', rank, 'changed'))
      const runId = await harness.enqueue(sync)
      await clock.waiting
      expect(clock.waits).toHaveLength(1)
      expect(destination.requests).toHaveLength(1)
      clock.pass()
      expect((await harness.waitForEnd(runId)).status).toBe('succeeded')
      expect(notesOf(destination, 'r0@example.com')).toEqual(['first', 'changed'])
    })

    it('is followed by a record that has moved only after it, also where the attempt that saw it leave was killed', async () => {
      const { clock, sync } = await leaveInFlight()
      source.put(scriptedRow('r0', 5, 'changed'))
      faults = breaksAt('afterReadPage')
      await harness.run(sync, { attemptAllowance: 1 })
      faults = breaksAt('afterClaim', 0)
      const runId = await harness.enqueue(sync)
      await clock.waiting
      expect(destination.requests).toHaveLength(1)
      clock.pass()
      expect((await harness.waitForEnd(runId)).status).toBe('succeeded')
      expect(notesOf(destination, 'r0@example.com')).toEqual(['first', 'changed'])
    })

    it('keeps nobody else waiting', async () => {
      const { clock, sync } = await leaveInFlight()
      source.put(scriptedRow('r1', 1))
      expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, written: 2 }))
      expect(clock.waits).toEqual([])
    })
  },
)
