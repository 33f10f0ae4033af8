/** A scheduled sync runs by itself, on both databases. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Schedule } from '../../src/domain/schedule.ts'
import { storeSlots } from '../../src/store/schedules.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
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

const MINUTELY: Schedule = { kind: 'interval', everyMs: 60_000 }

describe.each(ENGINE_DATABASE_KINDS)('a schedule on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource([scriptedRow('r0', 0)])
    destination = await startRecordingDestination({ honoursKeys: true })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('runs a sync when its slot is due, with nobody asking for it', async () => {
    const sync = await harness.seedSync({ schedule: MINUTELY })
    const nowMs = Date.now()
    const slots = { schedule: MINUTELY, anchorMs: nowMs - 60_000, slotMs: nowMs }
    await storeSlots(database(), sync.syncId, slots)
    const delivered = destination.nextRequest()
    await harness.startEngine()
    await delivered
    const [run] = await database().rows<{ id: string; cause: string }>(
      sql`select id, cause from run where sync_id = ${sync.syncId}`,
    )
    expect(run?.cause).toBe('schedule')
    expect(await harness.waitForEnd(run?.id ?? '')).toMatchObject({
      status: 'succeeded',
      counters: { read: 1, written: 1 },
    })
  })
})
