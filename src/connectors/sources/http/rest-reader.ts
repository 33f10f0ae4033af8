/**
 * Reads a paged HTTP API pass by pass.
 *
 * A reader goes on with the pass that its cursor stands in, and tells the end where that ends. Where it has nothing of
 * that pass before it, it begins another one:
 *
 * - with a watermark: from the highest one of the passes before, or from when the last one was begun where that is
 *   earlier, less the overlap. What comes again unchanged is left out.
 * - without one: the whole list again, if it is another one than at the last time. So it is read twice then, first to
 *   compare. What has not changed as a whole is nothing new.
 *
 * Invariants: the end is only told of a pass that was read to its end. Each pass has cursors of its own, so what changes
 * back to an older content is written again (A, B, A is three writes). ADR 22 tells why.
 */
import { MAX_PAGE_RECORDS, type SourceRecord } from '../../../domain/page.ts'
import { assert } from '../../../runtime/assert.ts'
import type { ReadRequest, ReadResult, SourceReader } from '../../source.ts'
import { readStretch } from './read-records.ts'
import { type Sighting, sentBetween, sightingOf } from './recall.ts'
import { PlaceRefused, type RestApi, type RestPage } from './rest-api.ts'
import { beginningOf, cursorText, parseCursor, type RestCursor } from './rest-cursor.ts'
import type { RestStreamOptions } from './stream-options.ts'
import { notAfter, stepBack } from './watermark.ts'

export interface RestReaderOptions {
  readonly api: RestApi
  readonly options: RestStreamOptions
  /** The stream's name: see nameStream. */
  readonly stream: string
}

const ALL = { limit: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY }

export class RestReader implements SourceReader {
  readonly totalRecords = null
  readonly #api: RestApi
  readonly #options: RestStreamOptions
  readonly #stream: string
  /** The pass of the page that was read last. */
  #lastPass: number | null = null
  /** The API's page in which the next read goes on. */
  #ahead: { readonly cursor: string; readonly page: RestPage } | null = null
  /**
   * The first range that is gone: from where the next pass must ask. It stands until that pass has begun, since a read
   * that fails is tried again.
   */
  #lost: RestCursor | null = null

  constructor({ api, options, stream }: RestReaderOptions) {
    this.#api = api
    this.#options = options
    this.#stream = stream
  }

  readPage(request: ReadRequest): Promise<ReadResult> {
    assert(
      request.limit >= 1 && request.limit <= MAX_PAGE_RECORDS,
      `A page has 1 to ${MAX_PAGE_RECORDS} records.`,
    )
    const from = request.from === null ? this.#first() : parseCursor(request.from)
    return request.to === null
      ? this.#readOn(from, request)
      : this.#readRange(from, parseCursor(request.to), request.signal)
  }

  /** A record may lack what others have, so the first ones cannot speak for all. */
  listFields(): Promise<null> {
    return Promise.resolve(null)
  }

  close(): Promise<void> {
    this.#ahead = null
    return Promise.resolve()
  }

  async #readOn(given: RestCursor, { limit, signal }: ReadRequest): Promise<ReadResult> {
    let from: RestCursor | null = this.#mustAskAgain(given) ? this.#again(given) : given
    for (let isBegun = from !== given; from !== null; isBegun = true) {
      const read: ReadOn = from.isEnd
        ? { kind: 'end', at: from }
        : await this.#readOnce(from, limit, signal)
      if (read.kind === 'page') {
        this.#lastPass = read.page.to.pass
        this.#lost = null
        const { records, to } = read.page
        return { kind: 'page', from: cursorText(read.from), to: cursorText(to), records }
      }
      const isOver: boolean = isBegun || this.#lastPass === read.at.pass
      from = isOver ? null : await this.#findNextPass(read.at, signal)
    }
    this.#lost = null
    return { kind: 'end' }
  }

  /** Records behind `from`, or the end of its pass. */
  async #readOnce(from: RestCursor, limit: number, signal: AbortSignal): Promise<ReadOn> {
    let start = from
    let cursor = from
    while (!cursor.isEnd) {
      let page: RestPage
      try {
        page = await this.#fetchAhead(cursor, signal)
      } catch (error) {
        if (!(error instanceof PlaceRefused) || start !== from) {
          throw error
        }
        // The token has expired, or everything is refused: then the beginning of the pass is, too.
        start = this.#again(from)
        cursor = start
        page = await this.#fetchAhead(start, signal)
      }
      const { records, to } = readStretch(page, cursor, this.#options, { ...ALL, limit })
      this.#ahead = to.skip > 0 ? { cursor: cursorText(to), page } : null
      if (records.length > 0) {
        return { kind: 'page', from: start, page: { records, to: await this.#lookOn(to, signal) } }
      }
      cursor = to
    }
    return { kind: 'end', at: cursor }
  }

  /**
   * The end of the pass, where nothing new lies before it: a token behind the last record may be worth nothing
   * at the next run. Else `behind`, and what was found there is kept for the next read.
   */
  async #lookOn(behind: RestCursor, signal: AbortSignal): Promise<RestCursor> {
    let cursor = behind
    while (!cursor.isEnd && cursor.skip === 0) {
      try {
        const page = await this.#api.fetchPage(cursor, signal)
        const { records, to } = readStretch(page, cursor, this.#options, ALL)
        if (records.length > 0) {
          this.#ahead = cursor === behind ? { cursor: cursorText(behind), page } : null
          return behind
        }
        cursor = to
      } catch {
        // The next read meets it again, and says so. What was read before it is not lost.
        return behind
      }
    }
    return cursor
  }

  /** Where the pass behind a finished one begins; null: there is nothing new. */
  async #findNextPass(end: RestCursor, signal: AbortSignal): Promise<RestCursor | null> {
    const { watermarkField, watermarkOverlap } = this.#options
    if (watermarkField !== undefined) {
      const reached = end.top === null ? null : notAfter(end.top, end.began)
      const since = reached === null ? null : stepBack(reached, watermarkOverlap)
      return beginningOf({ ...end, pass: end.pass + 1, since, known: end.seen })
    }
    const next = beginningOf({ ...end, pass: end.pass + 1, since: null, known: '' })
    let cursor = next
    while (!cursor.isEnd) {
      const page = await this.#api.fetchPage(cursor, signal)
      cursor = readStretch(page, cursor, this.#options, ALL).to
    }
    return cursor.digest === end.digest ? null : next
  }

  async #readRange(from: RestCursor, to: RestCursor, signal: AbortSignal): Promise<ReadResult> {
    const isRange = from.pass === to.pass && from.step <= to.step && !this.#isOfOtherStream(from)
    const start = isRange ? await this.#standAt(from, signal) : null
    if (start === null) {
      // What is lost with it comes again in the next pass, which this reader begins. Another stream's has no place in it.
      if (!this.#isOfOtherStream(from)) {
        this.#lost ??= from
      }
      return { kind: 'gone', reason: 'The other system does not have the page any more.' }
    }
    const records: SourceRecord[] = []
    const missing = sentBetween(from, to)
    for (let { page, cursor } = start; ; page = await this.#api.fetchPage(cursor, signal)) {
      const end = cursor.step === to.step ? to.skip : ALL.end
      const stretch = readStretch(page, cursor, this.#options, { ...ALL, end })
      records.push(...stretch.records)
      for (const record of stretch.records) {
        missing.delete(sightingOfRecord(record).identity)
      }
      cursor = stretch.to
      if (cursor.isEnd || cursor.step > to.step || isAt(cursor, to)) {
        records.push(...(await this.#findMoved(from, missing, signal)))
        return { kind: 'page', from: cursorText(from), to: cursorText(to), records }
      }
    }
  }

  /**
   * What lay in a range and lies unchanged elsewhere in its pass: with a watermark nothing else gives it again. What
   * has changed comes by its watermark, and what is found nowhere is gone.
   */
  async #findMoved(
    from: RestCursor,
    missing: Map<string, string>,
    signal: AbortSignal,
  ): Promise<SourceRecord[]> {
    const found: SourceRecord[] = []
    let cursor = beginningOf({ ...from, known: '' })
    while (missing.size > 0 && !cursor.isEnd) {
      const page = await this.#api.fetchPage(cursor, signal)
      const { records, to } = readStretch(page, cursor, this.#options, ALL)
      for (const record of records) {
        const { identity, content } = sightingOfRecord(record)
        if (missing.get(identity) === content) {
          found.push(record)
        }
        missing.delete(identity)
      }
      cursor = to
    }
    return found
  }

  async #standAt(from: RestCursor, signal: AbortSignal): Promise<Standing | null> {
    try {
      return { page: await this.#api.fetchPage(from, signal), cursor: from }
    } catch (error) {
      if (error instanceof PlaceRefused) {
        return this.#walkTo(from, signal)
      }
      throw error
    }
  }

  /**
   * Goes to a page of a pass from its beginning, for a token that has expired. Null: the pass is shorter by now. The API
   * may have other records there; those that are remembered of the page are told by their identities.
   */
  async #walkTo(target: RestCursor, signal: AbortSignal): Promise<Standing | null> {
    let walked = beginningOf({ ...target, known: '' })
    while (!walked.isEnd) {
      const page = await this.#api.fetchPage(walked, signal)
      if (walked.step === target.step) {
        return { page, cursor: { ...target, at: walked.at } }
      }
      walked = readStretch(page, walked, this.#options, ALL).to
    }
    return null
  }

  /** Only for reading on: a range is read as it is now. */
  async #fetchAhead(cursor: RestCursor, signal: AbortSignal): Promise<RestPage> {
    const ahead = this.#ahead
    this.#ahead = null
    return ahead !== null && ahead.cursor === cursorText(cursor)
      ? ahead.page
      : await this.#api.fetchPage(cursor, signal)
  }

  #first(): RestCursor {
    return beginningOf({ ...this.#named(), pass: 0, since: null, top: null, known: '' })
  }

  #named(): Pick<RestCursor, 'by' | 'of'> {
    return { by: this.#options.paging, of: this.#stream }
  }

  #mustAskAgain(cursor: RestCursor): boolean {
    return this.#lost !== null || this.#isOfOtherStream(cursor)
  }

  #isOfOtherStream(cursor: RestCursor): boolean {
    return cursor.of !== this.#stream
  }

  /** The pass of a cursor from its beginning, as another one. How far another stream was read says nothing of this one. */
  #again(cursor: RestCursor): RestCursor {
    const { pass, since, top } = cursor
    if (this.#isOfOtherStream(cursor)) {
      return beginningOf({ ...this.#named(), pass: pass + 1, since: null, top: null, known: '' })
    }
    const lost = this.#lost
    return beginningOf({
      pass: pass + 1,
      ...this.#named(),
      since: lost === null ? since : lost.since,
      top,
      known: lost === null ? cursor.known : '',
    })
  }
}

type ReadOn =
  | {
      readonly kind: 'page'
      /** Where the page begins: another place where the pass had to be begun again. */
      readonly from: RestCursor
      readonly page: { readonly records: readonly SourceRecord[]; readonly to: RestCursor }
    }
  | { readonly kind: 'end'; readonly at: RestCursor }

interface Standing {
  readonly page: RestPage
  readonly cursor: RestCursor
}

function sightingOfRecord({ identity, fields }: SourceRecord): Sighting {
  return sightingOf(identity, JSON.stringify(fields ?? null))
}

function isAt(cursor: RestCursor, { step, skip }: RestCursor): boolean {
  return cursor.step === step && cursor.skip >= skip
}
