/**
 * What has to be remembered of an open page although its records change or leave: which of them were
 * overtaken (I11), and what was in flight when the destination was declared to repeat writes (I12).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, notesOf, rejecting, timesSent } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
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

describe.each(DATABASE_KINDS)('what an open page remembers, on %s', (kind) => {
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

  const put = (identity: string, rank: number, email: string, note: string) =>
    source.put({ ...scriptedRow(identity, rank), fields: { email, note } })

  it('a record that was overtaken in its page is not sent when the overtaking one has moved on', async () => {
    put('row0', 0, 'x', 'old')
    put('row1', 1, 'x', 'new')
    put('row2', 2, 'z', 'z')
    await harness.startEngine()
    const options = { path: 'PAGE', identityField: 'email' }
    const sync = await harness.seedSync({ pageSize: 3, objectOptions: options })
    destination.decide(rejecting(({ note }) => note === 'old' || note === 'z'))
    expect((await harness.run(sync)).status).toBe('partial')
    put('row1', 9, 'x', 'newest')
    destination.decide(rejecting(({ note }) => note === 'z'))
    await harness.run(sync)
    destination.always({ kind: 'apply' })
    expect((await harness.run(sync)).status).toBe('succeeded')
    expect(notesOf(destination, 'x')).toEqual(['new', 'newest'])
  })

  it('what was in flight is in doubt once the destination is declared to repeat writes', async () => {
    for (const row of scriptedRows(2)) {
      source.put(row)
    }
    await harness.startEngine({ faults: breaksAt('afterSend') })
    const idempotent = { path: 'PAGE', requestDeadlineMs: 1_000 }
    const sync = await harness.seedSync({ objectOptions: idempotent })
    const broken = await harness.run(sync, { attemptAllowance: 1 })
    expect(broken.status).toBe('failed')
    const other = await republish(database(), sync, {
      objectOptions: { ...idempotent, deliveryClass: 'NONE' },
    })
    for (let n = 0; n < 2; n += 1) {
      const run = await harness.run(other)
      expect(run).toMatchObject({ status: 'partial', counters: { read: 2, inDoubt: 2 } })
    }
    expect(timesSent(destination, 'r0@example.com')).toBe(1)
  })
})
