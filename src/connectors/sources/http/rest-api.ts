/**
 * Asks the API for one of its pages.
 *
 * Invariants: nothing is sent to another origin than that of the base URL, wherever the API says that the next page
 * lies. What is not a page as it should be is an error that says so, and never an empty page or the end.
 */

import { isJsonArray, isJsonObject, type JsonValue, MAX_JSON_DEPTH } from '../../../domain/json.ts'
import { readMember } from '../../../domain/mapping-path.ts'
import { type Clock, type Instant, instantAt, parseInstant } from '../../../runtime/clock.ts'
import { ConnectorError } from '../../connector.ts'
import { classifyResult, classifyStatus, failureOfForm, holdsError } from '../../http-answer.ts'
import type { HttpCalls } from '../../http-calls.ts'
import type { HttpResponse } from '../../http-client.ts'
import { describeUnfitRecord, isDeeperThan, keepDigits } from '../exact-json.ts'
import { findNext, pick } from './next-page.ts'
import type { RestCursor } from './rest-cursor.ts'
import { firstPageOf, type RestStreamOptions } from './stream-options.ts'

/** Longest body of one page. */
const MAX_BODY_BYTES = 16 * 1024 * 1024
/** Levels around the records. */
const MAX_WRAPPING_DEPTH = 16
/** What APIs answer to a token that they do not know any more, and to other mistakes. */
const REFUSED_PLACES: ReadonlySet<number> = new Set([400, 404, 410, 422])

const SPEAKER = 'The other system'

/** One row of a page: what it holds, and why it is no record, or null. */
export interface RestRow {
  readonly value: JsonValue
  readonly problem: string | null
}

export interface RestPage {
  readonly rows: readonly RestRow[]
  /** What gives the next page; null: this is the last one. */
  readonly next: string | null
  /** A moment before the API looked for them, by its own clock where it tells it. */
  readonly askedAt: Instant
}

/** The API was asked for a place that it had given itself, and does not take it. */
export class PlaceRefused extends ConnectorError {}

export interface RestApiOptions {
  readonly calls: HttpCalls
  readonly headers: Readonly<Record<string, string>>
  /** The stream, without parameters. */
  readonly url: URL
  readonly options: RestStreamOptions
  readonly clock: Clock
}

export class RestApi {
  readonly #given: RestApiOptions

  constructor(given: RestApiOptions) {
    this.#given = given
  }

  /** Throws ConnectorError, or the signal's reason. */
  async fetchPage(cursor: RestCursor, signal: AbortSignal): Promise<RestPage> {
    const url = this.#urlOf(cursor)
    const { options } = this.#given
    const { response, body, askedAt } = await this.#ask(url, signal, cursor)
    const list = pick(body, options.recordsPath)
    if (list === undefined || list === null || typeof list !== 'object' || !isJsonArray(list)) {
      throw misshapen(response, `no list of records ${placeOf(options.recordsPath)}`)
    }
    const plain = pick(response.json as JsonValue, options.recordsPath)
    const rows = list.map((value, index) => {
      const unread = readMember(plain ?? null, String(index))
      return { value, problem: describeUnfitRecord(unread, response.bodyText) }
    })
    const next = findNext({ ...{ options, cursor, url, body }, count: rows.length, response })
    if (typeof next === 'object' && next !== null) {
      throw misshapen(response, next.problem)
    }
    return { rows, next, askedAt }
  }

  async #ask(
    url: URL,
    signal: AbortSignal,
    cursor: RestCursor,
  ): Promise<{
    readonly response: HttpResponse
    readonly body: JsonValue
    readonly askedAt: Instant
  }> {
    const { calls, headers, options, clock } = this.#given
    signal.throwIfAborted()
    let sentAt = clock.now()
    let sentMs = clock.monotonicMs()
    const result = await calls.ask({
      ...{ method: 'GET', url, headers, body: '', signal },
      ...{ deadlineMs: options.requestDeadlineMs, maxResponseBytes: MAX_BODY_BYTES },
      // It may have waited for its turn.
      beforeSend: () => {
        sentAt = clock.now()
        sentMs = clock.monotonicMs()
      },
    })
    signal.throwIfAborted()
    if (result.kind !== 'response') {
      const { failure, reason } = classifyResult(result)
      throw new ConnectorError(failure, reason)
    }
    const endpoint = `GET ${this.#given.url.pathname}`
    const verdict = classifyStatus(result, { endpoint, isIdempotent: true, speaker: SPEAKER })
    if (verdict.kind !== 'ok') {
      const isRefused = cursor.at !== null && cursor.by !== 'PAGE'
      const failure = 'failure' in verdict ? verdict.failure : 'node_failed'
      const reason = 'failure' in verdict ? verdict.reason : `To ${endpoint}: ${verdict.reason}`
      const Failure = isRefused && REFUSED_PLACES.has(result.status) ? PlaceRefused : ConnectorError
      throw new Failure(failure, reason, { retryAfterMs: result.retryAfterMs })
    }
    const answeredAt = readDate(result.headers['date'])
    const askedAt =
      answeredAt === null
        ? sentAt
        : instantAt(answeredAt.getTime() - Math.ceil(clock.monotonicMs() - sentMs))
    return { response: result, body: readBody(result), askedAt }
  }

  #urlOf({ at, since }: RestCursor): URL {
    const { url: stream, options } = this.#given
    if (at !== null && options.paging === 'LINK') {
      return toOrigin(stream, at)
    }
    const url = new URL(stream)
    for (const [name, value] of Object.entries(options.query ?? {})) {
      url.searchParams.set(name, value)
    }
    const { sizeParameter, watermarkParameter, cursorParameter, pageParameter } = options
    if (sizeParameter !== undefined) {
      url.searchParams.set(sizeParameter, String(options.size))
    }
    if (watermarkParameter !== undefined && since !== null) {
      url.searchParams.set(watermarkParameter, since)
    }
    if (cursorParameter !== undefined && at !== null) {
      url.searchParams.set(cursorParameter, at)
    }
    if (pageParameter !== undefined) {
      url.searchParams.set(pageParameter, at ?? String(firstPageOf(options)))
    }
    return url
  }
}

/** Path and query, which may begin with `//`: put behind the origin, they cannot name another host. */
function toOrigin(stream: URL, at: string): URL {
  const url = new URL(`${stream.origin}${at}`)
  if (url.origin !== stream.origin || !at.startsWith('/')) {
    throw new ConnectorError('node_failed', 'The cursor leads to another host.')
  }
  return url
}

function readBody(response: HttpResponse): JsonValue {
  const { json, bodyText } = response
  if (json === undefined) {
    throw misshapen(response, 'a body that is not JSON, or only a part of it')
  }
  const body = json as JsonValue
  if (isDeeperThan(body, MAX_JSON_DEPTH + MAX_WRAPPING_DEPTH)) {
    throw new ConnectorError('node_failed', `${SPEAKER} nests its answer too deeply.`)
  }
  return keepDigits(body, bodyText)
}

/** A header Date; null: there is none that can be. */
function readDate(header: string | undefined): Instant | null {
  // biome-ignore lint/style/noRestrictedGlobals: this reads a date that was sent, not a clock.
  const ms = Date.parse(header ?? '')
  return Number.isNaN(ms) ? null : parseInstant(instantAt(ms).toISOString())
}

/** A 2xx that is no page. */
function misshapen(response: HttpResponse, what: string): ConnectorError {
  const isError = isJsonObject(response.json) && holdsError(response.json)
  const reason = `${SPEAKER} answered ${response.status} with ${isError ? 'an error inside, and ' : ''}${what}.`
  const failure = isError ? 'provider_unavailable' : failureOfForm(response)
  return new ConnectorError(failure, reason, { retryAfterMs: response.retryAfterMs })
}

function placeOf(path: string | undefined): string {
  return path === undefined ? 'as its body' : `at ${path}`
}
