/**
 * The ledger: what is in flight (intents) and what has been delivered.
 *
 * Invariants: nothing is sent whose intent was not stored under the current fence (I2); a key is completed
 * at most once, because completing deletes the intent that reserved it; a completed key of the
 * retention counts wherever its partition lies. Each function is one statement, so that no lock is ever
 * held across a round trip to a process that may have stopped. Digests and hashes come and go as
 * hexadecimal text, packed one behind the other where there are several.
 */
import { sql } from 'drizzle-orm'
import {
  DELIVERY_KEY_BYTES,
  type DeliveryClass,
  PAGE_DIGEST_BYTES,
  RECORD_DIGEST_BYTES,
} from '../domain/delivery.ts'
import type { DoubtCause } from '../domain/doubt.ts'
import type { Handle } from './database.ts'
import { ledgerDay, MissingPartitionError } from './partitions.ts'
import { supersedeOlder } from './superseding.ts'

/** The holder of a run, as far as the ledger cares. */
export interface LedgerHolder {
  readonly syncId: string
  readonly runId: string
  readonly epoch: number
}

/** A page as it is stored and the keys that it would send. */
export interface PageToOpen {
  readonly pageDigest: string
  readonly fromCursor: string
  readonly toCursor: string
  /** 16 bytes a position, packed. */
  readonly identities: string
}

/** Records to reserve; the packed columns in the order of `positions`. */
export interface Chunk {
  readonly intentId: string
  readonly connectionId: string
  readonly deliveryClass: DeliveryClass
  readonly positions: readonly number[]
  /** 12 bytes a record. */
  readonly recordDigests: string
  /** 16 bytes a record. */
  readonly destinationIdentities: string
  /** From reserving until the call can have no more effect: see `quietMsOf` of the engine. */
  readonly quietMs: number
  /** What an import that its call starts can be found by; null: the call is answered at once. */
  readonly importTag: string | null
  /** Where that import can be asked about; null: it starts none. */
  readonly importObject: string | null
  /** Where its writes can be asked for; null: nowhere. */
  readonly lookupObject: string | null
  /** Of records that were set aside and brought back; else their page is open and tells this. */
  readonly redriven?: RedrivenChunk | undefined
}

export interface RedrivenChunk {
  /** The ordinal of the page that they were set aside from. */
  readonly ordinal: number
  /** 16 bytes a record: its source identity. */
  readonly identities: string
}

export interface CompletedKey {
  readonly position: number
  readonly recordDigest: string
  readonly result: string | null
}

export interface OpenPageOptions {
  readonly holder: LedgerHolder
  readonly page: PageToOpen
  /** Reserved at once if no key of the page is completed; null: nothing is to be sent, or in several chunks. */
  readonly chunk: Chunk | null
  /** Older epochs' intents of this page are dropped with a reservation: the destination is idempotent and gets them again. */
  readonly resendsUnknown: boolean
  readonly retentionMs: number
}

export interface OpenedPage {
  /** The newest completed key of each position that has one. */
  readonly completed: readonly CompletedKey[]
  readonly isReserved: boolean
}

type ReservedRow = {
  readonly isHeld: boolean
  readonly isReserved: boolean
  readonly hasPartition: boolean
}

type OpenedRow = ReservedRow & { readonly completed: string | null }

/**
 * Stores a page as open, reads its completed keys and, where there are none, reserves its records. Null:
 * the fence was raised; nothing was stored. Throws {@link MissingPartitionError}.
 */
export async function openPage(db: Handle, options: OpenPageOptions): Promise<OpenedPage | null> {
  const { holder, page, chunk, resendsUnknown, retentionMs } = options
  const digest = bytea(page.pageDigest)
  const [row] = await db.rows<OpenedRow>(sql`/* ledger.openPage */
    with fence as (${fenceOf(holder)}),
    stored as (
      insert into open_page (sync_id, page_digest, from_cursor, to_cursor, identities)
      select sync_id, ${digest}, ${page.fromCursor}, ${page.toCursor}, ${bytea(page.identities)}
      from fence
      on conflict (sync_id, page_digest) do update
      set identities = excluded.identities, to_cursor = excluded.to_cursor
      where length(excluded.identities) > length(open_page.identities)
        or excluded.to_cursor <> open_page.to_cursor
    ),
    completed as materialized (${completedKeys(page.pageDigest, retentionMs)}),
    today as (${ledgerDay()}),
    reserved as (${chunk ? insertChunk(holder, page.pageDigest, chunk) : sql`select 1 from fence where false`}),
    superseded as (
      delete from delivery_intent as intent
      using fence
      -- Only where another one names the same records from here on; else the checkpoint removes them.
      where ${resendsUnknown} and exists (select from reserved)
        and ${isSentAgain(holder, page.pageDigest)}
    )
    select exists (select from fence) as "isHeld", exists (select from reserved) as "isReserved",
           exists (select from today) as "hasPartition",
           (select jsonb_agg(jsonb_build_array(position, record_digest, result))
            from completed)::text as completed`)
  if (!row?.isHeld) {
    return null
  }
  if (chunk && !row.hasPartition) {
    throw new MissingPartitionError()
  }
  const completed = JSON.parse(row.completed ?? '[]') as [string, string, string | null][]
  return {
    isReserved: row.isReserved,
    completed: completed.map(([position, recordDigest, result]) => ({
      position: Number.parseInt(position, 16),
      recordDigest,
      result,
    })),
  }
}

/** `import_open`: another import into the connection may still be going on; nothing was reserved. */
export type Reserved = 'reserved' | 'fenced_off' | 'import_open'

/** Of a relation called `intent`: an earlier attempt left it, and the page is sent again under keys that repeat nothing. */
export function isSentAgain(holder: LedgerHolder, pageDigest: string) {
  return sql`(intent.sync_id = ${holder.syncId} and intent.page_digest = ${bytea(pageDigest)}
    and intent.epoch < ${holder.epoch} and intent.delivery_class = 'idempotent'
    and intent.import_tag is null and intent.redriven_ordinal is null)`
}

/** Reserves a chunk of a page that is stored. Throws {@link MissingPartitionError}. */
export async function reserve(
  db: Handle,
  options: {
    readonly holder: LedgerHolder
    readonly pageDigest: string
    readonly chunk: Chunk
  },
): Promise<Reserved> {
  const { holder, pageDigest, chunk } = options
  const [row] = await db.rows<ReservedRow>(sql`/* ledger.reserve */
    with fence as (${fenceOf(holder)}),
    completed as (select 1 where false),
    today as (${ledgerDay()}),
    reserved as (${insertChunk(holder, pageDigest, chunk)})
    select exists (select from fence) as "isHeld", exists (select from reserved) as "isReserved",
           exists (select from today) as "hasPartition"`)
  if (!row?.isHeld) {
    return 'fenced_off'
  }
  if (!row.hasPartition) {
    throw new MissingPartitionError()
  }
  return row.isReserved ? 'reserved' : 'import_open'
}

/** One record that the destination has: its place in the chunk, from 0, and the destination's id for it. */
export interface WrittenRecord {
  readonly index: number
  readonly result: string | null
}

export interface RemainingPlaces {
  readonly intentId: string
  readonly indexes: readonly number[]
  /** The import that was started for them may still be going on. */
  readonly keepsImport: boolean
  /** Not given: their class decides what becomes of them; else they are for a person, and why. */
  readonly doubtCause?: DoubtCause
}

export interface CompleteOptions {
  readonly intentId: string
  /** The epoch that reserved it: also a holder that was taken over may record the answer it got. */
  readonly epoch: number
  readonly written: readonly WrittenRecord[]
  /** Places in the chunk whose outcome is unknown, and the intent that goes on naming them. */
  readonly remaining: RemainingPlaces | null
  /** Whether the sync has held records, which a later delivery of the same identity supersedes. */
  readonly hasHeldRecords: boolean
}

/** Records a chunk's outcomes and removes its intent. False: the intent is not there any more; nothing was recorded. */
export async function complete(db: Handle, options: CompleteOptions): Promise<boolean> {
  const { intentId, epoch, written, remaining } = options
  const results = JSON.stringify(written.map(({ index, result }) => [index, result]))
  const rows = await db.rows(sql`/* ledger.complete */
    with settled as materialized (
      delete from delivery_intent
      where id = ${intentId} and epoch = ${epoch}
      returning sync_id, epoch, run_id, connection_id, delivery_class, page_digest, positions,
                record_digests || ''::bytea as record_digests,
                destination_identities || ''::bytea as destination_identities, identities,
                redriven_ordinal, day, reserved_at, quiet_at, import_tag, import_object,
                import_job_id, is_import_open, lookup_object, doubt_cause
    ),
    reserved_record as (
      select settled.page_digest || int4send(place.position)
               || substring(settled.record_digests
                            from place.nth::int * ${RECORD_DIGEST_BYTES} - 11 for 12) as key,
             settled.day, place.nth::int - 1 as index
      from settled
      cross join lateral unnest(settled.positions) with ordinality as place (position, nth)
    ),
    answer as (
      select (item ->> 0)::int as index, item ->> 1 as result
      from jsonb_array_elements(${results}::text::jsonb) as item
    ),
    written as (
      insert into delivery (key, day, result)
      select reserved_record.key, reserved_record.day, answer.result
      from reserved_record
      join answer on answer.index = reserved_record.index
      on conflict (key, day) do update
      set completed_at = excluded.completed_at, result = excluded.result,
          is_told = excluded.is_told
    )
    ${remaining ? sql`, remaining as (${keepRemaining(remaining)})` : sql``}
    ${options.hasHeldRecords ? sql`, superseded as (${supersedeOlder()})` : sql``}
    select 1 from settled`)
  return rows.length > 0
}

/** Whether the holder's epoch is still the sync's. */
export async function isCurrent(db: Handle, holder: LedgerHolder): Promise<boolean> {
  const rows = await db.rows(sql`/* ledger.isCurrent */
    select 1
    from sync_fence
    where sync_id = ${holder.syncId} and epoch = ${holder.epoch}`)
  return rows.length > 0
}

/** The completed keys of a page, the newest of each position, as text in hexadecimal. */
export function completedKeys(pageDigest: string, retentionMs: number) {
  const low = bytea(pageDigest)
  const high = bytea(pageDigest + 'ff'.repeat(DELIVERY_KEY_BYTES - PAGE_DIGEST_BYTES + 1))
  const retention = sql`${retentionMs}::float8 * interval '1 millisecond'`
  return sql`
    select distinct on (substring(delivery.key from 17 for 4))
           encode(substring(delivery.key from 17 for 4), 'hex') as position,
           encode(substring(delivery.key from 21 for 12), 'hex') as record_digest,
           delivery.result
    from delivery
    where delivery.key >= ${low} and delivery.key < ${high}
      and delivery.completed_at > now() - ${retention}
    order by substring(delivery.key from 17 for 4), delivery.completed_at desc`
}

/** The sync's fence row, share-locked, if the epoch is still the holder's. */
export function fenceOf(holder: Pick<LedgerHolder, 'syncId' | 'epoch'>) {
  return sql`
    select sync_id
    from sync_fence
    where sync_id = ${holder.syncId} and epoch = ${holder.epoch}
    for share`
}

function insertChunk(holder: LedgerHolder, pageDigest: string, chunk: Chunk) {
  return sql`
    insert into delivery_intent (id, sync_id, epoch, run_id, connection_id, delivery_class,
                                 page_digest, positions, record_digests, destination_identities,
                                 identities, redriven_ordinal, day, quiet_at, import_tag,
                                 import_object, is_import_open, lookup_object)
    select ${chunk.intentId}::uuid, sync_id, ${holder.epoch}::bigint, ${holder.runId}::uuid,
           ${chunk.connectionId}::uuid, ${chunk.deliveryClass}, ${bytea(pageDigest)},
           ${`{${chunk.positions.join(',')}}`}::text::int[], ${bytea(chunk.recordDigests)},
           ${bytea(chunk.destinationIdentities)},
           decode(${chunk.redriven?.identities ?? null}::text, 'hex'),
           ${chunk.redriven?.ordinal ?? null}::bigint, today.day,
           now() + ${chunk.quietMs}::float8 * interval '1 millisecond', ${chunk.importTag}::uuid,
           ${chunk.importObject}::text, ${chunk.importTag !== null}, ${chunk.lookupObject}::text
    from fence
    cross join today
    where not exists (select from completed)
    on conflict (connection_id) where is_import_open do nothing
    returning 1`
}

/** Puts back an intent for the places that are still unknown, with the moments of the first one. */
function keepRemaining(remaining: RemainingPlaces) {
  const { keepsImport, doubtCause = null } = remaining
  return sql`
    insert into delivery_intent (id, sync_id, epoch, run_id, connection_id, delivery_class,
                                 page_digest, positions, record_digests, destination_identities,
                                 identities, redriven_ordinal, day, reserved_at, quiet_at,
                                 import_tag, import_object, import_job_id, is_import_open,
                                 lookup_object, doubt_cause)
    select ${remaining.intentId}::uuid, settled.sync_id, settled.epoch, settled.run_id,
           settled.connection_id,
           case when ${doubtCause !== null} then 'none' else settled.delivery_class end,
           settled.page_digest, kept.positions, kept.record_digests, kept.destination_identities, kept.identities, settled.redriven_ordinal, settled.day,
           settled.reserved_at, settled.quiet_at,
           case when ${keepsImport} then settled.import_tag end,
           case when ${keepsImport} then settled.import_object end,
           case when ${keepsImport} then settled.import_job_id end,
           settled.is_import_open and ${keepsImport}, settled.lookup_object,
           coalesce(${doubtCause}::text, settled.doubt_cause)
    from settled
    cross join lateral (
      select array_agg(settled.positions[index + 1] order by nth) as positions,
             string_agg(substring(settled.record_digests from index * 12 + 1 for 12), ''::bytea
                        order by nth) as record_digests,
             string_agg(substring(settled.destination_identities from index * 16 + 1 for 16),
                        ''::bytea order by nth) as destination_identities,
             string_agg(substring(settled.identities from index * 16 + 1 for 16), ''::bytea
                        order by nth) as identities
      from unnest(${`{${remaining.indexes.join(',')}}`}::text::int[]) with ordinality
        as unknown (index, nth)) as kept`
}

/** Bytes, given in hexadecimal and decoded in the statement: a parameter that every driver path takes. */
export function bytea(hex: string) {
  return sql`decode(${hex}, 'hex')`
}
