/**
 * Receipts: what the ledger says of a delivery. Every read names the workspace (I13).
 *
 * A key in the ledger names its page and its position and nothing else. Which sync a page is of, and which record stands at a
 * position, is told by the open page, or by what is kept of one that has ended. Pages of a sync may begin at the
 * same cursor one after the other: of those a delivery is of the newest that was opened before it was completed.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type Instant, instantAt } from '../../runtime/clock.ts'
import type { Handle } from '../database.ts'
import { bytea } from '../ledger.ts'

export interface Receipt {
  /** 64 hexadecimal characters. */
  readonly key: string
  readonly syncId: string
  /** In its page, from 0. */
  readonly position: number
  /** The destination's id for the record; null: it gave none. */
  readonly remoteId: string | null
  /** A person said so. */
  readonly isTold: boolean
  readonly completedAt: Instant
}

/** Most receipts of one record: its newest. */
export const MAX_RECEIPTS = 100

type ReceiptRow = Omit<Receipt, 'completedAt'> & { readonly completedAtMs: number }

/** Null: the ledger of this workspace has no such key. `key`: 64 hexadecimal characters. */
export async function findReceipt(
  handle: Handle,
  workspaceId: string,
  key: string,
): Promise<Receipt | null> {
  const [row] = await handle.rows<ReceiptRow>(sql`/* history.findReceipt */
    select ${RECEIPT}, sync.id as "syncId"
    from delivery
    join sync on sync.workspace_id = ${workspaceId}
    where delivery.key = ${bytea(key)}
      and exists (select from (${pages(sql`sync.id`)}) as page
                  where page.page_digest = substring(delivery.key for 16))
    order by delivery.completed_at desc
    limit 1`)
  return row ? toReceipt(row) : null
}

/** Of one record, newest first. `identityHash`: 32 hexadecimal characters. */
export async function listReceipts(
  handle: Handle,
  workspaceId: string,
  options: { readonly syncId: string; readonly identityHash: string },
): Promise<readonly Receipt[]> {
  const { syncId } = options
  const hash = bytea(options.identityHash)
  const rows = await handle.rows<ReceiptRow>(sql`/* history.listReceipts */
    with place as materialized (
      select page.page_digest, page.opened_at, int4send(position) as position
      from (${pages(sql`${syncId}::uuid`)}) as page
      cross join lateral generate_series(0, length(page.identities) / 16 - 1) as position
      where position(${hash} in page.identities) > 0
        and substring(page.identities from position * 16 + 1 for 16) = ${hash}
    )
    select ${RECEIPT}, sync.id as "syncId"
    from place
    join sync on sync.id = ${syncId}::uuid and sync.workspace_id = ${workspaceId}
    join delivery
      on delivery.key between place.page_digest || place.position || ${bytea('00'.repeat(12))}
        and place.page_digest || place.position || ${bytea('ff'.repeat(12))}
    where delivery.completed_at >= place.opened_at
      and not exists (
        select from (${pages(sql`${syncId}::uuid`)}) as later
        where later.page_digest = place.page_digest and later.opened_at > place.opened_at
          and later.opened_at <= delivery.completed_at)
    order by delivery.completed_at desc
    limit ${MAX_RECEIPTS}`)
  return rows.map(toReceipt)
}

const RECEIPT = sql`encode(delivery.key, 'hex') as key, delivery.result as "remoteId",
  delivery.is_told as "isTold",
  ('x' || encode(substring(delivery.key from 17 for 4), 'hex'))::bit(32)::int as position,
  floor(extract(epoch from delivery.completed_at) * 1000)::float8 as "completedAtMs"`

function pages(syncId: SQL): SQL {
  return sql`
    select page_digest, opened_at, identities from open_page where sync_id = ${syncId}
    union all
    select page_digest, opened_at, identities from ended_page where sync_id = ${syncId}`
}

function toReceipt({ completedAtMs, ...receipt }: ReceiptRow): Receipt {
  return { ...receipt, completedAt: instantAt(completedAtMs) }
}
