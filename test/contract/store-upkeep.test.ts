/**
 * The ledger's days: its upkeep behind somebody who reads it and does nothing more, and a reservation whose
 * answer comes after midnight, or on a day that has no partition.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { Database, Handle } from '../../src/store/database.ts'
import { type Chunk, complete, openPage, reserve } from '../../src/store/ledger.ts'
import {
  dropExpiredPartitions,
  MissingPartitionError,
  makePartitions,
} from '../../src/store/partitions.ts'
import { completeRun, type RunHolder } from '../../src/store/run-ends.ts'
import { findUnavailable } from '../../src/store/unavailable.ts'
import {
  createTestDatabase,
  DATABASE_KINDS,
  type TestDatabase,
  useDatabase,
} from '../support/databases.ts'
import { type HeldOpen, holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import {
  digestOf,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from '../support/store-seed.ts'

/** The partition of the day that lies so many days ahead. */
async function nameOfDay(database: Database, daysAhead: number): Promise<string> {
  const [row] = await database.rows<{ name: string }>(sql`
    select 'delivery_' || to_char((now() at time zone 'UTC')::date + ${daysAhead}::int, 'YYYYMMDD')
           as name`)
  return row?.name ?? ''
}

/** Attaches the partition of a day that has none. */
async function attachDay(database: Database, daysAhead: number): Promise<string> {
  const name = await nameOfDay(database, daysAhead)
  const day = `'${name.slice(-8)}'::date`
  await database.rows(sql.raw(`create table ${name} (like delivery including all)`))
  await database.rows(
    sql.raw(`do $$ begin execute format('alter table delivery attach partition ${name}
      for values from (%L) to (%L)', ${day}, ${day} + 1); end $$`),
  )
  return name
}

/** A page of one record, and who delivers it. */
interface Delivery {
  readonly sync: SeededSync
  readonly holder: RunHolder
  readonly page: SeededPage
  readonly chunk: Chunk
}

async function seedDelivery(database: Database): Promise<Delivery> {
  const sync = await seedSync(database)
  const { holder } = await seedClaimedRun(database, sync)
  const page = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
  return { sync, holder, page, chunk: seedChunk(sync, page) }
}

const REST = { resendsUnknown: true, retentionMs: LEDGER_RETENTION_MS }

function open(handle: Handle, { holder, page, chunk }: Delivery) {
  return openPage(handle, { holder, page: page.page, chunk, ...REST })
}

function completeIt(handle: Handle, { holder, chunk }: Delivery): Promise<boolean> {
  return complete(handle, {
    ...{ intentId: chunk.intentId, epoch: holder.epoch, hasHeldRecords: false, remaining: null },
    written: [{ index: 0, result: 'r1' }],
  })
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))('upkeep behind an idle reader', () => {
  let test: TestDatabase
  let database: Database
  let reader: HeldOpen

  let other: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    other = await test.open()
    await makePartitions(database)
    await attachDay(database, -20)
    reader = await idleReader()
  })
  afterAll(async () => {
    await reader.release()
    await test.drop()
  })

  const idleReader = async () =>
    await holdOpen(await test.open(), (tx) => tx.rows(sql`select count(*) from delivery`))

  /** Reserves and completes, and gives up whatever is not free at once. */
  async function deliverAtOnce(delivery: Delivery): Promise<boolean> {
    return await database.transaction('upkeep.deliver', async (tx) => {
      await tx.rows(sql`set local lock_timeout = '50ms'`)
      return (await open(tx, delivery))?.isReserved === true && (await completeIt(tx, delivery))
    })
  }
  /** How an upkeep ends that waits for the reader: it gives up, and is finished the next time. */
  const giveUp = (upkeep: Promise<unknown>) =>
    upkeep.then(
      () => 'done',
      (error: unknown) => findUnavailable(error)?.code ?? String(error),
    )

  it('makes the days ahead, and no insert waits for it', async () => {
    const delivery = await seedDelivery(database)
    const last = await nameOfDay(database, 7)
    await reader.release()
    await database.rows(sql.raw(`drop table ${last}`))
    reader = await idleReader()
    let made: readonly string[] = []
    const making = await holdOpen(other, async (tx) => {
      made = await makePartitions({ ...other, transaction: (_, work) => work(tx) })
    })
    expect(made).toEqual([last])
    expect(await deliverAtOnce(delivery)).toBe(true)
    await making.release()
    const attached = await database.rows(sql`
      select 1 from pg_inherits where inhrelid = to_regclass(${last})`)
    expect(attached).toHaveLength(1)
  })

  it('waits itself with a day that has expired, cut short or not, and no insert waits for it', async () => {
    const deliveries = [await seedDelivery(database), await seedDelivery(database)] as const
    const expired = await nameOfDay(database, -20)
    const detaching = giveUp(dropExpiredPartitions(database, LEDGER_RETENTION_MS))
    await waitUntilBlocked(database, 1, '%dropExpiredPartitions detach%')
    expect(await deliverAtOnce(deliveries[0])).toBe(true)
    expect(await detaching).toBe('55P03')
    const finishing = giveUp(dropExpiredPartitions(database, LEDGER_RETENTION_MS))
    await waitUntilBlocked(database, 1, '%partitions.%')
    expect(await deliverAtOnce(deliveries[1])).toBe(true)
    expect(await finishing).toBe('55P03')
    await reader.release()
    expect(await dropExpiredPartitions(database, LEDGER_RETENTION_MS)).toEqual([expired])
  })

  it.each([
    ['a direct drop', (name: string) => `drop table ${name}`, 5],
    [
      'a partition that is made where it lies',
      (name: string) => `create table ${name} partition of delivery
        for values from ('${name.slice(-8)}') to (date '${name.slice(-8)}' + 1)`,
      20,
    ],
  ])('by %s would make every insert wait (the control)', async (_, statementOf, daysAhead) => {
    const delivery = await seedDelivery(database)
    const idle = await idleReader()
    const name = await nameOfDay(database, daysAhead)
    const upkeep = giveUp(database.rows(sql.raw(`/* control */ ${statementOf(name)}`)))
    await waitUntilBlocked(database, 1, '%control%')
    expect(await giveUp(deliverAtOnce(delivery))).toBe('55P03')
    expect(await upkeep).toBe('55P03')
    await idle.release()
  })
})

describe.each(DATABASE_KINDS)('the day of a delivery on %s', (kind) => {
  const database = useDatabase(kind)

  const daysOf = async ({ page }: Delivery) =>
    await database().rows(sql`
      select (now() at time zone 'UTC')::date - day as "daysAgo", tableoid::regclass::text as name
      from delivery
      where key >= decode(${page.page.pageDigest}, 'hex')
        and key < decode(${`${page.page.pageDigest}ff`}, 'hex')`)

  it('is that of its reservation, also when it is completed after midnight', async () => {
    const yesterday = await attachDay(database(), -1)
    const delivery = await seedDelivery(database())
    const { sync, page } = delivery
    expect(await open(database(), delivery)).toMatchObject({ isReserved: true })
    // As if it had been reserved before the last midnight.
    await database().rows(sql`update delivery_intent set day = day - 1
      where id = ${delivery.chunk.intentId}`)
    expect(await completeIt(database(), delivery)).toBe(true)
    expect(await daysOf(delivery)).toEqual([{ daysAgo: 1, name: yesterday }])
    // The next run of the page finds it there.
    await completeRun(database(), delivery.holder, 'partial')
    const { holder } = await seedClaimedRun(database(), sync)
    expect(await open(database(), { ...delivery, holder })).toEqual({
      completed: [{ position: 0, recordDigest: digestOf(page, 0), result: 'r1' }],
      isReserved: false,
    })
  })

  it('that has no partition is refused before anything is reserved, and taken once it has one', async () => {
    const delivery = await seedDelivery(database())
    const { sync, holder, page, chunk } = delivery
    const today = await nameOfDay(database(), 0)
    await database().rows(sql.raw(`drop table ${today}`))
    const reserveAlone = () =>
      reserve(database(), { holder, pageDigest: page.page.pageDigest, chunk })
    await expect(open(database(), delivery)).rejects.toThrow(MissingPartitionError)
    await expect(reserveAlone()).rejects.toThrow(MissingPartitionError)
    const intents = sql`select 1 from delivery_intent where sync_id = ${sync.syncId}`
    expect(await database().rows(intents)).toEqual([])
    expect(await makePartitions(database())).toEqual([today])
    expect(await reserveAlone()).toBe('reserved')
  })
})
