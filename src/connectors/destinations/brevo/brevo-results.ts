/**
 * What Brevo's answer to a write of one contact means.
 *
 * Invariant: a conflict is told by what it is about (`metadata`, and the message where there is none), never by its
 * code, which has changed before.
 */
import type { Outcome } from '../../../domain/delivery.ts'
import { isJsonObject } from '../../../domain/json.ts'
import { classifyStatus, describeAnswer, type StatusClass } from '../../http-answer.ts'
import type { HttpResponse } from '../../http-client.ts'
import { readMisshapen, readRemoteId } from '../http-results.ts'
import { describeAccess } from './brevo-api.ts'
import { type BrevoRoute, waitOf } from './brevo-buckets.ts'
import { PHONE_ATTRIBUTES } from './brevo-phone.ts'

export type ContactAnswer =
  | Outcome
  /** Refused because of these phones, and nothing else: nothing was applied. */
  | { readonly kind: 'phoneRefused'; readonly phones: readonly string[]; readonly reason: string }

export function readContactAnswer(response: HttpResponse): ContactAnswer {
  const verdict = classifyWrite(response, { endpoint: 'POST /contacts', route: 'contacts' })
  if (verdict.kind === 'ok') {
    return readWritten(response)
  }
  if (verdict.kind !== 'rejected') {
    return verdict
  }
  const phones = findRefusedPhones(response)
  return phones.length > 0 ? { kind: 'phoneRefused', phones, reason: verdict.reason } : verdict
}

/** As any API's answer, but for what Brevo says of waits, of access and of the account. */
export function classifyWrite(
  response: HttpResponse,
  { endpoint, route }: { readonly endpoint: string; readonly route: BrevoRoute },
): StatusClass {
  const verdict = classifyStatus(response, { endpoint, isIdempotent: true })
  if (verdict.kind === 'retryable') {
    const { failure } = verdict
    const reason = describeAccess(failure, verdict.reason)
    const isLimited = failure === 'provider_rate_limited'
    const retryAfterMs = isLimited ? waitOf(response, route) : verdict.retryAfterMs
    return { kind: 'retryable', failure, reason, retryAfterMs }
  }
  if (verdict.kind === 'rejected' && memberOf(response, 'code').startsWith('account_')) {
    const { reason } = verdict
    return { kind: 'retryable', failure: 'provider_unavailable', reason, retryAfterMs: null }
  }
  return verdict
}

/** 201 with an id for a new contact, 204 without a body for a known one. */
function readWritten(response: HttpResponse): Outcome {
  const { status, json, bodyText } = response
  if (status === 204 && bodyText === '') {
    return { kind: 'written', remoteId: null }
  }
  const id = isJsonObject(json) ? readRemoteId(json['id']) : null
  return id !== null && (status === 200 || status === 201)
    ? { kind: 'written', remoteId: id }
    : readMisshapen(response, 'without saying that it has the contact')
}

/** Empty also where something else is wrong, too. */
function findRefusedPhones(response: HttpResponse): readonly string[] {
  const { json } = response
  const metadata = isJsonObject(json) && isJsonObject(json['metadata']) ? json['metadata'] : {}
  const identifiers = metadata['duplicate_identifiers']
  const message = memberOf(response, 'message')
  if (Array.isArray(identifiers) && identifiers.length > 0) {
    const named = identifiers.map((one) => String(one).toUpperCase())
    return named.every(isPhone) ? named : []
  }
  if (/already associated/i.test(message)) {
    const named = PHONE_ATTRIBUTES.filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(message))
    return /\b(?:email|ext_id)\b/i.test(message) ? [] : named
  }
  return /\bphone number\b/i.test(message) ? PHONE_ATTRIBUTES : []
}

function isPhone(name: string): boolean {
  return PHONE_ATTRIBUTES.includes(name)
}

function memberOf({ json }: HttpResponse, name: string): string {
  const value = isJsonObject(json) ? json[name] : null
  return typeof value === 'string' ? value : ''
}

/** For where an answer is about nothing but the call. */
export function describeCall(response: HttpResponse, endpoint: string): string {
  return `To ${endpoint}: ${describeAnswer(response)}`
}
