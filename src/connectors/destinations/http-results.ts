/**
 * Reads what an HTTP destination says of its records.
 *
 * Invariant: a record is only written or rejected when the answer says so of that record, once or
 * several times alike. Not covered, contradicted, or in a shape we do not know: unknown.
 */
import { z } from 'zod'
import type { Outcome } from '../../domain/delivery.ts'
import type { FailureCode } from '../../domain/failure.ts'
import { describeUnstorableText, isJsonObject } from '../../domain/json.ts'
import type { OutgoingRecord, Unanswered } from '../destination.ts'
import { describeAnswer, failureOfForm, holdsError } from '../http-answer.ts'
import { type HttpResponse, MAX_RETRY_AFTER_MS } from '../http-client.ts'
import { redact } from '../redact.ts'

/** Longest id of a destination that is kept, in characters. */
const MAX_REMOTE_ID_LENGTH = 200

/** Plain words with which simple receivers say that they took a record. */
const PLAIN_YES = /^(?:ok|accepted|created|received|success|true)[.!]?$/i

/** A 2xx to the call of one record. */
export function readRecordAnswer(response: HttpResponse): Outcome {
  const { json, bodyText } = response
  const text = bodyText.trim()
  if (text === '' || PLAIN_YES.test(text)) {
    return { kind: 'written', remoteId: null }
  }
  if (isJsonObject(json) && !holdsError(json)) {
    return { kind: 'written', remoteId: readRemoteId(json['id']) }
  }
  return readMisshapen(response, 'with a body that is not JSON of the expected shape')
}

/** A 2xx that does not say what it should: with an error inside, or in another form. */
export function readMisshapen(response: HttpResponse, how: string): Unanswered {
  return isJsonObject(response.json) && holdsError(response.json)
    ? unknown(`${describeAnswer(response)} (an error inside of a success)`)
    : unknown(`The destination answered ${response.status} ${how}.`, failureOfForm(response))
}

const resultShape = z.object({
  key: z.string(),
  status: z.enum(['written', 'rejected', 'retry']),
  id: z.unknown().optional(),
  reason: z.string().nullish().catch(null),
  retryAfterMs: z.number().min(0).nullish().catch(null),
})

/** One outcome a record, in the order of `records`. Null when the answer holds no results at all. */
export function readResults(
  response: HttpResponse,
  records: readonly Pick<OutgoingRecord, 'deliveryKey'>[],
): Outcome[] | null {
  const results = isJsonObject(response.json) ? response.json['results'] : undefined
  if (!Array.isArray(results)) {
    return null
  }
  const told = new Map<string, Outcome>()
  for (const result of results) {
    noteResult(told, result)
  }
  return records.map(
    ({ deliveryKey }) =>
      told.get(deliveryKey) ??
      unknown(`The destination answered ${response.status} without a result for this record.`),
  )
}

function noteResult(told: Map<string, Outcome>, result: unknown): void {
  const parsed = resultShape.safeParse(result)
  const key = parsed.success ? parsed.data.key : readKey(result)
  if (key === null) {
    return
  }
  const outcome = parsed.success
    ? toOutcome(parsed.data)
    : unknown('The destination gave a result for this record that is none of those it may give.')
  const before = told.get(key)
  const isContradicted = before && JSON.stringify(before) !== JSON.stringify(outcome)
  told.set(
    key,
    isContradicted
      ? unknown('The destination gave two different results for this record.')
      : outcome,
  )
}

function readKey(result: unknown): string | null {
  return isJsonObject(result) && typeof result['key'] === 'string' ? result['key'] : null
}

function toOutcome(result: z.infer<typeof resultShape>): Outcome {
  const words = result.reason ? redact(result.reason) : null
  switch (result.status) {
    case 'written':
      return { kind: 'written', remoteId: readRemoteId(result.id) }
    case 'rejected':
      return {
        kind: 'rejected',
        reason: words ?? 'The destination rejected the record and did not say why.',
      }
    case 'retry':
      return {
        kind: 'retryable',
        failure: result.retryAfterMs == null ? 'provider_unavailable' : 'provider_rate_limited',
        reason: words ?? 'The destination asked to send the record again later.',
        retryAfterMs:
          result.retryAfterMs == null ? null : Math.min(result.retryAfterMs, MAX_RETRY_AFTER_MS),
      }
  }
}

/** An id that cannot be kept as it is, is not kept: one that JSON rounded would name another record. */
export function readRemoteId(id: unknown): string | null {
  const text = Number.isSafeInteger(id) ? String(id) : id
  return typeof text === 'string' &&
    text !== '' &&
    text.length <= MAX_REMOTE_ID_LENGTH &&
    describeUnstorableText(text) === null
    ? text
    : null
}

export function unknown(reason: string, failure: FailureCode = 'provider_unavailable'): Unanswered {
  return { kind: 'unknown', failure, reason }
}
