/**
 * Makes records of the rows of the API's pages, and moves the cursor over them.
 *
 * Invariant: pure and the same each time: from the same cursor over the same rows come the same records and the same
 * next cursor, so that a range can be read again and two readings can be compared.
 */
import { hash } from 'node:crypto'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json.ts'
import type { SourceRecord } from '../../../domain/page.ts'
import { ConnectorError } from '../../connector.ts'
import { RecordNamer } from '../record-identity.ts'
import { pick } from './next-page.ts'
import { Recall, type Sighting, sightingOf } from './recall.ts'
import type { RestPage, RestRow } from './rest-api.ts'
import type { RestCursor } from './rest-cursor.ts'
import type { RestStreamOptions } from './stream-options.ts'
import { highestOf, readWatermark } from './watermark.ts'

/** Records that are remembered: of the overlap with the pass before, where a watermark is asked for. */
const MOST_RECALLED = 1_000
/** Else of the last pages: rows that move on by one come again on the next page. */
const MOST_RECALLED_OF_ALL = 250

export interface Stretch {
  readonly records: readonly SourceRecord[]
  /** Behind them. */
  readonly to: RestCursor
}

/** Takes records from `cursor` on: at most `limit`, and none behind the row `end` of the page. */
export function readStretch(
  page: RestPage,
  cursor: RestCursor,
  options: RestStreamOptions,
  bounds: { readonly limit: number; readonly end: number },
): Stretch {
  const taker = new Taker(cursor, options)
  const end = Math.min(page.rows.length, bounds.end)
  let skip = cursor.skip
  for (; skip < end && taker.records.length < bounds.limit; skip += 1) {
    const row = page.rows[skip]
    if (row) {
      taker.take(row, skip)
    }
  }
  const began = options.watermarkField === undefined ? null : page.askedAt.toISOString()
  const taken = { ...cursor, ...taker.state(), began: cursor.began ?? began }
  return {
    records: taker.records,
    to: skip < page.rows.length ? { ...taken, skip } : turnPage(page, taken, options),
  }
}

function turnPage(page: RestPage, cursor: RestCursor, options: RestStreamOptions): RestCursor {
  const step = cursor.step + 1
  if (page.next === null) {
    const seen = options.watermarkField === undefined ? '' : cursor.seen
    return { ...cursor, step, at: null, skip: 0, mark: '', isEnd: true, known: '', seen }
  }
  if (step >= options.maxPages) {
    throw new ConnectorError(
      'node_failed',
      `The other system gives more than maxPages (${options.maxPages}) pages; raise it, or ask for larger ones.`,
    )
  }
  const sign = signOf(page, page.next, options)
  if (sign !== null && sign === cursor.mark) {
    throw new ConnectorError(
      'node_failed',
      options.paging === 'PAGE'
        ? `The other system gives the same page again under another number; it does not heed the parameter ${options.pageParameter}.`
        : 'The other system leads in a circle: it names a next page that was read before.',
    )
  }
  // Brent's way: a mark set at every power of two is met again in any circle, and one is enough.
  const isPowerOfTwo = (step & (step - 1)) === 0
  const mark = isPowerOfTwo && sign !== null ? sign : cursor.mark
  return { ...cursor, step, at: page.next, skip: 0, mark }
}

/** What a page is known again by; null: by nothing. */
function signOf(page: RestPage, next: string, { paging }: RestStreamOptions): string | null {
  if (paging !== 'PAGE') {
    return digest(next)
  }
  return page.rows.length === 0 ? null : digest(JSON.stringify(page.rows.map(({ value }) => value)))
}

class Taker {
  readonly records: SourceRecord[] = []
  readonly #options: RestStreamOptions
  readonly #namer = new RecordNamer(null)
  readonly #known: Recall
  readonly #seen: Recall
  readonly #most: number
  #top: string | null
  #digest: string

  constructor(cursor: RestCursor, options: RestStreamOptions) {
    this.#options = options
    this.#most = options.watermarkField === undefined ? MOST_RECALLED_OF_ALL : MOST_RECALLED
    this.#known = new Recall(cursor.known, this.#most)
    this.#seen = new Recall(cursor.seen, this.#most)
    this.#top = cursor.top
    this.#digest = cursor.digest
  }

  take(row: RestRow, index: number): void {
    const json = JSON.stringify(row.value)
    const named = row.problem === null ? this.#name(row.value) : { problem: row.problem }
    if (named.problem === undefined) {
      this.#top = highestOf(this.#top, named.watermark)
      if (this.#isNews(sightingOf(named.identity, json))) {
        this.#add({ identity: named.identity, fields: named.fields }, json)
      }
      return
    }
    // Where everything is read again such a row is part of it, as often as it comes.
    const isNews =
      this.#options.watermarkField === undefined || this.#isNews(sightingOf(json, json))
    if (isNews) {
      const problem = `record ${index + 1} of a page: ${named.problem}`
      this.#add({ identity: this.#namer.identifyRaw(Buffer.from(json)), problem }, json)
    }
  }

  state(): Pick<RestCursor, 'top' | 'known' | 'seen' | 'digest'> {
    return {
      top: this.#top,
      known: this.#known.packed(),
      seen: this.#seen.packed(),
      digest: this.#digest,
    }
  }

  #add(record: SourceRecord, json: string): void {
    this.records.push(record)
    if (this.#options.watermarkField === undefined) {
      this.#digest = digest(this.#digest + json)
    }
  }

  /** Whether the record is another one than when it was last seen. */
  #isNews(sighting: Sighting): boolean {
    const last = this.#seen.contentOf(sighting) ?? this.#known.contentOf(sighting)
    this.#known.forget(sighting.identity)
    this.#seen.note(sighting)
    return last !== sighting.content
  }

  #name(value: JsonValue):
    | { readonly problem: string }
    | {
        readonly problem?: undefined
        readonly identity: string
        readonly fields: JsonObject
        readonly watermark: string | null
      } {
    const { identityField, watermarkField } = this.#options
    if (!isJsonObject(value)) {
      return { problem: 'is not a JSON object' }
    }
    const identity = pick(value, identityField)
    if (!isName(identity)) {
      return { problem: `has no value for ${identityField}, the identity field` }
    }
    if (watermarkField === undefined) {
      return { identity: String(identity), fields: value, watermark: null }
    }
    const watermark = readWatermark(pick(value, watermarkField))
    return watermark === null
      ? {
          problem: `has neither a time nor a whole number in ${watermarkField}, the watermark field`,
        }
      : { identity: String(identity), fields: value, watermark }
  }
}

function isName(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === 'string'
    ? value.trim() !== ''
    : typeof value === 'number' || typeof value === 'boolean'
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
