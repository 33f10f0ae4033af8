/** The ledger on both databases: a stale fence stores nothing (I2), a key is completed once and counts for its time. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type DeliveryClass, LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { Database } from '../../src/store/database.ts'
import { type Chunk, complete, openPage, reserve } from '../../src/store/ledger.ts'
import { listLeftIntents } from '../../src/store/left-intents.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  digestOf,
  identityOf,
  keyOf,
  newId,
  type SeededPage,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
  takeOver,
} from '../support/store-seed.ts'

const HOUR_MS = 3_600_000

function open(
  database: Database,
  holder: RunHolder,
  seeded: SeededPage,
  given: { chunk?: Chunk | null; resendsUnknown?: boolean; retentionMs?: number } = {},
) {
  return openPage(database, {
    holder,
    page: seeded.page,
    chunk: given.chunk ?? null,
    resendsUnknown: given.resendsUnknown ?? true,
    retentionMs: given.retentionMs ?? LEDGER_RETENTION_MS,
  })
}

function writtenAll(chunk: Chunk) {
  return chunk.positions.map((position, index) => ({ index, result: `remote-${position}` }))
}

function completeAll(database: Database, holder: RunHolder, chunk: Chunk) {
  return complete(database, {
    intentId: chunk.intentId,
    epoch: holder.epoch,
    written: writtenAll(chunk),
    remaining: null,
    hasHeldRecords: false,
  })
}

async function countIntents(database: Database, syncId: string): Promise<number> {
  const [row] = await database.rows<{ n: number }>(
    sql`select count(*)::int as n from delivery_intent where sync_id = ${syncId}`,
  )
  return row?.n ?? -1
}

describe.each(DATABASE_KINDS)('the ledger on %s', (kind) => {
  const database = useDatabase(kind)

  it('reserves a fresh page with the statement that stores it', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const opened = await open(database(), holder, seeded, { chunk: seedChunk(sync, seeded) })
    expect(opened).toEqual({ isReserved: true, completed: [] })
    expect(await countIntents(database(), sync.syncId)).toBe(1)
  })

  it('gives back the completed keys of a page with their results, and then reserves nothing', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    expect(await completeAll(database(), holder, chunk)).toBe(true)
    expect(await countIntents(database(), sync.syncId)).toBe(0)

    const again = await open(database(), holder, seeded, { chunk: seedChunk(sync, seeded) })
    expect(again?.isReserved).toBe(false)
    expect(again?.completed).toEqual(
      [0, 1, 2].map((position) => ({
        position,
        recordDigest: digestOf(seeded, position),
        result: `remote-${position}`,
      })),
    )
    const rows = await database().rows<{ key: string }>(
      sql`select encode(key, 'hex') as key from delivery
          where substring(key from 1 for 16) = decode(${seeded.page.pageDigest}, 'hex')
          order by key`,
    )
    expect(rows.map((row) => row.key)).toEqual([0, 1, 2].map((position) => keyOf(seeded, position)))
  })

  it('completes an intent once: the second time nothing is recorded', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    expect(await completeAll(database(), holder, chunk)).toBe(true)
    expect(await completeAll(database(), holder, chunk)).toBe(false)
  })

  it('keeps an intent for the places that are still unknown, and drops the rejected ones', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z', 'w'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    const remainingId = newId()
    await complete(database(), {
      intentId: chunk.intentId,
      epoch: holder.epoch,
      written: [{ index: 0, result: null }],
      remaining: { intentId: remainingId, indexes: [1, 3], keepsImport: false },
      hasHeldRecords: false,
    })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const left = await listLeftIntents(database(), next)
    expect(left).toHaveLength(1)
    expect(left[0]?.id).toBe(remainingId)
    expect(left[0]?.positions).toEqual([1, 3])
    expect(left[0]?.destinationIdentities).toBe(identityOf(seeded, 1) + identityOf(seeded, 3))
  })

  it('counts only the newest completed key of a position: A, B and A again are three writes', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const newest: (string | undefined)[] = []
    for (const value of ['A', 'B', 'A']) {
      const seeded = seedPage(sync, { from: 'a', to: 'b', values: [value] })
      const opened = await open(database(), holder, seeded)
      newest.push(opened?.completed[0]?.recordDigest)
      const chunk = seedChunk(sync, seeded)
      const reservation = { holder, pageDigest: seeded.page.pageDigest, chunk }
      expect(await reserve(database(), reservation)).toBe('reserved')
      expect(await completeAll(database(), holder, chunk)).toBe(true)
      // Completed keys are told apart by the millisecond of their completion.
      await database().rows(sql`select pg_sleep(0.005)`)
    }
    const digest = (value: string) =>
      digestOf(seedPage(sync, { from: 'a', to: 'b', values: [value] }), 0)
    expect(newest).toEqual([undefined, digest('A'), digest('B')])
    const last = await open(
      database(),
      holder,
      seedPage(sync, { from: 'a', to: 'b', values: ['A'] }),
    )
    expect(last?.completed[0]?.recordDigest).toBe(digest('A'))
  })

  it('forgets a key after the retention, whatever partition still exists', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    await completeAll(database(), holder, chunk)
    await database().rows(sql`update delivery set completed_at = now() - interval '2 hours'
      where key = decode(${keyOf(seeded, 0)}, 'hex')`)
    const opened = await open(database(), holder, seeded, { retentionMs: HOUR_MS })
    expect(opened?.completed.map((key) => key.position)).toEqual([1])
  })

  it('refuses an older epoch: neither a page nor an intent is stored', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await takeOver(database(), holder, sync.workspaceId)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = seedChunk(sync, seeded)
    expect(await open(database(), holder, seeded, { chunk })).toBeNull()
    const reservation = { holder, pageDigest: seeded.page.pageDigest, chunk }
    expect(await reserve(database(), reservation)).toBe('fenced_off')
    const [pages] = await database().rows<{ n: number }>(
      sql`select count(*)::int as n from open_page where sync_id = ${sync.syncId}`,
    )
    expect(pages?.n).toBe(0)
    expect(await countIntents(database(), sync.syncId)).toBe(0)
  })

  it('lets a holder that was taken over record the answer that it got', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await completeAll(database(), holder, chunk)).toBe(true)
    const opened = await open(database(), next, seeded)
    expect(opened?.completed).toHaveLength(1)
  })

  it('drops older intents of a page that is sent again, so that only one of the two completes', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = seedChunk(sync, seeded)
    await open(database(), holder, seeded, { chunk })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const again = seedChunk(sync, seeded)
    expect((await open(database(), next, seeded, { chunk: again }))?.isReserved).toBe(true)
    expect(await completeAll(database(), holder, chunk)).toBe(false)
    expect(await completeAll(database(), next, again)).toBe(true)
  })

  it('keeps older intents of a page where sending again would write twice', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = { ...seedChunk(sync, seeded), deliveryClass: 'none' as const }
    await open(database(), holder, seeded, { chunk })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    await open(database(), next, seeded, { resendsUnknown: false })
    const left = await listLeftIntents(database(), next)
    expect(left.map((intent) => intent.positions)).toEqual([[0]])
    expect(left[0]?.pageIdentities).toBe(seeded.page.identities)
  })

  it('tells what an earlier attempt left in flight: its class, its page, what it would have written, until when', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const first = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const second = seedPage(sync, { from: 'b', to: 'c', values: ['z'] })
    const none = { ...seedChunk(sync, first, [1]), deliveryClass: 'none' as const, quietMs: 60_000 }
    const idempotent = { ...seedChunk(sync, second), quietMs: 0 }
    await open(database(), holder, first, { chunk: none })
    await open(database(), holder, second, { chunk: idempotent })
    expect(await listLeftIntents(database(), holder)).toEqual([])
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const left = await listLeftIntents(database(), next)
    expect(left).toMatchObject([
      {
        id: none.intentId,
        epoch: holder.epoch,
        deliveryClass: 'none',
        pageDigest: first.page.pageDigest,
        positions: [1],
        recordDigests: digestOf(first, 1),
        destinationIdentities: identityOf(first, 1),
        pageIdentities: first.page.identities,
        identities: null,
      },
      {
        id: idempotent.intentId,
        deliveryClass: 'idempotent',
        pageDigest: second.page.pageDigest,
        recordDigests: digestOf(second, 0),
        quietInMs: 0,
      },
    ])
    const [older, newer] = left
    expect(older?.pageOrdinal).toBeLessThan(newer?.pageOrdinal ?? 0)
    expect(older?.quietInMs).toBeGreaterThan(30_000)
    expect(older?.quietInMs).toBeLessThanOrEqual(60_000)
  })

  it('tells of intents whose page is gone: of those in doubt always, of the others until their quiet time', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    const chunkOf = (position: number, deliveryClass: DeliveryClass, quietMs: number) => ({
      ...seedChunk(sync, seeded, [position]),
      deliveryClass,
      quietMs,
    })
    const chunks = [
      chunkOf(0, 'none', 0),
      chunkOf(1, 'idempotent', 60_000),
      chunkOf(2, 'idempotent', 0),
    ]
    await open(database(), holder, seeded)
    for (const chunk of chunks) {
      await reserve(database(), { holder, pageDigest: seeded.page.pageDigest, chunk })
    }
    await database().rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const left = await listLeftIntents(database(), next)
    expect(left.map(({ id }) => id)).toEqual(chunks.slice(0, 2).map(({ intentId }) => intentId))
    const gone = { pageDigest: seeded.page.pageDigest, pageOrdinal: null, pageIdentities: null }
    expect(left).toMatchObject([gone, gone])
  })

  it('drops older intents of a page only if they were reserved as idempotent, whatever is declared now', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const { pageDigest } = seeded.page
    const doubtful = { ...seedChunk(sync, seeded, [0]), deliveryClass: 'none' as const }
    await open(database(), holder, seeded)
    await reserve(database(), { holder, pageDigest, chunk: doubtful })
    await reserve(database(), { holder, pageDigest, chunk: seedChunk(sync, seeded, [1]) })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const listLeft = async () => (await listLeftIntents(database(), next)).map(({ id }) => id)
    // Until something else names the records, what is in flight must not be forgotten.
    await open(database(), next, seeded, { resendsUnknown: true })
    expect(await listLeft()).toHaveLength(2)
    await open(database(), next, seeded, { resendsUnknown: true, chunk: seedChunk(sync, seeded) })
    expect(await listLeft()).toEqual([doubtful.intentId])
  })

  it('keeps the class of an intent for what is still unknown of it', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const chunk = { ...seedChunk(sync, seeded), deliveryClass: 'none' as const }
    await open(database(), holder, seeded, { chunk })
    await complete(database(), {
      intentId: chunk.intentId,
      epoch: holder.epoch,
      written: [{ index: 0, result: null }],
      remaining: { intentId: newId(), indexes: [1], keepsImport: false },
      hasHeldRecords: false,
    })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { deliveryClass: 'none', positions: [1], recordDigests: digestOf(seeded, 1) },
    ])
  })

  it('remembers identities that are new in a page that is read again', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await open(database(), holder, seedPage(sync, { from: 'a', to: 'b', values: ['x'] }))
    await open(database(), holder, seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] }))
    const [row] = await database().rows<{ bytes: number }>(
      sql`select length(identities)::int as bytes from open_page where sync_id = ${sync.syncId}`,
    )
    expect(row?.bytes).toBe(32)
  })
})
