/**
 * Keyset paging over ids, newest first.
 *
 * Ids sort by when they were made, so a page is a range of the index, whatever its depth. Never on a
 * timestamp: JavaScript's has lost digits.
 */
import { and, asc, desc, gt, lt, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

export interface KeysetPage {
  /** Only rows that come later in the list than this id (older ones). */
  readonly after: string | null
  /** Only rows that come earlier in the list than this id (newer ones). */
  readonly before: string | null
  readonly limit: number
  /** The page at the end of the range instead of its beginning; the rows come in reverse. */
  readonly isFromEnd: boolean
}

export function keysetRange(id: PgColumn, page: KeysetPage, ...conditions: (SQL | undefined)[]) {
  return and(
    ...conditions,
    page.after === null ? undefined : lt(id, page.after),
    page.before === null ? undefined : gt(id, page.before),
  )
}

export function keysetOrder(id: PgColumn, page: KeysetPage) {
  return page.isFromEnd ? asc(id) : desc(id)
}
