/**
 * What earlier attempts left in flight, as the next one finds it.
 *
 * Invariant: it is read by a statement of its own, after the claim that raised the fence: that one's
 * snapshot would not hold what was reserved until then.
 */
import { sql } from 'drizzle-orm'
import type { DeliveryClass } from '../domain/delivery.ts'
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
