/**
 * What an HTTP answer means for the records of the call, the same for every destination.
 *
 * Invariant: only what the destination itself says counts (I12). A page of a proxy, a broken answer or a 5xx
 * says nothing about whether the write was applied, so it is unknown; what was refused before it could
 * be applied is retryable; a record is only called rejected when the answer is about the record.
 */
import type { Outcome } from '../domain/delivery.ts'
import type { FailureCode } from '../domain/failure.ts'
import { isJsonObject, type JsonObject } from '../domain/json.ts'
import type { HttpResponse, HttpResult } from './http-client.ts'
import { redact } from './redact.ts'
import { isWebPage } from './web-page.ts'

type Unwritten = Exclude<Outcome, { kind: 'written' }>

export type StatusClass =
  /** 2xx and not a web page: what it says of the records is the destination's to read. */
  { readonly kind: 'ok' } | Unwritten

export interface ClassifyOptions {
  /** Method and path, for a person to recognise: no query, no user. */
  readonly endpoint: string
  /** Whether the destination honours our Idempotency-Key: then 409 means that the first try still runs. */
  readonly isIdempotent: boolean
  /** Who answered, as a sentence begins with it. Default: the destination. */
  readonly speaker?: string
}

/** Statuses that are about the endpoint or the account, not about a record: nothing was applied. */
const ENDPOINT_STATUSES: ReadonlySet<number> = new Set([402, 404, 405, 406, 410, 411, 415])
const REFUSED_ACCESS: ReadonlySet<number> = new Set([401, 403])
const SLOW_DOWN: ReadonlySet<number> = new Set([425, 429])

export function classifyResult(
  result: Exclude<HttpResult, HttpResponse>,
): Extract<Outcome, { kind: 'retryable' | 'unknown' }> {
  const { reason } = result
  if (result.kind === 'unknown') {
    return { kind: 'unknown', failure: 'provider_unavailable', reason }
  }
  // Whoever gave the address can mend it, and nobody else.
  const failure = result.isMisdirected ? 'node_failed' : 'provider_unavailable'
  return { kind: 'retryable', failure, reason, retryAfterMs: null }
}

export function classifyStatus(response: HttpResponse, options: ClassifyOptions): StatusClass {
  const { status } = response
  const reason = describeAnswer(response, options.speaker)
  const retryable = (failure: FailureCode, why = reason): StatusClass => {
    return { kind: 'retryable', failure, reason: why, retryAfterMs: response.retryAfterMs }
  }
  if (REFUSED_ACCESS.has(status)) {
    return retryable('connection_unauthorized')
  }
  if (SLOW_DOWN.has(status)) {
    return retryable('provider_rate_limited')
  }
  if (ENDPOINT_STATUSES.has(status) || (status >= 300 && status < 400)) {
    return retryable('node_failed', `To ${options.endpoint}: ${reason}`)
  }
  if (status === 503 && isJsonObject(response.json)) {
    return retryable('provider_unavailable')
  }
  // Also from a proxy this says that nothing was taken in.
  if (status === 413) {
    return { kind: 'rejected', reason }
  }
  if (status >= 500 || status === 408 || status < 200 || isWebPage(response)) {
    return { kind: 'unknown', failure: 'provider_unavailable', reason }
  }
  if (status < 300) {
    return { kind: 'ok' }
  }
  return status === 409 && options.isIdempotent
    ? retryable('provider_unavailable')
    : { kind: 'rejected', reason }
}

/**
 * What an answer is for that came whole, and in another form than the API should give: whoever chose the API can
 * mend that. Half an answer may be whole the next time.
 */
export function failureOfForm({ json, bodyText }: HttpResponse): FailureCode {
  return json === undefined && bodyText.trim() !== '' ? 'provider_unavailable' : 'node_failed'
}

/** One sentence: the status, and the other system's words where it has some. */
export function describeAnswer(response: HttpResponse, speaker = 'The destination'): string {
  const words = isWebPage(response) ? null : findWords(response)
  if (words) {
    return `${speaker} answered ${response.status}: ${redact(words)}`
  }
  const what = isWebPage(response) ? ' with a web page' : ''
  return `${speaker} answered ${response.status}${what}.`
}

/** Members in which APIs say what is wrong, in the order in which they are believed. */
const WORD_MEMBERS = [
  'message',
  'detail',
  'error_description',
  'reason',
  'error',
  'title',
  'errors',
  'code',
]
const MAX_WORD_DEPTH = 3

function findWords(response: HttpResponse): string | null {
  return response.json === undefined
    ? response.bodyText.trim() || null
    : pickWords(response.json, MAX_WORD_DEPTH)
}

/** Only members known to hold words: an API may repeat the whole record in its error. */
function pickWords(value: unknown, depth: number): string | null {
  if (typeof value === 'string') {
    return value.trim() || null
  }
  if (depth === 0) {
    return null
  }
  if (Array.isArray(value)) {
    return pickWords(value[0], depth - 1)
  }
  if (!isJsonObject(value)) {
    return null
  }
  for (const member of WORD_MEMBERS) {
    const words = pickWords(value[member], depth - 1)
    if (words) {
      return words
    }
  }
  return null
}

/** APIs that answer 200 to everything say what went wrong in one of these. */
export function holdsError(body: JsonObject): boolean {
  const { error, errors, success, ok, status } = body
  return (
    isTold(error) ||
    isTold(errors) ||
    success === false ||
    ok === false ||
    (typeof status === 'string' && /^(?:error|fail|failed|failure)$/i.test(status))
  )
}

function isTold(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}
