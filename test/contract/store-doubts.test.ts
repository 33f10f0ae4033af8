/** On both databases: deliveries in doubt that people settle, and cursors that they reset (I3, I4, I13). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { failure } from '../../src/domain/failure.ts'
import { findReadSoFar, resetCursor } from '../../src/store/cursor-resets.ts'
import type { Database } from '../../src/store/database.ts'
import { findDoubt, settleDoubt } from '../../src/store/doubts.ts'
import { findResetFacts } from '../../src/store/history/cursor-resets.ts'
import { listDoubts } from '../../src/store/history/doubts.ts'
import { type Chunk, complete, openPage } from '../../src/store/ledger.ts'
import { listLeftIntents } from '../../src/store/left-intents.ts'
import { findOpenPage } from '../../src/store/pages.ts'
import { failRun, type RunHolder } from '../../src/store/run-ends.ts'
import { recoverRun } from '../../src/store/workers.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  digestOf,
  identityOf,
  keyOf,
  newId,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from '../support/store-seed.ts'

const NO_DIGEST = '0'.repeat(24)

interface Left {
  readonly sync: SeededSync
  readonly holder: RunHolder
  readonly seeded: SeededPage
  readonly chunk: Chunk
}

async function openWith(
  database: Database,
  given: { holder: RunHolder; seeded: SeededPage; chunk: Chunk | null },
) {
  const opened = await openPage(database, {
    holder: given.holder,
    page: given.seeded.page,
    chunk: given.chunk,
    resendsUnknown: false,
    retentionMs: LEDGER_RETENTION_MS,
  })
  expect(opened).not.toBeNull()
}

/** A sync whose run failed and left a call of three records that nobody answered. */
async function leaveDoubt(database: Database, given: Partial<Chunk> = {}): Promise<Left> {
  const sync = await seedSync(database)
  const { holder } = await seedClaimedRun(database, sync)
  const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
  const chunk: Chunk = { ...seedChunk(sync, seeded), deliveryClass: 'none', quietMs: 0, ...given }
  await openWith(database, { holder, seeded, chunk })
  await failRun(database, holder, failure('provider_unavailable'))
  return { sync, holder, seeded, chunk }
}

function settle(
  database: Database,
  left: Left,
  given: { as: 'delivered' | 'send_again'; indexes: number[]; rest: number[] },
) {
  const { as: settlement, indexes, rest } = given
  const options = {
    syncId: left.sync.syncId,
    intentId: left.chunk.intentId,
    settlement,
    indexes,
    rest,
  }
  return database.transaction('test', (tx) => settleDoubt(tx, options))
}

async function keysOf(database: Database, { seeded }: Left): Promise<unknown[]> {
  const rows = await database.rows(sql`
    select encode(key, 'hex') as key from delivery
    where substring(key from 1 for 16) = decode(${seeded.page.pageDigest}, 'hex') order by key`)
  return rows.map((row) => row['key'])
}

async function completedOf(database: Database, { sync, seeded }: Left): Promise<string[]> {
  const page = await findOpenPage(database, sync.syncId, seeded.page.pageDigest)
  return page?.completed?.match(/.{24}/g) ?? []
}

describe.each(DATABASE_KINDS)('deliveries in doubt on %s', (kind) => {
  const database = useDatabase(kind)

  it('are listed once their attempt is over, of their own workspace, page by page', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    const chunk = { ...seedChunk(sync, seeded), deliveryClass: 'none' as const }
    await openWith(database(), { holder, seeded, chunk })
    const list = (given: {
      workspaceId?: string
      runId?: string
      after?: number
      limit?: number
    }) =>
      listDoubts(database(), given.workspaceId ?? sync.workspaceId, {
        syncId: sync.syncId,
        runId: given.runId ?? null,
        after:
          given.after === undefined ? null : { intentId: chunk.intentId, position: given.after },
        limit: given.limit ?? 10,
      }).then((doubts) => doubts.map(({ position }) => position))
    expect(await list({})).toEqual([])
    await failRun(database(), holder, failure('provider_unavailable'))
    expect(await list({})).toEqual([0, 1, 2])
    expect(await list({ limit: 2 })).toEqual([0, 1])
    expect(await list({ after: 1 })).toEqual([2])
    expect(await list({ runId: holder.runId })).toEqual([0, 1, 2])
    expect(await list({ runId: newId() })).toEqual([])
    expect(await list({ workspaceId: newId() })).toEqual([])
    expect(await findDoubt(database(), newId(), chunk.intentId)).toBeNull()
  })

  it('are not what is sent again by itself', async () => {
    const { sync, chunk } = await leaveDoubt(database(), { deliveryClass: 'idempotent' })
    expect(await findDoubt(database(), sync.workspaceId, chunk.intentId)).toBeNull()
    const options = { syncId: sync.syncId, runId: null, after: null, limit: 10 }
    expect(await listDoubts(database(), sync.workspaceId, options)).toEqual([])
  })

  it('are in flight while their attempt runs, and quiet only after the time that a call may take, from its end', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = { ...seedChunk(sync, seeded), deliveryClass: 'none' as const, quietMs: 60_000 }
    await openWith(database(), { holder, seeded, chunk })
    const find = () => findDoubt(database(), sync.workspaceId, chunk.intentId)
    expect(await find()).toMatchObject({ isInFlight: true, isQuiet: false })
    // Reserved long ago, and tried again and again until its worker fell silent just now.
    await database().rows(sql`update delivery_intent
      set reserved_at = reserved_at - interval '1 hour', quiet_at = quiet_at - interval '1 hour'
      where id = ${chunk.intentId}`)
    await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })
    const doubt = await find()
    expect(doubt).toMatchObject({ isInFlight: false, isQuiet: false })
    const waitMs = (doubt?.settleableAt.getTime() ?? 0) - Date.now()
    expect(waitMs).toBeGreaterThan(30_000)
    expect(waitMs).toBeLessThanOrEqual(61_000)
    await database().rows(sql`update attempt set finished_at = now() - interval '61 seconds'
      where run_id = ${holder.runId}`)
    expect(await find()).toMatchObject({ isInFlight: false, isQuiet: true })
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where id = ${holder.runId}`)
  })

  it('that were delivered are completed, in the ledger and in their open page', async () => {
    const left = await leaveDoubt(database())
    await settle(database(), left, { as: 'delivered', indexes: [1], rest: [0, 2] })
    expect(await keysOf(database(), left)).toEqual([keyOf(left.seeded, 1)])
    const digest = digestOf(left.seeded, 1)
    expect(await completedOf(database(), left)).toEqual([NO_DIGEST, digest, NO_DIGEST])
    const doubt = await findDoubt(database(), left.sync.workspaceId, left.chunk.intentId)
    expect(doubt).toMatchObject({ positions: [0, 2], isInFlight: false, isQuiet: true })
    await settle(database(), left, { as: 'delivered', indexes: [0, 1], rest: [] })
    expect(await keysOf(database(), left)).toEqual([0, 1, 2].map((n) => keyOf(left.seeded, n)))
    expect(await findDoubt(database(), left.sync.workspaceId, left.chunk.intentId)).toBeNull()
  })

  it('that are to be sent again are in doubt no more, and nothing is completed', async () => {
    const left = await leaveDoubt(database())
    await settle(database(), left, { as: 'send_again', indexes: [0], rest: [1, 2] })
    expect(await keysOf(database(), left)).toEqual([])
    const { claimed, holder } = await seedClaimedRun(database(), left.sync)
    const [intent] = await listLeftIntents(database(), holder)
    expect(intent).toMatchObject({ positions: [1, 2], epoch: 0 })
    expect(intent?.destinationIdentities).toBe(
      identityOf(left.seeded, 1) + identityOf(left.seeded, 2),
    )
    expect(claimed.epoch).toBe(2)
    await failRun(database(), holder, failure('lease_lost'))
  })

  it('of which a part was settled cannot be completed by the worker that woke up', async () => {
    const left = await leaveDoubt(database())
    await settle(database(), left, { as: 'send_again', indexes: [0], rest: [1, 2] })
    const isRecorded = await complete(database(), {
      intentId: left.chunk.intentId,
      epoch: left.holder.epoch,
      written: [{ index: 0, result: null }],
      remaining: null,
      hasHeldRecords: false,
    })
    expect(isRecorded).toBe(false)
    expect(await keysOf(database(), left)).toEqual([])
  })
})

describe.each(DATABASE_KINDS)('a reset cursor on %s', (kind) => {
  const database = useDatabase(kind)
  const reset = ({ sync }: Left) =>
    database().transaction('test', (tx) => resetCursor(tx, sync.syncId))

  it('is at the beginning, without pages and held records, behind a raised fence', async () => {
    const left = await leaveDoubt(database(), { deliveryClass: 'idempotent' })
    const { sync, seeded, holder } = left
    const hash = identityOf(seeded, 0)
    await database().rows(sql`update sync_fence set reached = 'b', saved_cursor = 'a'
      where sync_id = ${sync.syncId}`)
    await database().rows(sql`
      insert into held_record (sync_id, page_digest, position, identity_hash,
                               destination_identity_hash, reason, first_run_id, last_run_id)
      values (${sync.syncId}, decode(${seeded.page.pageDigest}, 'hex'), 0, decode(${hash}, 'hex'),
              decode(${hash}, 'hex'), 'no', ${holder.runId}, ${holder.runId})`)
    const facts = { syncId: sync.syncId, retentionMs: LEDGER_RETENTION_MS }
    expect(await findResetFacts(database(), sync.workspaceId, facts)).toMatchObject({
      hasRead: true,
      openPages: 1,
      heldRecords: 1,
      inDoubt: 0,
      runInFlightId: null,
      versions: null,
    })
    expect(await findResetFacts(database(), newId(), facts)).toBeNull()
    expect(await reset(left)).toEqual({
      openPages: 1,
      heldRecords: 1,
      quarantinedRecords: 0,
    })
    expect(await findReadSoFar(database(), sync.syncId)).toEqual({ reached: null, openPages: 0 })
    const [row] = await database().rows(sql`
      select epoch, saved_cursor as saved,
             (select count(*)::int from held_record where sync_id = ${sync.syncId}) as held,
             (select count(*)::int from delivery_intent where sync_id = ${sync.syncId}) as intents
      from sync_fence where sync_id = ${sync.syncId}`)
    expect(row).toEqual({ epoch: holder.epoch + 1, saved: null, held: 0, intents: 0 })
  })

  it('lets no identity that is in doubt be forgotten, though its page is', async () => {
    const left = await leaveDoubt(database())
    await reset(left)
    await reset(left)
    const { holder } = await seedClaimedRun(database(), left.sync)
    const intents = await listLeftIntents(database(), holder)
    expect(intents).toMatchObject([
      { positions: [0, 1, 2], identities: left.seeded.page.identities, pageOrdinal: null },
    ])
    await failRun(database(), holder, failure('lease_lost'))
  })

  it.each([
    ['with the same records: what was delivered is completed there', [0, 1, 2], [1]],
    ['with another record in front: what stands elsewhere has no key there', [2, 0, 1], []],
  ])('after which the page came again %s', async (_, order, completed) => {
    const left = await leaveDoubt(database())
    const { sync, seeded } = left
    await reset(left)
    const { holder } = await seedClaimedRun(database(), sync)
    const identities = order.map((n) => identityOf(seeded, n)).join('')
    const again = { ...seeded, page: { ...seeded.page, identities } }
    await openWith(database(), { holder, seeded: again, chunk: null })
    await failRun(database(), holder, failure('lease_lost'))
    await settle(database(), left, { as: 'delivered', indexes: [1], rest: [0, 2] })
    const digests = [0, 1, 2].map((n) => (completed.includes(n) ? digestOf(seeded, n) : NO_DIGEST))
    expect(await completedOf(database(), left)).toEqual(digests)
    expect(await keysOf(database(), left)).toEqual(completed.map((n) => keyOf(seeded, n)))
    const next = await seedClaimedRun(database(), sync)
    const [intent] = await listLeftIntents(database(), next.holder)
    const rest = [0, 2].map((n) => identityOf(seeded, n)).join('')
    expect(intent).toMatchObject({ positions: [0, 2], identities: rest })
    await failRun(database(), next.holder, failure('lease_lost'))
  })

  it('tells what the ledger protects: since when, under which versions, and whether some is forgotten', async () => {
    const { sync, holder } = await leaveDoubt(database())
    const find = () =>
      findResetFacts(database(), sync.workspaceId, {
        syncId: sync.syncId,
        retentionMs: LEDGER_RETENTION_MS,
      })
    const startAgo = (interval: string, endAgo: string) =>
      database().rows(sql`update run
        set "read" = 1, written = 1, started_at = now() - ${interval}::interval,
            finished_at = now() - ${endAgo}::interval
        where id = ${holder.runId}`)
    await startAgo('2 days', '1 day')
    const recent = await find()
    expect(recent).toMatchObject({ hasExpired: false, versions: [sync.config], inDoubt: 3 })
    const day = 86_400_000
    expect(Math.abs((recent?.oldestCountingMs ?? 0) - (Date.now() - 2 * day))).toBeLessThan(60_000)
    await startAgo('9 days', '8 days')
    expect(await find()).toMatchObject({ hasExpired: true, versions: null, oldestCountingMs: null })
    await startAgo('9 days', '1 day')
    const both = await find()
    expect(both?.hasExpired).toBe(true)
    expect(Math.abs((both?.oldestCountingMs ?? 0) - (Date.now() - 7 * day))).toBeLessThan(60_000)
  })
})
