/**
 * What earlier attempts left in flight, as the next one finds it.
 *
 * Invariant: it is read by a statement of its own, after the claim that raised the fence: that one's
 * snapshot would not hold what was reserved until then.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type DeliveryClass, IDENTITY_HASH_BYTES, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import { assert } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import { fenceOf, type LedgerHolder } from './ledger.ts'

/**
 * Gives what was left in flight the class by which it can be settled now: what was reserved for a
 * destination that repeats nothing cannot be sent again once it is declared to repeat, and what cannot be
 * asked about any more is for a person, with the cause.
 */
export async function alignLeftIntents(
  db: Handle,
  holder: LedgerHolder,
  now: { readonly deliveryClass: DeliveryClass; readonly hasImports: boolean },
): Promise<void> {
  const { deliveryClass, hasImports } = now
  const isLost = sql`(import_tag is not null and not ${hasImports})`
  const aligned = sql`
    case when ${isLost} or (delivery_class = 'lookup' and ${deliveryClass} <> 'lookup') then 'none'
         when delivery_class = 'idempotent' then ${deliveryClass}
         else delivery_class end`
  await db.rows(sql`/* leftIntents.alignLeftIntents */
    with fence as (${fenceOf(holder)})
    update delivery_intent
    set delivery_class = ${aligned},
        doubt_cause = case when ${isLost} then 'import_out_of_reach'
                           when ${aligned} = 'none' and delivery_class <> 'none' then 'class_changed'
                           else doubt_cause end,
        import_tag = case when ${isLost} then null else import_tag end,
        import_object = case when ${isLost} then null else import_object end,
        import_job_id = case when ${isLost} then null else import_job_id end,
        is_import_open = is_import_open and not ${isLost}
    from fence
    where delivery_intent.sync_id = fence.sync_id and delivery_intent.epoch < ${holder.epoch}
      and (${isLost} or delivery_class <> ${aligned})`)
}

/** Whether earlier epochs of the sync left any. Asked after the claim raised the fence, as a statement of its own. */
export async function hasLeftIntents(db: Handle, holder: LedgerHolder): Promise<boolean> {
  const [row] = await db.rows<{ isAny: boolean }>(sql`/* leftIntents.hasLeftIntents */
    select exists (select from delivery_intent
                   where sync_id = ${holder.syncId} and epoch < ${holder.epoch}) as "isAny"`)
  return row?.isAny ?? false
}

/** An intent that an earlier epoch left behind: in flight once, in doubt now. */
export type LeftIntent = {
  readonly id: string
  readonly epoch: number
  readonly deliveryClass: DeliveryClass
  readonly pageDigest: string
  readonly positions: readonly number[]
  readonly recordDigests: string
  readonly destinationIdentities: string
  /** The place of its page among the sync's pages; null: the page is not there any more. */
  readonly pageOrdinal: number | null
  /** 16 bytes a position of the whole page. */
  readonly pageIdentities: string | null
  /** 16 bytes a record, in the order of its positions, where its page need not be open; else null. */
  readonly identities: string | null
  /** Milliseconds until its quiet time is over, 0 when it is. */
  readonly quietInMs: number
  /** Of the import that its call may have started; null: it starts none. */
  readonly importTag: string | null
  /** Where that can be asked about; null: that was not kept. */
  readonly importObject: string | null
  readonly importJobId: string | null
  /** Where its writes can be asked for; null: it was not reserved under class `lookup`. */
  readonly lookupObject: string | null
}

/** Most intents in doubt that a sync may have; a run reads all of them before it sends anything. */
const MAX_LEFT_INTENTS = 100_000

/** The intents that older epochs of the sync left. Called after the claim raised the fence, as a statement of its own. */
export async function listLeftIntents(
  db: Handle,
  holder: LedgerHolder,
): Promise<readonly LeftIntent[]> {
  const intents = await db.rows<LeftIntent>(sql`/* leftIntents.listLeftIntents */
    select intent.id, intent.epoch, intent.delivery_class as "deliveryClass",
           encode(intent.page_digest, 'hex') as "pageDigest", intent.positions,
           encode(intent.record_digests, 'hex') as "recordDigests",
           encode(intent.destination_identities, 'hex') as "destinationIdentities",
           coalesce(intent.redriven_ordinal, page.ordinal) as "pageOrdinal",
           encode(page.identities, 'hex') as "pageIdentities",
           encode(intent.identities, 'hex') as identities, intent.import_tag as "importTag",
           intent.import_object as "importObject", intent.import_job_id as "importJobId",
           intent.lookup_object as "lookupObject",
           greatest(0, extract(epoch from intent.quiet_at - now()) * 1000)::float8 as "quietInMs"
    from delivery_intent as intent
    left join open_page as page
      on page.sync_id = intent.sync_id and page.page_digest = intent.page_digest
    where intent.sync_id = ${holder.syncId} and intent.epoch < ${holder.epoch}
      -- Of a page that a reset dropped and that did not come again there is nothing to be sent again.
      and not (intent.delivery_class = 'idempotent' and page.page_digest is null
               and intent.redriven_ordinal is null
               and intent.import_tag is null and intent.quiet_at <= now())
    order by intent.id
    limit ${MAX_LEFT_INTENTS + 1}`)
  assert(
    intents.length <= MAX_LEFT_INTENTS,
    `Sync ${holder.syncId} has more than ${MAX_LEFT_INTENTS} intents of earlier attempts.`,
  )
  return intents
}

/**
 * Part of a statement that has the `fence`: its page, or what was brought back of it, has been sent again, so the chosen
 * intents are over. Not so their places of which nobody will know what became: those that still stand in the page
 * keep the intent, under epoch 0 where they have moved in it, which is nobody's; those that have left it get one of
 * their own, with the page's ordinal and their identities, as the run's, since the page may close.
 */
export function endSentAgain(given: {
  /** For a relation called `intent`. */
  readonly which: SQL
  /** For a column called `place.position`: it stands in the page. Not both. */
  readonly isWaiting: SQL
  readonly isLeft: SQL
  /** The run that ends them. */
  readonly runId: string
}): SQL {
  return sql`sent_again as materialized (
      select intent.*, page.ordinal as page_ordinal, page.identities as page_identities
      from delivery_intent as intent
      join fence on fence.sync_id = intent.sync_id
      left join open_page as page
        on page.sync_id = intent.sync_id and page.page_digest = intent.page_digest
      where ${given.which}
    ),
    waiting as (
      select sent_again.id, cardinality(sent_again.positions) as places, kept.*
      from sent_again
      cross join lateral (${placesThat(given.isWaiting)}) as kept
    ),
    resent as (
      delete from delivery_intent as intent
      using waiting
      where intent.id = waiting.id and waiting.positions is null
    ),
    shrunk as (
      update delivery_intent as intent
      set epoch = 0, positions = waiting.positions, record_digests = waiting.record_digests,
          destination_identities = waiting.destination_identities,
          identities = waiting.own_identities
      from waiting
      where intent.id = waiting.id and cardinality(waiting.positions) < waiting.places
    ),
    left_behind as (
      insert into delivery_intent (id, sync_id, epoch, run_id, connection_id, delivery_class,
                                   page_digest, positions, record_digests,
                                   destination_identities, identities, redriven_ordinal, day,
                                   reserved_at, quiet_at)
      select gen_random_uuid(), sent_again.sync_id, 0, ${given.runId}::uuid,
             sent_again.connection_id, sent_again.delivery_class, sent_again.page_digest,
             kept.positions, kept.record_digests, kept.destination_identities,
             coalesce(kept.own_identities, kept.page_identities),
             coalesce(sent_again.redriven_ordinal, sent_again.page_ordinal), sent_again.day,
             sent_again.reserved_at, sent_again.quiet_at
      from sent_again
      cross join lateral (${placesThat(given.isLeft)}) as kept
      where kept.positions is not null
    )`
}

/** The chosen places of a `sent_again`, packed as they are in an intent. */
function placesThat(areChosen: SQL): SQL {
  const width = (column: string, bytes: number) =>
    sql.raw(`string_agg(substring(sent_again.${column} from place.nth::int * ${bytes} - ${bytes - 1} for ${bytes}),
                        ''::bytea order by place.nth)`)
  return sql`
        select array_agg(place.position order by place.nth) as positions,
               ${width('record_digests', RECORD_DIGEST_BYTES)} as record_digests,
               ${width('destination_identities', IDENTITY_HASH_BYTES)} as destination_identities,
               ${width('identities', IDENTITY_HASH_BYTES)} as own_identities,
               string_agg(substring(sent_again.page_identities from place.position * 16 + 1 for 16),
                          ''::bytea order by place.nth) as page_identities
        from unnest(sent_again.positions) with ordinality as place (position, nth)
        where ${areChosen}`
}

/**
 * Removes calls whose records nobody sends again any more, once they can have no more effect. As long as an intent
 * is there, older records of its identities wait: so one is kept while there are such, until the source has been read
 * to its end and nothing of its identities was found there, in its place or later, that could not be delivered.
 */
export async function dropSpentIntents(db: Handle, holder: LedgerHolder): Promise<void> {
  await db.rows(sql`/* leftIntents.dropSpentIntents */
    with fence as (${fenceOf(holder)})
    delete from delivery_intent as intent
    using fence
    where intent.sync_id = fence.sync_id and intent.epoch < ${holder.epoch}
      and intent.delivery_class = 'idempotent' and intent.import_tag is null
      and intent.quiet_at <= now()
      and case when intent.redriven_ordinal is null then not ${hasPage()}
               else not ${isBroughtBack()}
                    and not (${isAnyWaiting('<')}
                             and (not ${isReadToEnd(holder)} or ${isAnyWaiting('>=')})) end`)
}

/** Of a relation called `intent`: its page is open. One that a reset dropped need not come again. */
function hasPage(): SQL {
  return sql`exists (
    select from open_page as page
    where page.sync_id = intent.sync_id and page.page_digest = intent.page_digest)`
}

/** Of a relation called `intent`: a record of it is to be sent again. */
function isBroughtBack(): SQL {
  return sql`exists (
        select from held_record as held
        where held.sync_id = intent.sync_id and held.page_digest = intent.page_digest
          and held.ordinal = intent.redriven_ordinal and held.position = any (intent.positions)
          and held.state = 'redriving' and not held.is_superseded)`
}

/**
 * Of a relation called `intent`: its sync has come to the end of its source since its page was closed. Epochs tell the
 * order, because no clock sets them.
 */
function isReadToEnd({ syncId }: LedgerHolder): SQL {
  return sql`exists (
    select from run as ended
    join run as leaving on leaving.id = intent.run_id
    where ended.sync_id = ${syncId} and ended.epoch >= leaving.epoch
      -- A test of a draft reads a few records and ends.
      and ended.cause <> 'test'
      and (ended.status in ('succeeded', 'partial')
           or ended.failure_code = 'destination_rejected'))`
}

/** Of a relation called `intent`: a record that was rejected, and comes before it, or in its place or after, has one of its names. */
function isAnyWaiting(order: '<' | '>='): SQL {
  return sql`(${isNamesakeWaiting(sql`waiting.destination_identity_hash`, order)}
    or ${isNamesakeWaiting(sql`waiting.identity_hash`, order)})`
}

function isNamesakeWaiting(name: SQL, order: '<' | '>='): SQL {
  return sql`exists (
    select from unnest(intent.positions) with ordinality as place (position, nth)
    cross join lateral (
      values (substring(intent.destination_identities from place.nth::int * 16 - 15 for 16)),
             (substring(intent.identities from place.nth::int * 16 - 15 for 16))) as named (name)
    join held_record as waiting on waiting.sync_id = intent.sync_id and ${name} = named.name
    left join open_page as page
      on page.sync_id = waiting.sync_id and page.page_digest = waiting.page_digest
    where waiting.state in ('held', 'quarantined', 'redriving') and not waiting.is_superseded
      and (coalesce(waiting.ordinal, page.ordinal), waiting.position)
        ${sql.raw(order)} (intent.redriven_ordinal, place.position))`
}
