/**
 * Pages: what one read of the source returned, remembered until every record has its outcome.
 *
 * Invariant: a record keeps the position it was first given. Reading an open page again matches its
 * records by identity, so moving rows, deleted rows and another page size change no delivery key.
 */
import type { JsonObject } from './json.ts'

/** Records of one page, at most; also the largest page size that can be set. */
export const MAX_PAGE_RECORDS = 10_000
export const DEFAULT_PAGE_SIZE = 500

/** One row of a source. `identity`: the source's stable name for it. */
export type SourceRecord =
  | { readonly identity: string; readonly fields: JsonObject; readonly problem?: undefined }
  /** A row that could not be read as a record; `problem` names it (its line) and the reason. */
  | { readonly identity: string; readonly problem: string; readonly fields?: undefined }

export interface Placement {
  /** For each record that was read, in order, the position it has in the page. */
  readonly positions: readonly number[]
  /** The identities of the page with those that are new in the range appended; index = position. */
  readonly identities: readonly string[]
  /** Positions whose record left the range: it moved on and comes again there, or it is gone. */
  readonly left: readonly number[]
}

/**
 * Gives the records of a range their positions. `remembered`: hashed identities of the page as stored,
 * empty for a page that is read for the first time. `read`: hashed identities of what was read now.
 */
export function placeRecords(remembered: readonly string[], read: readonly string[]): Placement {
  const free = new Map<string, number[]>()
  for (const [position, identity] of remembered.entries()) {
    const positions = free.get(identity)
    if (positions) {
      positions.push(position)
    } else {
      free.set(identity, [position])
    }
  }
  const identities = [...remembered]
  const positions = read.map((identity) => {
    const known = free.get(identity)?.shift()
    if (known !== undefined) {
      return known
    }
    identities.push(identity)
    return identities.length - 1
  })
  const left = [...free.values()].flat().sort((a, b) => a - b)
  return { positions, identities, left }
}
