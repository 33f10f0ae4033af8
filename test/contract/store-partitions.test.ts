/** The ledger's partitions on both databases: there in time, gone in time, whatever cut the upkeep short. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { Database } from '../../src/store/database.ts'
import {
  countDaysAhead,
  dropExpiredPartitions,
  makePartitions,
  PARTITION_DAYS_AHEAD,
} from '../../src/store/partitions.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createSignal } from '../support/signal.ts'

/** Attaches a partition for a day that lies so many days back. */
async function attachPast(database: Database, daysBack: number): Promise<string> {
  const [row] = await database.rows<{ name: string; day: string }>(sql`
    select 'delivery_' || to_char(day, 'YYYYMMDD') as name, to_char(day, 'YYYY-MM-DD') as day
    from (select (now() at time zone 'UTC')::date - ${daysBack}::int as day) as past`)
  const { name, day } = row ?? { name: '', day: '' }
  await database.rows(sql`create table ${sql.identifier(name)} (like delivery including all)`)
  await database.rows(sql`alter table delivery attach partition ${sql.identifier(name)}
    for values from (${sql.raw(`'${day}'`)}) to (${sql.raw(`('${day}'::date + 1)`)})`)
  return name
}

describe.each(DATABASE_KINDS)('partitions of the ledger on %s', (kind) => {
  const database = useDatabase(kind)

  it('makes today and a week ahead once, and again what is missing', async () => {
    const made = await makePartitions(database())
    expect(made).toHaveLength(PARTITION_DAYS_AHEAD + 1)
    expect(await makePartitions(database())).toEqual([])
    expect(await countDaysAhead(database())).toBe(PARTITION_DAYS_AHEAD)
    const last = made.at(-1) ?? ''
    await database().rows(sql`drop table ${sql.identifier(last)}`)
    expect(await countDaysAhead(database())).toBe(PARTITION_DAYS_AHEAD - 1)
    expect(await makePartitions(database())).toEqual([last])
  })

  it('drops a partition only when none of its keys can count any more', async () => {
    await makePartitions(database())
    const kept = await attachPast(database(), 8)
    const expired = await attachPast(database(), 9)
    expect(await dropExpiredPartitions(database(), LEDGER_RETENTION_MS)).toEqual([expired])
    const rows = await database().rows(
      sql`select relname from pg_class where relname in (${kept}, ${expired})`,
    )
    expect(rows).toEqual([{ relname: kept }])
  })

  it('drops what was detached before a kill and is no partition any more, and no other table', async () => {
    await makePartitions(database())
    const orphan = await attachPast(database(), 12)
    await database().rows(sql`alter table delivery detach partition ${sql.identifier(orphan)}`)
    await database().rows(sql`create table delivery_of_somebody ()`)
    expect(await dropExpiredPartitions(database(), LEDGER_RETENTION_MS)).toEqual([orphan])
    const left = await database().rows(
      sql`select relname from pg_class where relname in (${orphan}, 'delivery_of_somebody')`,
    )
    expect(left).toEqual([{ relname: 'delivery_of_somebody' }])
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))('partitions of a ledger that is read', () => {
  const database = useDatabase('postgresql')

  it('are dropped by the next upkeep when a detaching was cut short behind a reader', async () => {
    const cut = await attachPast(database(), 20)
    const other = await attachPast(database(), 21)
    const [isReading, mayEnd] = [createSignal(), createSignal()]
    const reading = database().transaction('partitions.read', async (tx) => {
      await tx.rows(sql`set local idle_in_transaction_session_timeout = 0`)
      await tx.rows(sql`select count(*) from delivery`)
      isReading.reach()
      await mayEnd.reached
    })
    await isReading.reached
    const dropping = dropExpiredPartitions(database(), LEDGER_RETENTION_MS)
    const failed = expect(dropping).rejects.toThrow(/canceling statement/)
    while (!(await cancelDetaching(database()))) {
      // Each look is a round trip to the database.
    }
    await failed
    // The oldest is detached first; it is neither a partition nor free of its parent.
    expect(await pendingOf(database())).toEqual([other])
    mayEnd.reach()
    await reading
    expect(await dropExpiredPartitions(database(), LEDGER_RETENTION_MS)).toEqual([other, cut])
    expect(await pendingOf(database())).toEqual([])
  })
})

/** Cancels a detaching that waits for a reader. False: there is none yet. */
async function cancelDetaching(database: Database): Promise<boolean> {
  const canceled = await database.rows(sql`
    select pg_cancel_backend(pid)
    from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and query like '%dropExpiredPartitions detach%' and pid <> pg_backend_pid()`)
  return canceled.length > 0
}

async function pendingOf(database: Database): Promise<readonly string[]> {
  const rows = await database.rows<{ name: string }>(sql`
    select relname as name
    from pg_inherits
    join pg_class on pg_class.oid = inhrelid
    where inhparent = 'delivery'::regclass and inhdetachpending`)
  return rows.map(({ name }) => name)
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))(
  'partitions made by several processes',
  () => {
    const database = useDatabase('postgresql')

    it('lets one make each and fails none', async () => {
      const made = await Promise.all(Array.from({ length: 4 }, () => makePartitions(database())))
      expect(made.flat()).toHaveLength(PARTITION_DAYS_AHEAD + 1)
      expect(await countDaysAhead(database())).toBe(PARTITION_DAYS_AHEAD)
    })
  },
)
