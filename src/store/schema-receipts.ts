/** The table from which receipts are told; with the other schema files the source of drizzle/. */
import { bigint, index, pgTable, primaryKey, uuid } from 'drizzle-orm/pg-core'
import { bytes, instant } from './columns.ts'
import { sync } from './schema-configuration.ts'

/**
 * A page that is not open any more. A trigger on `open_page` puts it here, whoever removes it from there (see
 * drizzle/): the ledger's keys tell neither their sync nor which record stood at their position.
 */
export const endedPage = pgTable(
  'ended_page',
  {
    syncId: uuid('sync_id')
      .notNull()
      .references(() => sync.id),
    pageDigest: bytes('page_digest').notNull(),
    /** Of the open page that it was: another one may begin at the same cursor later. */
    ordinal: bigint('ordinal', { mode: 'number' }).notNull(),
    /** 16 bytes a record, in the order of their positions. */
    identities: bytes('identities').notNull(),
    openedAt: instant('opened_at').notNull(),
    endedAt: instant('ended_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.syncId, table.pageDigest, table.ordinal] }),
    index('ended_page_ended').on(table.endedAt),
  ],
)
