/**
 * One walk through a stream, from a position on: queries one after the other, oldest change first, and what of it can be
 * trusted.
 *
 * What is not trusted: that the filter holds (older rows are dropped), that no row comes twice, that rows of one moment
 * come in any order (a moment counts when it is complete), that Shopify's cursor lives on (the walk goes on from where
 * it stands), and that the search index knows of what has just changed (nothing younger than the lag is kept). What is
 * trusted, and checked: rows of different moments come in order.
 */
import { ConnectorError } from '../../connector.ts'
import { DEFAULT_MAX_RESPONSE_BYTES } from '../../http-client.ts'
import type { Question, ShopifyApi } from './shopify-api.ts'
import {
  comparePositions,
  compareTexts,
  filterMoment,
  momentOf,
  type Position,
} from './shopify-cursor.ts'
import {
  type ApiVersion,
  ROW_COST,
  rowsQuery,
  type ShopifyStream,
  WITNESS_COST,
} from './shopify-queries.ts'
import { type RowsAnswer, readRows, type ShopifyRow } from './shopify-records.ts'

/** Of one: an inclusive cursor gives the same row for ever. */
const MIN_ROWS_PER_QUERY = 2
/** Queries of one walk; behind them it ends with what is complete. */
const MAX_QUERIES = 1_000
/** Rows that are held until their moment is complete. */
const MAX_HELD_ROWS = 25_000
/** How often a walk starts again where it stands because its cursor is refused. */
const MAX_RESTARTS = 3
/** Room for one row: a note has up to 5,000 characters, and there are up to 250 tags. */
const ROW_BYTES = 32 * 1024

export interface WalkOptions {
  readonly api: ShopifyApi
  readonly stream: ShopifyStream
  readonly apiVersion: ApiVersion
  readonly rowsPerQuery: number
  readonly lagMs: number
  /** Nothing up to here is kept; null: everything is. */
  readonly behind: Position
  /** Whether `behind` is in front of every row. */
  readonly isFromBeginning: boolean
  /** 1, or more where as much must be read as another walk has read before. */
  readonly timesAsLong: number
}

export class ShopifyWalk {
  readonly #options: WalkOptions
  /** By id, in the order in which they came: one that comes again has moved behind. */
  readonly #kept = new Map<string, ShopifyRow>()
  #filterFrom: string | null
  #after: string | null = null
  /** The moment of the last row that was kept. */
  #lastAt: string | null = null
  /** Nothing from here on is kept. */
  #horizon: string | null = null
  #rowsPerQuery: number
  #queries = 0
  #restarts = 0
  #hasEnded = false
  #isBeyondHorizon = false

  constructor(options: WalkOptions) {
    this.#options = options
    this.#rowsPerQuery = Math.max(options.rowsPerQuery, MIN_ROWS_PER_QUERY)
    this.#filterFrom = options.isFromBeginning ? null : options.behind.changedAt
  }

  /** The stream ends behind what is kept. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The last query gave rows, all of them too young. */
  get isBeyondHorizon(): boolean {
    return this.#isBeyondHorizon
  }

  /** It is as long as one walk may get. */
  get isExhausted(): boolean {
    const { timesAsLong } = this.#options
    return (
      this.#queries >= timesAsLong * MAX_QUERIES ||
      this.#kept.size >= timesAsLong * MAX_HELD_ROWS + this.#rowsPerQuery
    )
  }

  get keptCount(): number {
    return this.#kept.size
  }

  /** Sorted rows behind which nothing comes that belongs in front of them. */
  completeRows(): readonly ShopifyRow[] {
    const rows = [...this.#kept.values()]
    const complete = this.#hasEnded
      ? rows
      : rows.filter(({ position }) => position.changedAt !== this.#lastAt)
    return complete.sort((a, b) => comparePositions(a.position, b.position))
  }

  /** Whether everything up to this position was seen. */
  isPast({ changedAt }: Position): boolean {
    return this.#hasEnded || (this.#lastAt !== null && compareTexts(this.#lastAt, changedAt) > 0)
  }

  /** Makes one query, and answers how many rows it added. */
  async step(rows: number, signal: AbortSignal): Promise<number> {
    const first = Math.min(Math.max(rows, MIN_ROWS_PER_QUERY), this.#rowsPerQuery)
    this.#queries += 1
    const asked = await this.#options.api.ask(this.#question(first), signal)
    switch (asked.kind) {
      case 'data': {
        const horizon = momentOf(Math.max(asked.servedAtMs - this.#options.lagMs, 0))
        this.#horizon ??= horizon
        return this.#take(readRows(this.#options.stream, asked.data), this.#horizon)
      }
      case 'tooCostly':
        this.#askForLess(first, asked.reason)
        return 0
      case 'queryRefused':
        this.#restart(asked.reason)
        return 0
    }
  }

  #question(first: number): Question {
    const { stream, apiVersion } = this.#options
    const filter =
      this.#filterFrom === null ? null : `updated_at:>='${filterMoment(this.#filterFrom)}'`
    return {
      query: rowsQuery(stream, apiVersion),
      variables: { first, after: this.#after, filter },
      cost: WITNESS_COST + first * ROW_COST[stream],
      maxResponseBytes: DEFAULT_MAX_RESPONSE_BYTES + first * ROW_BYTES,
    }
  }

  #take({ rows, hasNext, endCursor }: RowsAnswer, horizon: string): number {
    let added = 0
    let young = 0
    for (const row of rows) {
      if (compareTexts(row.position.changedAt, horizon) >= 0) {
        young += 1
      } else if (this.#keep(row)) {
        added += 1
      }
    }
    this.#hasEnded = !hasNext
    this.#isBeyondHorizon = young > 0 && young === rows.length
    if (hasNext && (endCursor === null || (endCursor === this.#after && added === 0))) {
      throw new ConnectorError(
        'provider_unavailable',
        'Shopify says that there is more, and gives the same again.',
      )
    }
    this.#after = endCursor
    return added
  }

  /** Whether it was not there. */
  #keep(row: ShopifyRow): boolean {
    const { changedAt, id } = row.position
    if (
      comparePositions(row.position, this.#options.behind) <= 0 ||
      (this.#filterFrom !== null && compareTexts(changedAt, this.#filterFrom) < 0)
    ) {
      return false
    }
    const known = this.#kept.get(id)
    if (known?.position.changedAt === changedAt) {
      return false
    }
    if (this.#lastAt !== null && compareTexts(changedAt, this.#lastAt) < 0) {
      throw new ConnectorError(
        'provider_unavailable',
        'Shopify gave its rows in another order than that of their changes, which nothing can be read from.',
      )
    }
    this.#kept.delete(id)
    this.#kept.set(id, row)
    this.#lastAt = changedAt
    return true
  }

  #askForLess(first: number, reason: string): void {
    if (first <= MIN_ROWS_PER_QUERY) {
      throw new ConnectorError('node_failed', reason)
    }
    this.#rowsPerQuery = Math.max(Math.floor(first / 2), MIN_ROWS_PER_QUERY)
  }

  /** A cursor may have been forgotten: what is kept tells where to go on. */
  #restart(reason: string): void {
    this.#restarts += 1
    if (this.#after === null || this.#restarts > MAX_RESTARTS) {
      throw new ConnectorError('node_failed', reason)
    }
    this.#after = null
    this.#filterFrom = this.#lastAt ?? this.#filterFrom
  }
}
