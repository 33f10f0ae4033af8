/** What becomes of open pages whose sync reads something else now, and of a run that was rejected as a whole. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  counts,
  hurriedClock,
  leftOf,
  rejecting,
  timesSent,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import { passQuietTime } from '../support/quarantine-stage.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'

const PAGE_PATH = { objectOptions: { path: 'PAGE' } }
const NOTHING_LEFT = { pages: 0, intents: 0, held: 0 }

describe.each(ENGINE_DATABASE_KINDS)('an open page on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(4))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const rejectEmails = (...names: readonly string[]) =>
    destination.decide(rejecting(({ email }) => names.some((name) => email.startsWith(name))))
  const savedCursorOf = async (syncId: string) => {
    const [row] = await database().rows<{ saved: string | null }>(
      sql`select saved_cursor as saved from sync_fence where sync_id = ${syncId}`,
    )
    return row?.saved
  }

  it('of a stream that the sync reads no longer is closed, with what it held, and lets the saved cursor go', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 2, ...PAGE_PATH })
    rejectEmails('r1')
    await harness.run(sync)
    expect(await savedCursorOf(sync.syncId)).toBe('-1')
    rejectEmails()
    const other = await republish(database(), sync, { stream: 'other.csv' })
    const second = await harness.run(other)
    expect(second).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, replayed: 1, skipped: 1 }),
    })
    expect(await leftOf(database(), sync.syncId)).toEqual(NOTHING_LEFT)
    expect(await savedCursorOf(sync.syncId)).toBe('3')
    expect((await harness.run(other)).counters).toEqual(counts({}))
    expect(timesSent(destination, 'r1@example.com')).toBe(1)
  })

  it('that no checkpoint has passed is closed too when the stream is another one', async () => {
    await harness.startEngine({ clock: hurriedClock, faults: breaksAt('afterSend') })
    const objectOptions = { path: 'PAGE', requestDeadlineMs: 1_000 }
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    await harness.run(sync, { attemptAllowance: 1 })
    const other = await republish(database(), sync, { stream: 'other.csv' })
    const second = await harness.run(other)
    expect(second.status).toBe('succeeded')
    expect(second.counters.written).toBe(4)
    // What was sent from it is forgotten once it cannot arrive any more.
    await passQuietTime(database(), sync)
    await harness.run(other)
    expect(await leftOf(database(), sync.syncId)).toEqual(NOTHING_LEFT)
  })

  it('whose range is gone is closed, with what it held', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 2, ...PAGE_PATH })
    rejectEmails('r1')
    await harness.run(sync)
    source.forgetRanges()
    const second = await harness.run(sync)
    expect(second).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, replayed: 1, skipped: 1 }),
    })
    expect(await leftOf(database(), sync.syncId)).toEqual(NOTHING_LEFT)
  })

  it('keeps nothing of a record that left it, and goes on holding the others', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 4, ...PAGE_PATH })
    rejectEmails('r1', 'r2')
    await harness.run(sync)
    source.rows.delete('r1')
    const second = await harness.run(sync)
    expect(second.counters).toEqual(counts({ read: 4, replayed: 2, rejected: 1, skipped: 1 }))
    rejectEmails()
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(await leftOf(database(), sync.syncId)).toEqual(NOTHING_LEFT)
  })
})

describe.each(ENGINE_DATABASE_KINDS)('a run that was rejected as a whole, on %s,', (kind) => {
  const database = useDatabase(kind)
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    const source = createScriptedSource(scriptedRows(3))
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('ends with destination_rejected at once, whatever its allowance, and the next run tries again', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync(PAGE_PATH)
    destination.decide(rejecting(() => true))
    const run = await harness.run(sync, { attemptAllowance: 5 })
    expect(run).toMatchObject({
      status: 'failed',
      failureCode: 'destination_rejected',
      counters: counts({ read: 3, rejected: 3 }),
    })
    expect(destination.requests).toHaveLength(1)
    const attempts = await database().rows(sql`select outcome, failure_code as code
      from attempt where run_id = ${run.runId}`)
    expect(attempts).toEqual([{ outcome: 'failed', code: 'destination_rejected' }])

    destination.always({ kind: 'apply' })
    expect(await harness.run(sync)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, written: 3 }),
    })
  })
})
