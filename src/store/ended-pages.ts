/** Pages that are not open any more, from which receipts are told. A trigger puts them there. */
import { sql } from 'drizzle-orm'
import type { Handle } from './database.ts'

/** Few at a time, so that no lock lasts. */
const PAGES_A_DELETE = 1_000
/** What a page has sent may be completed, or settled, after it has ended. */
const MARGIN_MS = 24 * 60 * 60 * 1000

/** Forgets those whose keys do not count any more, and of which none can come; returns how many. */
export async function forgetEndedPages(db: Handle, retentionMs: number): Promise<number> {
  const longAgo = sql`now() - ${retentionMs + MARGIN_MS}::float8 * interval '1 millisecond'`
  let forgotten = 0
  let deleted: number
  do {
    const rows = await db.rows(sql`/* endedPages.forgetEndedPages */
      delete from ended_page
      where (sync_id, page_digest, ordinal) in (
        select sync_id, page_digest, ordinal
        from ended_page
        where ended_at < ${longAgo}
          -- Records of it that were set aside may be brought back and delivered whenever somebody likes.
          and not exists (
            select from held_record as held
            where held.sync_id = ended_page.sync_id and held.page_digest = ended_page.page_digest
              and held.ordinal = ended_page.ordinal
              and (held.ended_at is null or held.ended_at >= ${longAgo}))
          and not exists (
            select from delivery_intent as intent
            where intent.sync_id = ended_page.sync_id and intent.page_digest = ended_page.page_digest)
        limit ${PAGES_A_DELETE})
      returning 1`)
    deleted = rows.length
    forgotten += deleted
  } while (deleted === PAGES_A_DELETE)
  return forgotten
}
