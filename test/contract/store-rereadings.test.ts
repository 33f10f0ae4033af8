/** On both databases: what is noted while a source is read again, and which keys the notes take out of the ledger. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { resetCursor } from '../../src/store/cursor-resets.ts'
import type { Database } from '../../src/store/database.ts'
import { complete, type LedgerHolder, openPage } from '../../src/store/ledger.ts'
import {
  endRereading,
  forgetOvertaken,
  isRereading,
  noteRewritten,
} from '../../src/store/rereadings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  identityOf,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
  takeOver,
} from '../support/store-seed.ts'

async function open(database: Database, holder: LedgerHolder, seeded: SeededPage) {
  return await openPage(database, {
    holder,
    page: seeded.page,
    chunk: null,
    resendsUnknown: true,
    retentionMs: LEDGER_RETENTION_MS,
  })
}

/** The positions of the page that count as delivered. */
async function completedOf(database: Database, holder: LedgerHolder, seeded: SeededPage) {
  const opened = await open(database, holder, seeded)
  return opened?.completed.map(({ position }) => position).sort()
}

async function deliver(
  database: Database,
  sync: SeededSync,
  given: { readonly holder: LedgerHolder; readonly seeded: SeededPage },
): Promise<void> {
  const { holder, seeded } = given
  const chunk = seedChunk(sync, seeded)
  const { page } = seeded
  const shared = { resendsUnknown: true, retentionMs: LEDGER_RETENTION_MS }
  expect(await openPage(database, { holder, page, chunk, ...shared })).not.toBeNull()
  const isRecorded = await complete(database, {
    intentId: chunk.intentId,
    epoch: holder.epoch,
    written: seeded.values.map((_, index) => ({ index, result: null })),
    remaining: null,
    hasHeldRecords: false,
  })
  expect(isRecorded).toBe(true)
}

async function countNotes(database: Database, { syncId }: SeededSync): Promise<number> {
  const [row] = await database.rows<{ n: number }>(sql`
    select count(*)::int as n from rewritten_identity where sync_id = ${syncId}`)
  return row?.n ?? -1
}

/** As if all that is noted had been noted so much earlier or, below 0, later. */
async function noteEarlier(database: Database, { syncId }: SeededSync, seconds: number) {
  await database.rows(sql`update rewritten_identity
    set noted_at = noted_at - ${seconds}::float8 * interval '1 second'
    where sync_id = ${syncId}`)
}

describe.each(DATABASE_KINDS)('a source that is read again, on %s', (kind) => {
  const database = useDatabase(kind)

  async function seedDelivered() {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    await deliver(database(), sync, { holder, seeded })
    const { pageDigest } = seeded.page
    const records = seeded.values.map((_, position) => {
      return { position, destinationIdentityHash: identityOf(seeded, position) }
    })
    return { sync, holder, seeded, overtaken: { holder, pageDigest, records } }
  }

  it('loses the keys of noted identities that were completed before, and no others', async () => {
    const { sync, holder, seeded, overtaken } = await seedDelivered()
    const other = seedPage(sync, { from: 'b', to: 'c', values: ['v', 'w'] })
    await deliver(database(), sync, { holder, seeded: other })
    const names = [identityOf(seeded, 1), identityOf(seeded, 1)]
    expect(await noteRewritten(database(), holder, names)).toBe(true)
    expect(await countNotes(database(), sync)).toBe(1)
    await noteEarlier(database(), sync, 60)
    await forgetOvertaken(database(), overtaken)
    expect(await completedOf(database(), holder, seeded)).toEqual([0, 1, 2])
    await noteRewritten(database(), holder, names)
    await noteEarlier(database(), sync, -60)
    await forgetOvertaken(database(), overtaken)
    expect(await completedOf(database(), holder, seeded)).toEqual([0, 2])
    // The same identity on another page, which was not asked about.
    expect(await completedOf(database(), holder, other)).toEqual([0, 1])
  })

  it('begins with a reset, which drops the notes of the reading before, and ends with its end', async () => {
    const { sync, holder, seeded } = await seedDelivered()
    expect(await isRereading(database(), sync.syncId)).toBe(false)
    await noteRewritten(database(), holder, [identityOf(seeded, 0)])
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where id = ${holder.runId}`)
    await database().transaction('test.reset', (tx) => resetCursor(tx, sync.syncId))
    expect(await isRereading(database(), sync.syncId)).toBe(true)
    expect(await countNotes(database(), sync)).toBe(0)
    const { holder: next } = await seedClaimedRun(database(), sync)
    await noteRewritten(database(), next, [identityOf(seeded, 0), identityOf(seeded, 1)])
    await endRereading(database(), next)
    expect(await isRereading(database(), sync.syncId)).toBe(false)
    expect(await countNotes(database(), sync)).toBe(0)
  })

  it('changes nothing for an older epoch: neither notes nor keys (I2)', async () => {
    const { sync, holder, seeded, overtaken } = await seedDelivered()
    await noteRewritten(database(), holder, [identityOf(seeded, 0)])
    await noteEarlier(database(), sync, -60)
    await database().rows(sql`update sync_fence set is_rereading = true
      where sync_id = ${sync.syncId}`)
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await noteRewritten(database(), holder, [identityOf(seeded, 1)])).toBe(false)
    await forgetOvertaken(database(), overtaken)
    await endRereading(database(), holder)
    expect(await isRereading(database(), sync.syncId)).toBe(true)
    expect(await countNotes(database(), sync)).toBe(1)
    expect(await completedOf(database(), next, seeded)).toEqual([0, 1, 2])
  })
})
