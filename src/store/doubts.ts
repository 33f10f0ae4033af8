/**
 * Settling deliveries in doubt for a person.
 *
 * Invariants: the caller has locked the sync, so no run of it starts or ends meanwhile; what is settled
 * leaves the intent in the statement that files it in the ledger; the worker that reserved the intent cannot
 * complete it any more once a part of it was settled, because the places it knows have moved.
 */
import { sql } from 'drizzle-orm'
import type { Doubt, SettledBefore, Settlement } from '../domain/doubt.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import type { Handle } from './database.ts'
import { supersedeOlder } from './superseding.ts'

/** For relations called `run` and `intent`: its attempt is still at work, so it is in flight and not in doubt. */
export const IS_IN_FLIGHT = sql.raw(
  `coalesce(run.status = 'running' and run.epoch = intent.epoch, false)`,
)

/**
 * When it may be settled, for relations called `attempt` and `intent`: its quiet time counts from its
 * reservation, and again from the end of its attempt, because a call may be tried several times.
 */
export const SETTLEABLE_AT = sql.raw(`greatest(
  intent.quiet_at,
  coalesce(attempt.finished_at + (intent.quiet_at - intent.reserved_at), intent.quiet_at))`)

export interface StoredDoubt extends Doubt {
  readonly syncId: string
  readonly runId: string
  /** 32 hexadecimal characters. */
  readonly pageDigest: string
  readonly settleableAt: Instant
}

type DoubtRow = Omit<StoredDoubt, 'settleableAt'> & { readonly settleableAtMs: number }

/** Null: the workspace has no such intent. */
export async function findDoubt(
  handle: Handle,
  workspaceId: string,
  intentId: string,
): Promise<StoredDoubt | null> {
  const [row] = await handle.rows<DoubtRow>(sql`/* doubts.findDoubt */
    select intent.sync_id as "syncId", intent.run_id as "runId",
           encode(intent.page_digest, 'hex') as "pageDigest", intent.positions,
           ${IS_IN_FLIGHT} as "isInFlight", ${SETTLEABLE_AT} <= now() as "isQuiet",
           ceil(extract(epoch from ${SETTLEABLE_AT}) * 1000)::float8 as "settleableAtMs"
    from delivery_intent as intent
    join sync on sync.id = intent.sync_id and sync.workspace_id = ${workspaceId}
    left join run on run.id = intent.run_id
    left join attempt on attempt.run_id = intent.run_id and attempt.epoch = intent.epoch
    where intent.id = ${intentId} and intent.delivery_class = 'none' and intent.import_tag is null`)
  if (!row) {
    return null
  }
  const { settleableAtMs, ...doubt } = row
  return { ...doubt, settleableAt: instantAt(settleableAtMs) }
}

/** What people settled of an intent before, as the audit trail tells. */
export async function listSettlements(
  handle: Handle,
  workspaceId: string,
  intentId: string,
): Promise<readonly (SettledBefore & { readonly syncId: string })[]> {
  const rows = await handle.rows<{
    positions: readonly number[]
    settlement: Settlement
    syncId: string
  }>(sql`/* doubts.listSettlements */
    select after -> 'positions' as positions, after ->> 'settlement' as settlement,
           after ->> 'syncId' as "syncId"
    from audit_entry
    where workspace_id = ${workspaceId} and subject_id = ${intentId} and subject_type = 'intent'
    order by id`)
  return rows
}

export interface SettleOptions {
  readonly syncId: string
  readonly intentId: string
  readonly settlement: Settlement
  /** Places in the intent, from 0: those to settle, and those that stay in doubt. */
  readonly indexes: readonly number[]
  readonly rest: readonly number[]
}

/** Takes places out of an intent and, where they were delivered, completes their keys. */
export async function settleDoubt(tx: Handle, options: SettleOptions): Promise<void> {
  const { syncId, intentId, settlement, indexes, rest } = options
  await tx.rows(sql`/* doubts.settleDoubt */
    with fence as (
      select sync_id
      from sync_fence
      where sync_id = ${syncId}
      for share
    ),
    settled as materialized (
      select intent.*
      from delivery_intent as intent
      join fence on fence.sync_id = intent.sync_id
      where intent.id = ${intentId}
      for update of intent
    ),
    answer as (
      select index
      from unnest(${pack(indexes)}::text::int[]) as index
    ),
    ${rest.length > 0 ? keepRest(rest) : dropIntent()}
    , ${settlement === 'delivered' ? completeKeys() : forgetKept()}
    select 1 from settled`)
}

function pack(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}

function dropIntent() {
  return sql`dropped as (
      delete from delivery_intent
      using settled
      where delivery_intent.id = settled.id
    )`
}

/** Epoch 0 is nobody's: only who names the intent's epoch may complete it. */
function keepRest(rest: readonly number[]) {
  return sql`kept as (
      select array_agg(settled.positions[index + 1] order by nth) as positions,
             string_agg(substring(settled.record_digests from index * 12 + 1 for 12), ''::bytea
                        order by nth) as record_digests,
             string_agg(substring(settled.destination_identities from index * 16 + 1 for 16),
                        ''::bytea order by nth) as destination_identities,
             string_agg(substring(settled.identities from index * 16 + 1 for 16), ''::bytea
                        order by nth) as identities
      from settled
      cross join unnest(${pack(rest)}::text::int[]) with ordinality as place (index, nth)
    ),
    shrunk as (
      update delivery_intent
      set epoch = 0, positions = kept.positions, record_digests = kept.record_digests,
          destination_identities = kept.destination_identities, identities = kept.identities
      from settled, kept
      where delivery_intent.id = settled.id
    )`
}

/**
 * Files the keys in the ledger and in their open page, which outlives the ledger's retention. After a reset
 * the page may have been read anew with other records in their places: then there is nothing to file,
 * because a record that stands elsewhere has another key. What was set aside and brought back is over with it.
 */
function completeKeys() {
  return sql`place as (
      select settled.sync_id, settled.page_digest, chosen.position, chosen.record_digest
      from settled
      cross join answer
      cross join lateral (
        select settled.positions[answer.index + 1] as position,
               substring(settled.record_digests from answer.index * 12 + 1 for 12) as record_digest,
               substring(settled.identities from answer.index * 16 + 1 for 16) as identity
      ) as chosen
      left join open_page as page
        on page.sync_id = settled.sync_id and page.page_digest = settled.page_digest
      where page.page_digest is null or chosen.identity is null
         or chosen.identity = substring(page.identities from chosen.position * 16 + 1 for 16)
    ),
    delivered as (
      insert into delivery (key, day, result, is_told)
      select page_digest || int4send(position) || record_digest, (now() at time zone 'UTC')::date,
             null, true
      from place
      on conflict (key, day) do update
      set completed_at = excluded.completed_at, result = excluded.result
    ),
    remembered as (
      update open_page
      set completed = (
        select string_agg(
          coalesce(
            place.record_digest,
            nullif(substring(open_page.completed from spot.position * 12 + 1 for 12), ''::bytea),
            ${NO_DIGEST}),
          ''::bytea order by spot.position)
        from generate_series(0, length(open_page.identities) / 16 - 1) as spot (position)
        left join place on place.position = spot.position)
      from settled
      where open_page.sync_id = settled.sync_id and open_page.page_digest = settled.page_digest
    ),
    redriven as (
      update held_record
      set state = 'delivered', sealed_payload = null, ended_at = now()
      from settled
      cross join answer
      where held_record.sync_id = settled.sync_id
        and held_record.page_digest = settled.page_digest
        and held_record.ordinal = settled.redriven_ordinal
        and held_record.position = settled.positions[answer.index + 1]
        and held_record.state = 'redriving' and not held_record.is_superseded
    ),
    superseded as (${supersedeOlder()})`
}

/**
 * What an earlier version of the record has left in its place does not stand for it: a page that delivery has passed
 * would take it for delivered, and not send it again.
 */
function forgetKept() {
  return sql`forgotten as (
      update open_page
      set completed = (
        select string_agg(
          case when spot.position in (select settled.positions[answer.index + 1]
                                      from settled cross join answer)
               then ${NO_DIGEST}
               else coalesce(
                 nullif(substring(open_page.completed from spot.position * 12 + 1 for 12), ''::bytea),
                 ${NO_DIGEST}) end,
          ''::bytea order by spot.position)
        from generate_series(0, length(open_page.identities) / 16 - 1) as spot (position))
      from settled
      where open_page.sync_id = settled.sync_id and open_page.page_digest = settled.page_digest
        and open_page.completed is not null
    )`
}

/** What an open page has for a position without a completed key. */
const NO_DIGEST = sql.raw(`decode('000000000000000000000000', 'hex')`)
