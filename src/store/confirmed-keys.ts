/**
 * Writes that the destination of a sync has confirmed, for when it says of another one that it is not there.
 *
 * Invariant: only the ledger says that a write was confirmed, and its clock how long ago; a key is never
 * shown older than it is, since it is completed after its answer came. What a person said of a write in doubt is no
 * word of the destination's.
 */
import { type SQL, sql } from 'drizzle-orm'
import { DELIVERY_KEY_BYTES, PAGE_DIGEST_BYTES } from '../domain/delivery.ts'
import type { Handle } from './database.ts'

/** A completed key, and how long ago it was completed, in milliseconds. */
export type AgedKey = { readonly key: string; readonly ageMs: number }

/** The keys that the last checkpoints named and that still count, the newest first. */
export async function listConfirmedKeys(
  db: Handle,
  options: { readonly syncId: string; readonly retentionMs: number },
): Promise<readonly AgedKey[]> {
  return await db.rows<AgedKey>(sql`/* confirmedKeys.listConfirmedKeys */
    select encode(delivery.key, 'hex') as key, ${ageMs(sql`max(delivery.completed_at)`)} as "ageMs"
    from sync_fence
    cross join generate_series(0, length(sync_fence.confirmed_keys) / ${DELIVERY_KEY_BYTES} - 1)
      as place
    join delivery
      on delivery.key = substring(sync_fence.confirmed_keys
                                  from place * ${DELIVERY_KEY_BYTES} + 1 for ${DELIVERY_KEY_BYTES})
    where sync_fence.sync_id = ${options.syncId}
      and delivery.completed_at > now() - ${options.retentionMs}::float8 * interval '1 millisecond'
      and not delivery.is_told
    group by place, delivery.key
    order by place`)
}

/** Pages in which completed keys are sought at most, and keys of each: a range of the index a page. */
const MAX_PAGES_SOUGHT = 1_000
const MAX_KEYS_OF_PAGE = 3

/**
 * A few completed keys of the sync's pages that are open or have something in flight, whichever attempt completed
 * them: the newest of those that are as old as `settlingMs` first, then the oldest of the others.
 */
export async function listDeliveredKeys(
  db: Handle,
  options: {
    readonly syncId: string
    readonly retentionMs: number
    readonly settlingMs: number
    readonly limit: number
  },
): Promise<readonly AgedKey[]> {
  const { syncId, retentionMs, settlingMs, limit } = options
  const end = 'ff'.repeat(DELIVERY_KEY_BYTES - PAGE_DIGEST_BYTES + 1)
  return await db.rows<AgedKey>(sql`/* confirmedKeys.listDeliveredKeys */
    with page as (
      (select page_digest from open_page
       where sync_id = ${syncId} order by ordinal desc limit ${MAX_PAGES_SOUGHT})
      union
      (select page_digest from delivery_intent
       where sync_id = ${syncId} limit ${MAX_PAGES_SOUGHT})
    ),
    found as (
      select one.key, ${ageMs(sql`max(one.completed_at)`)} as age_ms
      from page
      cross join lateral (
        select delivery.key, delivery.completed_at
        from delivery
        where delivery.key >= page.page_digest and delivery.key < page.page_digest || decode(${end}, 'hex')
          and delivery.completed_at > now() - ${retentionMs}::float8 * interval '1 millisecond'
          and not delivery.is_told
        limit ${MAX_KEYS_OF_PAGE}
      ) as one
      group by one.key
    )
    select encode(key, 'hex') as key, age_ms as "ageMs"
    from found
    order by greatest(0, ${settlingMs}::float8 - age_ms), age_ms
    limit ${limit}`)
}

function ageMs(completedAt: SQL) {
  return sql`(extract(epoch from now() - ${completedAt}) * 1000)::float8`
}
