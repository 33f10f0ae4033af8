/**
 * Reads a stream of a shop by our own position in it: the time of change, and the id within it.
 *
 * Invariants: a page ends in front of what is not complete yet, so that no row is passed over; the position never goes
 * past the lag, so that a row of which the search index learns late still lies in front of it. The same cursor and limit
 * give the same page as long as the shop is the same.
 */
import { ConnectorError } from '../../connector.ts'
import type { ReadRequest, ReadResult, SourceReader } from '../../source.ts'
import type { ShopifyApi } from './shopify-api.ts'
import {
  BEGINNING,
  type CursorOwner,
  comparePositions,
  cursorText,
  type Position,
  parseCursor,
} from './shopify-cursor.ts'
import type { ApiVersion } from './shopify-queries.ts'
import { fieldNames, type ShopifyRow } from './shopify-records.ts'
import { ShopifyWalk } from './shopify-walk.ts'

export interface ShopifyReaderOptions {
  readonly api: ShopifyApi
  readonly owner: CursorOwner
  readonly apiVersion: ApiVersion
  readonly rowsPerQuery: number
  readonly lagMs: number
}

/** A range that was read once must be read again, also when rows of later moments have come into its way. */
const RANGE_TIMES_AS_LONG = 10

/** Rows of a moment that are left when a page ends within it, and where it ended. */
interface Ahead {
  readonly behind: Position
  readonly rows: readonly ShopifyRow[]
}

export class ShopifyReader implements SourceReader {
  readonly totalRecords = null
  readonly #options: ShopifyReaderOptions
  #ahead: Ahead | null = null

  constructor(options: ShopifyReaderOptions) {
    this.#options = options
  }

  async readPage({ from, limit, to, signal }: ReadRequest): Promise<ReadResult> {
    signal.throwIfAborted()
    const { owner } = this.#options
    const behind = from === null ? BEGINNING : parseCursor(owner, from)
    return to === null
      ? await this.#readOn(behind, limit, signal)
      : await this.#readRange(behind, parseCursor(owner, to), limit, signal)
  }

  listFields(): Promise<readonly string[]> {
    return Promise.resolve(fieldNames(this.#options.owner.stream))
  }

  close(): Promise<void> {
    this.#ahead = null
    return Promise.resolve()
  }

  async #readOn(behind: Position, limit: number, signal: AbortSignal): Promise<ReadResult> {
    const rows = this.#takeAhead(behind, limit) ?? (await this.#walkOn(behind, limit, signal))
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    if (last === undefined) {
      this.#ahead = null
      return { kind: 'end' }
    }
    // A moment with many rows is walked through as a whole: without this, once a page.
    const isWithinMoment = rows[limit]?.position.changedAt === last.position.changedAt
    this.#ahead = isWithinMoment ? { behind: last.position, rows: rows.slice(limit) } : null
    return this.#page(behind, last.position, page)
  }

  /** Only a full page: what it gives must not depend on what was read before. */
  #takeAhead(behind: Position, limit: number): readonly ShopifyRow[] | null {
    const ahead = this.#ahead
    const isUsable =
      ahead !== null && comparePositions(ahead.behind, behind) === 0 && ahead.rows.length >= limit
    return isUsable ? ahead.rows : null
  }

  /** At least `limit` complete rows, or all that there are for now. */
  async #walkOn(
    behind: Position,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly ShopifyRow[]> {
    const walk = this.#startWalk(behind, 1)
    for (let rows = limit + 1; ; ) {
      const added = await walk.step(rows, signal)
      const complete = walk.completeRows()
      if (walk.hasEnded || walk.isBeyondHorizon || complete.length >= limit) {
        return complete
      }
      if (walk.isExhausted) {
        return requireSome(complete)
      }
      const wanted = limit + 1 - walk.keptCount
      rows = added > 0 && wanted > 0 ? wanted : rows * 2
    }
  }

  async #readRange(
    behind: Position,
    upTo: Position,
    limit: number,
    signal: AbortSignal,
  ): Promise<ReadResult> {
    const walk = this.#startWalk(behind, RANGE_TIMES_AS_LONG)
    for (let rows = limit + 1; !walk.isPast(upTo); rows *= 2) {
      if (walk.isExhausted) {
        throw new ConnectorError(
          'node_failed',
          'The range cannot be read again: too many rows lie in it by now.',
        )
      }
      await walk.step(rows, signal)
    }
    const within = walk
      .completeRows()
      .filter(({ position }) => comparePositions(position, upTo) <= 0)
    return this.#page(behind, upTo, within)
  }

  #startWalk(behind: Position, timesAsLong: number): ShopifyWalk {
    const { api, owner, apiVersion, rowsPerQuery, lagMs } = this.#options
    return new ShopifyWalk({
      api,
      stream: owner.stream,
      apiVersion,
      rowsPerQuery,
      lagMs,
      behind,
      isFromBeginning: comparePositions(behind, BEGINNING) === 0,
      timesAsLong,
    })
  }

  #page(behind: Position, to: Position, rows: readonly ShopifyRow[]): ReadResult {
    const { owner } = this.#options
    return {
      kind: 'page',
      from: cursorText(owner, behind),
      to: cursorText(owner, to),
      records: rows.map(({ record }) => record),
    }
  }
}

/** A walk that got nowhere: every row that it holds is of one moment. */
function requireSome(rows: readonly ShopifyRow[]): readonly ShopifyRow[] {
  if (rows.length === 0) {
    throw new ConnectorError(
      'node_failed',
      'The stream cannot be read on: too many rows have changed in the same second.',
    )
  }
  return rows
}
