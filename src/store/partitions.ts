/**
 * The ledger's partitions: one a UTC day, made ahead of time, dropped whole when no key of them counts.
 *
 * Invariant: nobody's insert waits for the upkeep. Hence `create table (like …)` and `attach` (which
 * take weak locks on the parent) and `detach … concurrently`, never `create … partition of` or a direct
 * drop, which queue every insert behind one idle reader.
 */
import { sql } from 'drizzle-orm'
import { WordedError } from '../runtime/worded-error.ts'
import type { Database, Handle } from './database.ts'

/** Days ahead, today not counted. */
export const PARTITION_DAYS_AHEAD = 7

type PartitionRow = { readonly name: string; readonly day: string }

/** Any constant: every process takes the same advisory lock while it makes partitions. */
const MAKING_LOCK_ID = 7_260_913

/** Makes the partitions of today and the days ahead that are missing; returns the names of those it made. One process at a time. */
export async function makePartitions(database: Database): Promise<readonly string[]> {
  return await database.transaction('partitions.makePartitions', async (tx) => {
    await tx.rows(sql`/* partitions.makePartitions */
      select pg_advisory_xact_lock(${MAKING_LOCK_ID})`)
    const missing = await tx.rows<PartitionRow>(sql`/* partitions.makePartitions missing */
      select 'delivery_' || to_char(day, 'YYYYMMDD') as name, to_char(day, 'YYYY-MM-DD') as day
      from generate_series((now() at time zone 'UTC')::date,
                           (now() at time zone 'UTC')::date + ${PARTITION_DAYS_AHEAD}::int,
                           interval '1 day') as day
      where not exists (
        select from pg_inherits
        join pg_class on pg_class.oid = pg_inherits.inhrelid
        where pg_inherits.inhparent = 'delivery'::regclass
          and pg_class.relname = 'delivery_' || to_char(day, 'YYYYMMDD'))
      order by day`)
    for (const partition of missing) {
      await makePartition(tx, partition)
    }
    return missing.map((partition) => partition.name)
  })
}

/** Names and days come from the statement above, never from outside. */
async function makePartition(tx: Handle, { name, day }: PartitionRow): Promise<void> {
  const table = sql.identifier(name)
  await tx.rows(sql`/* partitions.makePartition create */
    create table ${table} (like delivery including all)`)
  await tx.rows(sql`/* partitions.makePartition attach */
    alter table delivery attach partition ${table}
    for values from (${sql.raw(`'${day}'`)}) to (${sql.raw(`('${day}'::date + 1)`)})`)
}

/** Today has no partition: nothing could be filed, so nothing was reserved. */
export class MissingPartitionError extends WordedError {
  override readonly name = 'MissingPartitionError'

  constructor() {
    super('The ledger has no partition for today, so nothing was reserved or sent.')
  }
}

/** The day under which is filed what is reserved now, if its partition is there to take it. */
export function ledgerDay() {
  return sql`
    select day
    from (select (now() at time zone 'UTC')::date as day) as now_in_utc
    where exists (
      select from pg_inherits
      where inhrelid = to_regclass('delivery_' || to_char(day, 'YYYYMMDD'))
        and inhparent = 'delivery'::regclass and not inhdetachpending)`
}

/** Detaches and drops the partitions whose newest possible key is older than the retention and a day. */
export async function dropExpiredPartitions(
  db: Handle,
  retentionMs: number,
): Promise<readonly string[]> {
  await finishDetaching(db)
  const expired = await db.rows<PartitionRow>(sql`/* partitions.dropExpiredPartitions */
    select pg_class.relname as name, '' as day
    from pg_inherits
    join pg_class on pg_class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'delivery'::regclass
      and to_date(right(pg_class.relname, 8), 'YYYYMMDD')
        < (now() at time zone 'UTC' - ${retentionMs}::float8 * interval '1 millisecond')::date - 1
    order by 1`)
  for (const { name } of expired) {
    await db.rows(sql`/* partitions.dropExpiredPartitions detach */
      alter table delivery detach partition ${sql.identifier(name)} concurrently`)
  }
  return await dropDetached(db)
}

/** A detaching that was cut short (by a kill, or behind a long reader) blocks every later one until it is finished. */
async function finishDetaching(db: Handle): Promise<void> {
  const pending = await db.rows<{ name: string }>(sql`/* partitions.finishDetaching pending */
    select pg_class.relname as name
    from pg_inherits
    join pg_class on pg_class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'delivery'::regclass and pg_inherits.inhdetachpending`)
  for (const { name } of pending) {
    await db.rows(sql`/* partitions.finishDetaching */
      alter table delivery detach partition ${sql.identifier(name)} finalize`)
  }
}

/** Drops what was a partition, also where a kill came between detaching and dropping. Returns the names. */
async function dropDetached(db: Handle): Promise<readonly string[]> {
  const detached = await db.rows<{ name: string }>(sql`/* partitions.dropDetached detached */
    select relname as name
    from pg_class
    where relkind = 'r' and relname ~ '^delivery_[0-9]{8}$' and relnamespace = 'public'::regnamespace
      and not exists (select from pg_inherits where inhrelid = pg_class.oid)
    order by 1`)
  for (const { name } of detached) {
    await db.rows(sql`/* partitions.dropDetached */
      drop table ${sql.identifier(name)}`)
  }
  return detached.map((partition) => partition.name)
}

/** How many days from tomorrow on have their partition without a gap: health is red under 2. */
export async function countDaysAhead(db: Handle): Promise<number> {
  const [row] = await db.rows<{ days: number }>(sql`/* partitions.countDaysAhead */
    select count(*)::int as days
    from pg_inherits
    join pg_class on pg_class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'delivery'::regclass
      and to_date(right(pg_class.relname, 8), 'YYYYMMDD') > (now() at time zone 'UTC')::date`)
  return row?.days ?? 0
}
