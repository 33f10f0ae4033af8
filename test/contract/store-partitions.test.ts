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
})

describe('partitions of the ledger made by several processes', () => {
  const database = useDatabase('postgresql')

  it('lets one make each and fails none', async () => {
    const made = await Promise.all(Array.from({ length: 4 }, () => makePartitions(database())))
    expect(made.flat()).toHaveLength(PARTITION_DAYS_AHEAD + 1)
    expect(await countDaysAhead(database())).toBe(PARTITION_DAYS_AHEAD)
  })
})
