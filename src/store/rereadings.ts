/**
 * Reading a source again after its cursor was reset: which identities were written anew on the way.
 *
 * Invariants: an identity is noted before anything of it is sent; a completed key that was overtaken, as an
 * older record of its identity has been sent after it, is taken out of the ledger, so that from then on its
 * record is one that was never delivered (I11).
 */
import { sql } from 'drizzle-orm'
import { DELIVERY_KEY_BYTES, PAGE_DIGEST_BYTES } from '../domain/delivery.ts'
import type { Handle } from './database.ts'
import { bytea, fenceOf, type LedgerHolder } from './ledger.ts'

/** Whether the sync's source has not been read to its end since a reset. */
export async function isRereading(db: Handle, syncId: string): Promise<boolean> {
  const [row] = await db.rows<{ isRereading: boolean }>(sql`/* rereadings.isRereading */
    select is_rereading as "isRereading"
    from sync_fence
    where sync_id = ${syncId}`)
  return row?.isRereading ?? false
}

/** Notes what is about to be sent, by its destination identities. False: the fence was raised. */
export async function noteRewritten(
  db: Handle,
  holder: LedgerHolder,
  destinationIdentityHashes: readonly string[],
): Promise<boolean> {
  const rows = await db.rows(sql`/* rereadings.noteRewritten */
    with fence as (${fenceOf(holder)})
    insert into rewritten_identity (sync_id, destination_identity_hash)
    select distinct fence.sync_id, decode(name, 'hex')
    from fence
    cross join unnest(${`{${destinationIdentityHashes.join(',')}}`}::text::text[]) as name
    on conflict (sync_id, destination_identity_hash) do update
    set noted_at = excluded.noted_at
    returning 1`)
  return rows.length > 0
}

/** Takes the keys out of the ledger that were completed before something older of their identity was sent. */
export async function forgetOvertaken(
  db: Handle,
  options: {
    readonly holder: LedgerHolder
    readonly pageDigest: string
    readonly records: readonly {
      readonly position: number
      readonly destinationIdentityHash: string
    }[]
  },
): Promise<void> {
  const { holder, pageDigest, records } = options
  const low = bytea(pageDigest)
  const high = bytea(pageDigest + 'ff'.repeat(DELIVERY_KEY_BYTES - PAGE_DIGEST_BYTES + 1))
  const named = JSON.stringify(
    records.map(({ position, destinationIdentityHash }) => [position, destinationIdentityHash]),
  )
  await db.rows(sql`/* rereadings.forgetOvertaken */
    with fence as (${fenceOf(holder)}),
    overtaken as materialized (
      select int4send((item ->> 0)::int) as position, noted.noted_at
      from fence
      cross join jsonb_array_elements(${named}::text::jsonb) as item
      join rewritten_identity as noted
        on noted.sync_id = fence.sync_id
          and noted.destination_identity_hash = decode(item ->> 1, 'hex')
    )
    delete from delivery
    using overtaken
    where delivery.key >= ${low} and delivery.key < ${high}
      and substring(delivery.key from 17 for 4) = overtaken.position
      and delivery.completed_at < overtaken.noted_at`)
}

/** The source has been read to its end: from here on nothing comes that was delivered before. */
export async function endRereading(db: Handle, holder: LedgerHolder): Promise<void> {
  await forgetRewritten(db, holder)
  await db.rows(sql`/* rereadings.endRereading */
    update sync_fence
    set is_rereading = false
    where sync_id = ${holder.syncId} and epoch = ${holder.epoch}`)
}

/** Rows that one statement deletes: a source of millions must not run into its timeout. */
const ROWS_A_DELETE = 20_000

/** Nothing under an older epoch: the notes are those of another reading then. */
export async function forgetRewritten(
  db: Handle,
  { syncId, epoch }: Pick<LedgerHolder, 'syncId' | 'epoch'>,
): Promise<void> {
  let deleted: number
  do {
    const rows = await db.rows(sql`/* rereadings.forgetRewritten */
      with fence as (${fenceOf({ syncId, epoch })})
      delete from rewritten_identity
      using fence
      where rewritten_identity.sync_id = fence.sync_id and destination_identity_hash in (
        select destination_identity_hash
        from rewritten_identity
        where sync_id = ${syncId}
        limit ${ROWS_A_DELETE})
      returning 1`)
    deleted = rows.length
  } while (deleted === ROWS_A_DELETE)
}
