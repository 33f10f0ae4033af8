/** Receipts: what the ledger says of a record or of a key, whatever has become of its page since. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashIdentity, LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { forgetEndedPages } from '../../src/store/ended-pages.ts'
import { findReceipt, listReceipts } from '../../src/store/history/receipts.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { rejecting } from '../support/deliveries.ts'
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
} from '../support/scripted-source.ts'
import { newId, type SeededSync } from '../support/store-seed.ts'

describe.each(DATABASE_KINDS)('receipts on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: true })
    harness = createEngineHarness({ database: database(), source, destination })
    await harness.startEngine()
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const put = (...ids: readonly string[]) => {
    for (const [rank, id] of ids.entries()) {
      source.put(scriptedRow(id, rank))
    }
  }
  const receiptsOf = (sync: SeededSync, record: string, workspaceId = sync.workspaceId) =>
    listReceipts(database(), workspaceId, {
      ...{ syncId: sync.syncId, identityHash: hashIdentity(sha256, sync.syncId, record) },
    })
  /** The keys with which the destination was sent writes of a record, oldest first. */
  const keysOf = (id: string) =>
    destination.applied
      .filter(({ record }) => (record as { email: string }).email === `${id}@example.com`)
      .map(({ key }) => key)

  it('of a record say what the destination was sent, page after page', async () => {
    put('a', 'b', 'c', 'd', 'e')
    const sync = await harness.seedSync({ pageSize: 2 })
    await harness.run(sync)
    for (const [id, position] of Object.entries({ a: 0, b: 1, c: 0, d: 1, e: 0 })) {
      const [key] = keysOf(id)
      const receipts = await receiptsOf(sync, id)
      expect(receipts).toMatchObject([{ key, syncId: sync.syncId, position, isTold: false }])
      expect(await findReceipt(database(), sync.workspaceId, key ?? '')).toEqual(receipts[0])
    }
    expect(await receiptsOf(sync, 'f')).toEqual([])
  })

  it('of a page that is open say what was written, and not what was rejected', async () => {
    put('a', 'b', 'c')
    destination.decide(rejecting(({ email }) => email === 'b@example.com'))
    const sync = await harness.seedSync({ pageSize: 3, objectOptions: { path: 'PAGE' } })
    expect(await harness.run(sync)).toMatchObject({ status: 'partial' })
    expect(await receiptsOf(sync, 'a')).toMatchObject([{ key: keysOf('a')[0] }])
    expect(await receiptsOf(sync, 'b')).toEqual([])
    expect(await receiptsOf(sync, 'c')).toMatchObject([{ key: keysOf('c')[0], position: 2 }])
  })

  it('of two records that stood at one place one after the other are told apart', async () => {
    put('a', 'b')
    const sync = await harness.seedSync({ pageSize: 2 })
    await harness.run(sync)
    await createPerson(database(), harness, sync).reset()
    source.rows.clear()
    put('b', 'c')
    await harness.run(sync)
    expect(await receiptsOf(sync, 'a')).toMatchObject([{ key: keysOf('a')[0], position: 0 }])
    expect(await receiptsOf(sync, 'b')).toMatchObject([
      { key: keysOf('b')[1], position: 0 },
      { key: keysOf('b')[0], position: 1 },
    ])
    expect(await receiptsOf(sync, 'c')).toMatchObject([{ key: keysOf('c')[0], position: 1 }])
  })

  it('of a record that is brought back long after its page has ended are there', async () => {
    put('a', 'b')
    destination.decide(rejecting(({ email }) => email === 'b@example.com'))
    const sync = await harness.seedSync({
      ...{ pageSize: 2, objectOptions: { path: 'PAGE' }, onRejected: 'QUARANTINE' },
    })
    for (let runs = 0; runs < 3; runs += 1) {
      await harness.run(sync)
    }
    await database().rows(sql`
      update ended_page set ended_at = now() - interval '30 days' where sync_id = ${sync.syncId}`)
    await forgetEndedPages(database(), LEDGER_RETENTION_MS)
    destination.always({ kind: 'apply' })
    const { runId } = await createPerson(database(), harness, sync).redrive()
    expect(await harness.waitForEnd(runId ?? '')).toMatchObject({ status: 'succeeded' })
    const [key = ''] = keysOf('b')
    expect(await findReceipt(database(), sync.workspaceId, key)).toMatchObject({ position: 1 })
    expect(await receiptsOf(sync, 'b')).toMatchObject([{ key }])
  })

  it('are not there for another workspace, nor for a key that was never completed', async () => {
    put('a')
    const sync = await harness.seedSync()
    await harness.run(sync)
    const [key = ''] = keysOf('a')
    const other = await harness.seedSync({ workspaceId: newId() })
    expect(await findReceipt(database(), other.workspaceId, key)).toBeNull()
    expect(await receiptsOf(sync, 'a', other.workspaceId)).toEqual([])
    expect(await findReceipt(database(), sync.workspaceId, 'ab'.repeat(32))).toBeNull()
    // Of a page of the sync, and not delivered.
    const unsent = key.slice(0, 40) + 'ab'.repeat(12)
    expect(await findReceipt(database(), sync.workspaceId, unsent)).toBeNull()
    expect(await findReceipt(database(), sync.workspaceId, key)).toMatchObject({ key })
  })

  it('are forgotten with the keys of their time, and not before', async () => {
    put('a', 'b')
    const sync = await harness.seedSync({ pageSize: 1 })
    await harness.run(sync)
    const age = (days: number) =>
      database().rows(sql`
        update ended_page set ended_at = now() - ${days}::int * interval '1 day'
        where sync_id = ${sync.syncId}`)
    await age(7)
    await forgetEndedPages(database(), LEDGER_RETENTION_MS)
    expect(await receiptsOf(sync, 'a')).toHaveLength(1)
    await age(9)
    expect(await forgetEndedPages(database(), LEDGER_RETENTION_MS)).toBeGreaterThanOrEqual(2)
    expect(await receiptsOf(sync, 'a')).toEqual([])
  })
})
