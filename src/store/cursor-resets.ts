/**
 * Taking a sync back to the beginning of its source.
 *
 * Invariants: no run of the sync is in flight (the caller has locked the sync and looked), and the fence
 * is raised, so that a worker that was taken over cannot bring an old cursor back; what is in doubt stays
 * in doubt: an intent takes the identities of its records along when their page is dropped.
 */
import { sql } from 'drizzle-orm'
import { assert } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import { forgetRewritten } from './rereadings.ts'

export interface ReadSoFar {
  readonly reached: string | null
  readonly openPages: number
}

/** How far a sync has come; a sync always has a fence. */
export async function findReadSoFar(tx: Handle, syncId: string): Promise<ReadSoFar> {
  const [row] = await tx.rows<{ reached: string | null; openPages: number }>(
    sql`/* cursorResets.findReadSoFar */
    select reached,
           (select count(*)::int from open_page where sync_id = ${syncId}) as "openPages"
    from sync_fence
    where sync_id = ${syncId}`,
  )
  return row ?? { reached: null, openPages: 0 }
}

/** What was dropped with the cursor. */
export type Dropped = {
  readonly openPages: number
  readonly heldRecords: number
  /** Records that were set aside and not sent again since. */
  readonly quarantinedRecords: number
}

export async function resetCursor(tx: Handle, syncId: string): Promise<Dropped> {
  const [fence] = await tx.rows<{ epoch: number }>(sql`/* cursorResets.resetCursor fence */
    update sync_fence
    set epoch = epoch + 1, reached = null, saved_cursor = null, is_rereading = true
    where sync_id = ${syncId}
    returning epoch`)
  assert(fence !== undefined, 'A sync has a fence.')
  await forgetRewritten(tx, { syncId, epoch: fence.epoch })
  // A statement of its own: one that raised the fence itself would not see what was reserved until then.
  const [dropped] = await tx.rows<Dropped>(sql`/* cursorResets.resetCursor pages */
    with kept as (
      update delivery_intent
      set identities = (
        select string_agg(substring(page.identities from place.position * 16 + 1 for 16), ''::bytea
                          order by place.nth)
        from unnest(delivery_intent.positions) with ordinality as place (position, nth))
      from open_page as page
      where delivery_intent.sync_id = ${syncId} and delivery_intent.identities is null
        and not (delivery_intent.delivery_class = 'idempotent' and delivery_intent.quiet_at <= now()
                 and delivery_intent.import_tag is null)
        and page.sync_id = delivery_intent.sync_id
        and page.page_digest = delivery_intent.page_digest
    ),
    resent as (
      delete from delivery_intent
      where sync_id = ${syncId} and delivery_class = 'idempotent' and quiet_at <= now()
        and import_tag is null
    ),
    page as (
      delete from open_page
      where sync_id = ${syncId}
      returning 1
    ),
    held as (
      delete from held_record
      where sync_id = ${syncId} and (ordinal is null or ended_at is null)
      returning ordinal
    )
    select (select count(*)::int from page) as "openPages",
           (select count(*)::int from held where ordinal is null) as "heldRecords",
           (select count(*)::int from held where ordinal is not null) as "quarantinedRecords"`)
  return dropped ?? { openPages: 0, heldRecords: 0, quarantinedRecords: 0 }
}
