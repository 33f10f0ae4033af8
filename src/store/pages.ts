/**
 * Open pages and the checkpoint.
 *
 * Invariants: the checkpoint is one statement under the fence, so cursors, counters and the page change
 * together or not at all (I3); the saved cursor is never behind which a record without outcome lies; a page
 * counts once a run.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Counters } from '../domain/delivery.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { SyncStatus } from '../domain/sync.ts'
import { assert } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import { bytea, completedKeys, isSentAgain } from './ledger.ts'
import { endSentAgain } from './left-intents.ts'
import type { RunHolder } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'

/** Most open pages that a run goes through before it reads on. */
const MAX_OPEN_PAGES = 100_000

export type ListedPage = {
  readonly pageDigest: string
  /** It stands in this run's books. */
  readonly isCounted: boolean
}

/** The sync's open pages, oldest first. */
export async function listOpenPages(
  db: Handle,
  options: { readonly syncId: string; readonly runId: string },
): Promise<readonly ListedPage[]> {
  const pages = await db.rows<ListedPage>(sql`/* pages.listOpenPages */
    select encode(page_digest, 'hex') as "pageDigest",
           counted_run_id is not distinct from ${options.runId}::uuid as "isCounted"
    from open_page
    where sync_id = ${options.syncId}
    order by ordinal
    limit ${MAX_OPEN_PAGES + 1}`)
  assert(
    pages.length <= MAX_OPEN_PAGES,
    `Sync ${options.syncId} has more than ${MAX_OPEN_PAGES} open pages.`,
  )
  return pages
}

export type OpenPage = {
  readonly pageDigest: string
  readonly ordinal: number
  readonly fromCursor: string
  readonly toCursor: string
  /** 16 bytes a position, packed. */
  readonly identities: string
  /** 12 bytes a position, zeros for none; null: the page has not been kept at a checkpoint. */
  readonly completed: string | null
  readonly isPassed: boolean
}

export async function findOpenPage(
  db: Handle,
  syncId: string,
  pageDigest: string,
): Promise<OpenPage | null> {
  const [row] = await db.rows<OpenPage>(sql`/* pages.findOpenPage */
    select encode(page_digest, 'hex') as "pageDigest", ordinal, from_cursor as "fromCursor",
           to_cursor as "toCursor", encode(identities, 'hex') as identities,
           encode(completed, 'hex') as completed, is_passed as "isPassed"
    from open_page
    where sync_id = ${syncId} and page_digest = ${bytea(pageDigest)}`)
  return row ?? null
}

export type HeldRecord = {
  readonly position: number
  readonly isSuperseded: boolean
  /** It is not of the page any more, although that is open for others: nobody reads it here. */
  readonly isSetAside: boolean
  /** In how many runs it was rejected, not counting this one. */
  readonly runsBefore: number
}

/** The records of an open page that earlier runs could not write. */
export function listHeldRecords(
  db: Handle,
  page: { readonly syncId: string; readonly pageDigest: string; readonly runId: string },
): Promise<readonly HeldRecord[]> {
  return db.rows<HeldRecord>(sql`/* pages.listHeldRecords */
    select held.position, held.is_superseded as "isSuperseded",
           held.ordinal is not null as "isSetAside",
           held.runs - (held.last_run_id = ${page.runId}::uuid)::int as "runsBefore"
    from held_record as held
    join open_page as page
      on page.sync_id = held.sync_id and page.page_digest = held.page_digest
    where held.sync_id = ${page.syncId} and held.page_digest = ${bytea(page.pageDigest)}
      -- What was set aside may be of an earlier page that began at the same cursor.
      and (held.ordinal is null or held.ordinal = page.ordinal)`)
}

/** Whether the sync has rejected records that a later delivery could overtake. */
export async function hasHeldRecords(db: Handle, syncId: string): Promise<boolean> {
  const [row] = await db.rows<{ isAny: boolean }>(sql`/* pages.hasHeldRecords */
    select exists (select from held_record
                   where sync_id = ${syncId} and ended_at is null) as "isAny"`)
  return row?.isAny ?? false
}

/** A record that stays in its page, with why. */
export interface RecordToHold {
  /** Of its entry in the list; an entry that it has already keeps its own. */
  readonly id: string
  readonly position: number
  readonly identityHash: string
  readonly destinationIdentityHash: string
  readonly reason: string
  /** A later record of its identity has been delivered: it is remembered so that it is never sent. */
  readonly isSuperseded: boolean
  /** It was rejected in this run; false: it waits for another reason, which is not counted. */
  readonly isRejected: boolean
  /** What was in flight of it was not sent again: its request may still be under way, or have been applied. */
  readonly keepsIntent: boolean
}

/** A record that leaves its page for the list of those set aside. */
export interface RecordToSetAside extends RecordToHold {
  /** Sealed for its place; null: there is nothing that could be sent again. */
  readonly sealedPayload: string | null
}

export interface CheckpointOptions {
  readonly holder: RunHolder
  readonly pageDigest: string
  readonly toCursor: string
  /** Every record is written, replayed, skipped or quarantined: the page is closed. */
  readonly isClean: boolean
  /** `reached` moves to `toCursor`; false for a page that it passed before. */
  readonly advances: boolean
  readonly counters: Counters
  readonly firstSends: number
  readonly firstSendsRejected: number
  readonly held: readonly RecordToHold[]
  /** Positions of what was sent from the page without an answer, and does not stand in it any more. */
  readonly leftBehind: readonly number[]
  readonly setAside: readonly RecordToSetAside[]
  /** Positions that were held and are delivered now. What else is held stays so, with its marks, while the page is open. */
  readonly released: readonly number[]
  /** Keys that the destination has confirmed lately, packed; null: those that are kept stay. */
  readonly confirmedKeys: string | null
  readonly retentionMs: number
}

export interface Checkpoint {
  readonly progress: RunProgress
  /** What a person may have asked for meanwhile. */
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
}

export type CheckpointRow = ProgressRow & {
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
}

/** Moves past a page whose every record has its outcome. Null: the fence was raised; nothing has changed. */
export async function checkpoint(
  db: Handle,
  options: CheckpointOptions,
): Promise<Checkpoint | null> {
  const { holder, isClean, advances } = options
  const leftBehind = options.leftBehind.map((position) => ({ position }))
  // What may have been written is kept in mind, although nobody sends it again now.
  const waiting = options.held.filter((record) => record.keepsIntent)
  const digest = bytea(options.pageDigest)
  const isClosing = isClean ? sql`not ${isNamedByIntent(options)}` : sql`false`
  const [row] = await db.rows<CheckpointRow>(sql`/* pages.checkpoint */
    with fence as (
      update sync_fence
      set reached = case when ${advances} then ${options.toCursor} else reached end,
          saved_cursor = coalesce(
            (select front.from_cursor
             from open_page as front
             where front.sync_id = ${holder.syncId}
               and not (front.page_digest = ${digest} and ${isClosing})
             order by front.ordinal
             limit 1),
            case when ${advances} then ${options.toCursor} else reached end),
          confirmed_keys = coalesce(decode(${options.confirmedKeys}::text, 'hex'), confirmed_keys)
      where sync_id = ${holder.syncId} and epoch = ${holder.epoch}
      returning sync_id
    ),
    progressed as (${addToBooks(options)}),
    closed as (
      delete from open_page
      using fence
      where open_page.sync_id = fence.sync_id and open_page.page_digest = ${digest}
        and ${isClosing}
    ),
    ${keepPage(options, isClosing)},
    ${endSentAgain({
      which: isSentAgain(holder, options.pageDigest),
      isWaiting: sql`place.position = any (${pack(waiting)}::text::int[])`,
      isLeft: sql`place.position = any (${pack(leftBehind)}::text::int[])`,
      runId: holder.runId,
    })},
    resolved as (
      delete from held_record
      using fence
      where held_record.sync_id = fence.sync_id and held_record.page_digest = ${digest}
        and held_record.ordinal is null
        and held_record.position <> all (${pack(options.setAside)}::text::int[])
        and (${isClosing} or held_record.position = any (${`{${options.released.join(',')}}`}::text::int[]))
    )
    ${options.held.length > 0 ? sql`, held as (${hold(options)})` : sql``}
    ${options.setAside.length > 0 ? sql`, ${setAside(options)}` : sql``}
    select progressed.*, sync.status as "syncStatus"
    from progressed
    join sync on sync.id = progressed."syncId"`)
  return row ? toCheckpoint(row) : null
}

export function toCheckpoint(row: CheckpointRow): Checkpoint {
  const { syncStatus, isCancelRequested } = row
  return { progress: toProgress(row), syncStatus, isCancelRequested }
}

/** Adds to the run's books, as part of a statement that has the `fence`. */
export function addToBooks(options: {
  readonly holder: RunHolder
  readonly counters: Counters
  readonly firstSends: number
  readonly firstSendsRejected: number
}) {
  const { holder, counters, firstSends, firstSendsRejected } = options
  return sql`
      update run
      set "read" = run."read" + ${counters.read}, written = run.written + ${counters.written},
          replayed = run.replayed + ${counters.replayed},
          rejected = run.rejected + ${counters.rejected},
          in_doubt = run.in_doubt + ${counters.inDoubt},
          quarantined = run.quarantined + ${counters.quarantined},
          skipped = run.skipped + ${counters.skipped},
          first_sends = run.first_sends + ${firstSends},
          first_sends_rejected = run.first_sends_rejected + ${firstSendsRejected},
          event_n = run.event_n + 1, progress_at = now(), take_overs = 0,
          interruptions = 0
      from fence
      where run.id = ${holder.runId} and run.status = 'running'
        and run.worker_id = ${holder.workerId} and run.epoch = ${holder.epoch}
      returning ${PROGRESS_COLUMNS}, run.cancel_requested_at is not null as "isCancelRequested"`
}

/** Something of the page is in flight or in doubt: it stays open, whatever its records say. */
function isNamedByIntent({ holder, pageDigest }: CheckpointOptions) {
  return sql`exists (
    select from delivery_intent as intent
    where intent.sync_id = ${holder.syncId} and intent.page_digest = ${bytea(pageDigest)}
      and intent.redriven_ordinal is null and not ${isSentAgain(holder, pageDigest)})`
}

/** Keeps the page with its own completed keys, which it needs after the ledger has forgotten them. */
function keepPage(options: CheckpointOptions, isClosing: SQL) {
  const { holder, pageDigest, advances, retentionMs } = options
  return sql`completed as materialized (${completedKeys(pageDigest, retentionMs)}),
    kept as (
      update open_page
      set is_passed = open_page.is_passed or ${advances}, counted_run_id = ${holder.runId}::uuid,
          completed = (
            select string_agg(
              coalesce(
                decode(completed.record_digest, 'hex'),
                nullif(substring(open_page.completed from place * 12 + 1 for 12), ''::bytea),
                decode('000000000000000000000000', 'hex')),
              ''::bytea order by place)
            from generate_series(0, length(open_page.identities) / 16 - 1) as place
            left join completed on completed.position = encode(int4send(place), 'hex'))
      from fence
      where open_page.sync_id = fence.sync_id and open_page.page_digest = ${bytea(pageDigest)}
        and not ${isClosing}
    )`
}

/** Stores records that the destination has not taken, before their page's checkpoint. False: the fence was raised. */
export async function holdRecords(
  db: Handle,
  options: Pick<CheckpointOptions, 'holder' | 'pageDigest' | 'held'>,
): Promise<boolean> {
  const rows = await db.rows(sql`/* pages.holdRecords */
    with fence as (
      select sync_id
      from sync_fence
      where sync_id = ${options.holder.syncId} and epoch = ${options.holder.epoch}
      for share)
    ${hold(options)}
    returning 1`)
  return rows.length > 0
}

function hold(options: Pick<CheckpointOptions, 'holder' | 'pageDigest' | 'held'>) {
  const { holder, pageDigest, held } = options
  return sql`
    insert into held_record (id, sync_id, page_digest, position, identity_hash,
                             destination_identity_hash, reason, is_superseded, runs, first_run_id,
                             last_run_id)
    select record.id, fence.sync_id, ${bytea(pageDigest)}, record.position,
           decode(record."identityHash", 'hex'), decode(record."destinationIdentityHash", 'hex'),
           record.reason, record."isSuperseded", record."isRejected"::int, ${holder.runId}::uuid,
           ${holder.runId}::uuid
    from fence
    cross join jsonb_to_recordset(${JSON.stringify(held)}::text::jsonb)
      as record (id uuid, position int, "identityHash" text, "destinationIdentityHash" text,
                 reason text, "isSuperseded" boolean, "isRejected" boolean)
    on conflict (sync_id, page_digest, position, ordinal) do update
    set reason = excluded.reason,
        destination_identity_hash = ${lastName({
          identity: sql`excluded.identity_hash`,
          present: sql`excluded.destination_identity_hash`,
        })},
        is_superseded = held_record.is_superseded or excluded.is_superseded,
        runs = held_record.runs
                 + (held_record.last_run_id <> excluded.last_run_id)::int * excluded.runs,
        last_run_id = excluded.last_run_id, rejected_at = now()`
}

/**
 * The destination's name for a record of the list. Where it cannot be told any more, as the mapping rejects
 * the record, its source identity stands for it: then it is still known by the name that it had.
 */
export function lastName(name: { readonly identity: SQL; readonly present: SQL }): SQL {
  return sql`case when ${name.present} = ${name.identity}
                  then held_record.destination_identity_hash else ${name.present} end`
}

/**
 * The entry of a held record becomes one of a record set aside: the same row, so that a delivery that
 * overtakes it meanwhile waits for the row and marks it. One that was never held gets its entry here.
 */
function setAside(options: CheckpointOptions) {
  const { holder, pageDigest } = options
  return sql`set_aside as (
      select record.*, page.sync_id, page.page_digest, page.ordinal
      from fence
      join open_page as page
        on page.sync_id = fence.sync_id and page.page_digest = ${bytea(pageDigest)}
      cross join jsonb_to_recordset(${JSON.stringify(options.setAside)}::text::jsonb)
        as record (id uuid, position int, "identityHash" text, "destinationIdentityHash" text,
                   reason text, "sealedPayload" text)
    ),
    moved as (
      update held_record
      set state = 'quarantined', ordinal = set_aside.ordinal, set_aside_at = now(),
          destination_identity_hash = ${lastName({
            identity: sql`held_record.identity_hash`,
            present: sql`decode(set_aside."destinationIdentityHash", 'hex')`,
          })},
          reason = set_aside.reason, rejected_at = now(),
          sealed_payload = case when held_record.is_superseded then null
                                else set_aside."sealedPayload" end,
          runs = held_record.runs + (held_record.last_run_id <> ${holder.runId}::uuid)::int,
          last_run_id = ${holder.runId}::uuid
      from set_aside
      where held_record.sync_id = set_aside.sync_id
        and held_record.page_digest = set_aside.page_digest
        and held_record.position = set_aside.position and held_record.ordinal is null
      returning held_record.position
    ),
    entered as (
      insert into held_record (id, sync_id, page_digest, position, ordinal, state, identity_hash,
                               destination_identity_hash, reason, first_run_id, last_run_id,
                               sealed_payload, set_aside_at)
      select id, sync_id, page_digest, position, ordinal, 'quarantined',
             decode("identityHash", 'hex'), decode("destinationIdentityHash", 'hex'), reason,
             ${holder.runId}::uuid, ${holder.runId}::uuid, "sealedPayload", now()
      from set_aside
      where position not in (select position from moved)
    )`
}

function pack(records: readonly { readonly position: number }[]): string {
  return `{${records.map(({ position }) => position).join(',')}}`
}
