/**
 * Records that were set aside: brought back by people, sent again by runs, discarded, forgotten.
 *
 * Invariants: what was brought back leaves that state under the fence, in the statement that puts it into the
 * books of a run, and counts once a run (I8); a row is kept only while it can still be sent. Setting
 * aside itself is part of a page's checkpoint, in pages.ts.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Counters } from '../domain/delivery.ts'
import { MAX_PAGE_PAYLOAD_BYTES, type SetAsideRecord } from '../domain/quarantine.ts'
import type { Handle, Row } from './database.ts'
import { bytea, type CompletedKey, completedKeys, fenceOf } from './ledger.ts'
import { endSentAgain } from './left-intents.ts'
import { addToBooks, type Checkpoint, type CheckpointRow, lastName, toCheckpoint } from './pages.ts'
import type { RunHolder } from './run-ends.ts'

/** A record that was brought back. */
export type RedrivenRecord = {
  readonly id: string
  /** 32 hexadecimal characters, as the hashes. */
  readonly pageDigest: string
  /** The ordinal of the page that it was set aside from. */
  readonly ordinal: number
  readonly position: number
  readonly identityHash: string
  readonly destinationIdentityHash: string
  readonly sealedPayload: string | null
}

/** Most records that are brought back in one go. */
const MAX_REDRIVEN_AT_ONCE = 500

/**
 * The next records to send of those brought back and not in the run's books yet: of one page, the last one
 * first, so that of one identity the newest is sent and overtakes the others. A page that is open again
 * from the same cursor has other records at the same places: until it is closed these wait.
 */
export function listRedriven(db: Handle, holder: RunHolder): Promise<readonly RedrivenRecord[]> {
  const isDue = sql`held.sync_id = ${holder.syncId} and held.state = 'redriving'
        and not held.is_superseded and held.counted_run_id is distinct from ${holder.runId}::uuid`
  return db.rows<RedrivenRecord>(sql`/* quarantine.listRedriven */
    with last_page as (
      select held.ordinal
      from held_record as held
      where ${isDue}
        and not exists (
          select from open_page as page
          where page.sync_id = held.sync_id and page.page_digest = held.page_digest
            and page.ordinal <> held.ordinal)
      order by held.ordinal desc
      limit 1
    ),
    due as (
      select held.*,
             row_number() over last_first as nth,
             sum(octet_length(held.sealed_payload)) over last_first as size
      from held_record as held
      join last_page on last_page.ordinal = held.ordinal
      where ${isDue}
      window last_first as (order by held.position desc)
      order by held.position desc
      limit ${MAX_REDRIVEN_AT_ONCE}
    )
    select id, encode(page_digest, 'hex') as "pageDigest", ordinal, position,
           encode(identity_hash, 'hex') as "identityHash",
           encode(destination_identity_hash, 'hex') as "destinationIdentityHash",
           sealed_payload as "sealedPayload"
    from due
    where nth = 1 or size <= ${MAX_PAGE_PAYLOAD_BYTES}
    order by nth`)
}

/** The newest completed key of each position of a page, also of one that is closed. */
export async function listCompletedKeys(
  db: Handle,
  pageDigest: string,
  retentionMs: number,
): Promise<readonly CompletedKey[]> {
  const rows = await db.rows<{
    position: string
    record_digest: string
    result: string | null
  }>(sql`/* quarantine.listCompletedKeys */
    ${completedKeys(pageDigest, retentionMs)}`)
  return rows.map(({ position, record_digest: recordDigest, result }) => ({
    position: Number.parseInt(position, 16),
    recordDigest,
    result,
  }))
}

/** What became of one record in this run. */
export interface RedrivenOutcome {
  readonly id: string
  readonly position: number
  /** `redriving`: in doubt, overtaken by what is still on its way, or sent before and not to be sent now. */
  readonly state: 'delivered' | 'quarantined' | 'redriving'
  /** Why it was rejected; null: it was not. */
  readonly reason: string | null
  readonly destinationIdentityHash: string
}

export interface RedrivenCheckpointOptions {
  readonly holder: RunHolder
  readonly pageDigest: string
  readonly ordinal: number
  readonly counters: Counters
  readonly outcomes: readonly RedrivenOutcome[]
}

/** Puts the records into the run's books, and each where it belongs now. Null: the fence was raised; nothing has changed. */
export async function checkpointRedriven(
  db: Handle,
  options: RedrivenCheckpointOptions,
): Promise<Checkpoint | null> {
  const { holder, pageDigest, ordinal, counters, outcomes } = options
  const over = outcomes.filter(({ state }) => state !== 'redriving')
  const positions = `{${over.map(({ position }) => position).join(',')}}`
  const books = { holder, counters, firstSends: 0, firstSendsRejected: 0 }
  const [row] = await db.rows<CheckpointRow>(sql`/* quarantine.checkpointRedriven */
    with fence as (${fenceOf(holder)}),
    progressed as (${addToBooks(books)}),
    outcome as (
      select outcome.*
      from fence
      cross join jsonb_to_recordset(${JSON.stringify(outcomes)}::text::jsonb)
        as outcome (id uuid, state text, reason text, "destinationIdentityHash" text)
    ),
    settled as (
      update held_record
      set state = outcome.state, counted_run_id = ${holder.runId}::uuid,
          destination_identity_hash = ${lastName({
            identity: sql`held_record.identity_hash`,
            present: sql`decode(outcome."destinationIdentityHash", 'hex')`,
          })},
          reason = coalesce(outcome.reason, held_record.reason),
          runs = held_record.runs + (outcome.reason is not null)::int,
          last_run_id = case when outcome.reason is null then held_record.last_run_id
                             else ${holder.runId}::uuid end,
          rejected_at = case when outcome.reason is null then held_record.rejected_at
                             else now() end,
          sealed_payload = case when outcome.state = 'delivered' then null
                                else held_record.sealed_payload end,
          ended_at = case when outcome.state = 'delivered' then now() end
      from outcome
      where held_record.id = outcome.id and held_record.state = 'redriving'
        and not held_record.is_superseded
    ),
    ${endSentAgain({
      which: sql`intent.page_digest = ${bytea(pageDigest)}
        and intent.redriven_ordinal = ${ordinal} and intent.epoch < ${holder.epoch}
        and intent.delivery_class = 'idempotent' and intent.import_tag is null`,
      isWaiting: sql`place.position <> all (${positions}::text::int[])`,
      isLeft: sql`false`,
      runId: holder.runId,
    })}
    select progressed.*, sync.status as "syncStatus"
    from progressed
    join sync on sync.id = progressed."syncId"`)
  return row ? toCheckpoint(row) : null
}

/** How many records of the sync are set aside. */
export async function countSetAside(db: Handle, syncId: string): Promise<number> {
  const [row] = await db.rows<{ records: number }>(sql`/* quarantine.countSetAside */
    select count(*)::int as records
    from held_record
    where sync_id = ${syncId} and ordinal is not null and ended_at is null`)
  return row?.records ?? 0
}

/** A record of the list, as a command looks at it. */
export type ListedRecord = Row & SetAsideRecord & { readonly id: string }

/** Rejected records of a sync whose row the caller has locked. `ids`: null for all that are set aside. */
export function listRejectedRecords(
  tx: Handle,
  syncId: string,
  ids: readonly string[] | null,
): Promise<readonly ListedRecord[]> {
  return tx.rows<ListedRecord>(sql`/* quarantine.listRejectedRecords */
    select id, state, is_superseded as "isSuperseded", sealed_payload is not null as "hasPayload",
           exists (
             select from delivery_intent as intent
             where intent.sync_id = held.sync_id and intent.page_digest = held.page_digest
               and intent.redriven_ordinal = held.ordinal
               and held.position = any (intent.positions)) as "isUnanswered"
    from held_record as held
    where sync_id = ${syncId}
      and ${ids ? isAnyOf(ids) : sql`state in ('quarantined', 'redriving') and ended_at is null`}`)
}

/** quarantined → redriving: the sync's next run sends them. The caller has locked the sync and found no run in flight. */
export async function bringBack(tx: Handle, ids: readonly string[]): Promise<void> {
  await tx.rows(sql`/* quarantine.bringBack */
    update held_record
    set state = 'redriving', counted_run_id = null
    where ${isAnyOf(ids)} and state = 'quarantined' and not is_superseded
      and sealed_payload is not null`)
}

/** quarantined or redriving → discarded. The caller has locked the sync and found no run in flight. */
export async function discard(tx: Handle, ids: readonly string[]): Promise<void> {
  await tx.rows(sql`/* quarantine.discard */
    update held_record
    set state = 'discarded', sealed_payload = null, ended_at = now()
    where ${isAnyOf(ids)} and state in ('quarantined', 'redriving') and not is_superseded`)
}

/** Entries that one statement deletes: it must not run into its timeout. */
const ENTRIES_A_DELETE = 20_000

/**
 * Takes entries off the list whose records were delivered, discarded or superseded so long ago. While their page
 * is open they stay: it would send them again. Returns how many there were.
 */
export async function forgetEnded(db: Handle, afterMs: number): Promise<number> {
  let forgotten = 0
  let deleted: number
  do {
    const rows = await db.rows(sql`/* quarantine.forgetEnded */
      delete from held_record
      where id in (
        select held.id
        from held_record as held
        where held.ended_at < now() - ${afterMs}::float8 * interval '1 millisecond'
          and held.ordinal is not null
          and not exists (
            select from open_page as page
            where page.sync_id = held.sync_id and page.page_digest = held.page_digest
              and page.ordinal = held.ordinal)
        limit ${ENTRIES_A_DELETE})
      returning 1`)
    deleted = rows.length
    forgotten += deleted
  } while (deleted === ENTRIES_A_DELETE)
  return forgotten
}

function isAnyOf(ids: readonly string[]): SQL {
  return sql`id = any (${`{${ids.join(',')}}`}::text::uuid[])`
}
