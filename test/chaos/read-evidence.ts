/** Reads by SQL what the database says of a sync, through a client of its own. */
import type postgres from 'postgres'
import type { Evidence, StoredAttempt, StoredIntent, StoredPage, StoredRun } from './evidence.ts'

export type StoredEvidence = Pick<
  Evidence,
  'ledgerKeys' | 'openPages' | 'held' | 'setAside' | 'intents' | 'fence' | 'runs' | 'attempts'
>

/** `effectKeys`: keys that the destination knows; with the open pages they name the sync's pages. */
export async function readStored(
  sql: postgres.Sql,
  syncId: string,
  effectKeys: Iterable<string>,
): Promise<StoredEvidence> {
  const openPages = await sql<StoredPage[]>`
    select encode(page_digest, 'hex') as "pageDigest", from_cursor as "fromCursor",
           to_cursor as "toCursor", is_passed as "isPassed"
    from open_page where sync_id = ${syncId} order by ordinal`
  const digests = new Set([...effectKeys].map((key) => key.slice(0, 32)))
  for (const page of openPages) {
    digests.add(page.pageDigest)
  }
  const [fence] = await sql<Evidence['fence'][]>`
    select epoch::int, reached, saved_cursor as "savedCursor"
    from sync_fence where sync_id = ${syncId}`
  const [setAside] = await sql<{ records: number }[]>`
    select count(*)::int as records from held_record
    where sync_id = ${syncId} and state in ('quarantined', 'redriving') and not is_superseded`
  return {
    openPages,
    ledgerKeys: await readLedgerKeys(sql, [...digests]),
    held: await sql<{ pageDigest: string; position: number }[]>`
      select encode(page_digest, 'hex') as "pageDigest", position
      from held_record where sync_id = ${syncId} and ordinal is null`,
    setAside: setAside?.records ?? 0,
    intents: await readIntents(sql, syncId),
    fence: fence ?? { epoch: 0, reached: null, savedCursor: null },
    runs: await sql<StoredRun[]>`
      select id, status, epoch::int, "read"::int, written::int, replayed::int, rejected::int,
             in_doubt::int as "inDoubt", quarantined::int, skipped::int
      from run where sync_id = ${syncId} order by id`,
    attempts: await sql<StoredAttempt[]>`
      select attempt.run_id as "runId", attempt.number, attempt.epoch::int,
             attempt.finished_at is not null as "isClosed"
      from attempt join run on run.id = attempt.run_id
      where run.sync_id = ${syncId} order by run.id, attempt.number`,
  }
}

async function readLedgerKeys(
  sql: postgres.Sql,
  pageDigests: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ key: string }[]>`
    select encode(delivery.key, 'hex') as key
    from unnest(${`{${pageDigests.join(',')}}`}::text::text[]) as page (digest)
    join delivery on delivery.key >= decode(page.digest, 'hex')
      and delivery.key < decode(page.digest || repeat('ff', 17), 'hex')`
  return new Set(rows.map(({ key }) => key))
}

export async function readWholeLedger(sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const rows = await sql<{ key: string }[]>`select encode(key, 'hex') as key from delivery`
  return new Set(rows.map(({ key }) => key))
}

async function readIntents(sql: postgres.Sql, syncId: string): Promise<readonly StoredIntent[]> {
  const rows = await sql<(Omit<StoredIntent, 'keys'> & { recordDigests: string })[]>`
    select encode(page_digest, 'hex') as "pageDigest", to_jsonb(positions) as positions, epoch::int,
           encode(record_digests, 'hex') as "recordDigests"
    from delivery_intent where sync_id = ${syncId}`
  return rows.map(({ recordDigests, ...intent }) => ({
    ...intent,
    keys: intent.positions.map((position, n) => {
      const place = position.toString(16).padStart(8, '0')
      return intent.pageDigest + place + recordDigests.slice(n * 24, n * 24 + 24)
    }),
  }))
}
