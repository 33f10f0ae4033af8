/**
 * What an answer of the Admin API means for the read.
 *
 * Invariant: data is only what came with 200, from the version that was asked, with its time and without a single
 * error: half of the data beside an error is no data.
 */
import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import { ConnectorError } from '../../connector.ts'
import type { HttpResponse, HttpResult } from '../../http-client.ts'
import { MAX_RETRY_AFTER_MS } from '../../http-client.ts'
import { redact } from '../../redact.ts'

const costShape = z.object({
  requestedQueryCost: z.number().min(0),
  throttleStatus: z.object({
    maximumAvailable: z.number().positive(),
    currentlyAvailable: z.number(),
    restoreRate: z.number().positive(),
  }),
})

export type QueryCost = z.infer<typeof costShape>

export type Verdict =
  | {
      readonly kind: 'data'
      readonly data: JsonObject
      readonly cost: QueryCost | null
      /** By Shopify's clock. */
      readonly servedAtMs: number
      readonly deprecatedReason: string | null
    }
  /** The bucket holds too little. Nothing was read. */
  | { readonly kind: 'throttled'; readonly cost: QueryCost | null }
  | { readonly kind: 'slowDown'; readonly waitMs: number | null; readonly reason: string }
  /** One query may not cost so much. */
  | { readonly kind: 'tooCostly'; readonly reason: string }
  /** It may go well the next time. */
  | { readonly kind: 'passing'; readonly reason: string }
  /** The token is not valid, or not any more. */
  | { readonly kind: 'tokenRefused'; readonly reason: string }
  /** The query itself: a field that the version does not have, a cursor that it does not know. */
  | { readonly kind: 'queryRefused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: ConnectorError }

/** Statuses that only the shop's owner or whoever set up the connection can do something about. */
const STANDING: Readonly<Record<number, string>> = {
  400: 'Shopify does not take the query',
  402: "the shop is frozen until its owner has paid Shopify's bill",
  404: 'there is no such shop, or not this version of its API; check shop and apiVersion',
  423: 'the shop is locked; its owner has to ask Shopify why',
}

export function readAnswer(result: HttpResult, apiVersion: string): Verdict {
  if (result.kind !== 'response') {
    return result.kind === 'not_sent' && result.isMisdirected
      ? { kind: 'failed', error: new ConnectorError('node_failed', result.reason) }
      : { kind: 'passing', reason: result.reason }
  }
  return result.status === 200 ? readBody(result, apiVersion) : readStatus(result)
}

function readStatus(response: HttpResponse): Verdict {
  const { status } = response
  const reason = describeAnswer(response)
  if (status === 401) {
    return { kind: 'tokenRefused', reason }
  }
  if (status === 403) {
    return { kind: 'failed', error: new ConnectorError('connection_unauthorized', reason) }
  }
  if (status === 429 || status === 430) {
    return { kind: 'slowDown', waitMs: readRetryAfter(response), reason }
  }
  if (status >= 300 && status < 400) {
    return { kind: 'failed', error: new ConnectorError('node_failed', describeRedirect(response)) }
  }
  const standing = STANDING[status]
  return standing === undefined
    ? { kind: 'passing', reason }
    : {
        kind: 'failed',
        error: new ConnectorError('node_failed', `${reason} That is: ${standing}.`),
      }
}

function readBody(response: HttpResponse, apiVersion: string): Verdict {
  const { json } = response
  if (!isJsonObject(json)) {
    return { kind: 'passing', reason: describeAnswer(response) }
  }
  const cost = readCost(json)
  const errors = readErrors(json['errors'])
  if (errors.length > 0) {
    return readGraphqlErrors(errors, cost)
  }
  const { data } = json
  if (!isJsonObject(data)) {
    return { kind: 'passing', reason: 'Shopify answered 200 without data and without an error.' }
  }
  const answeredBy = response.headers['x-shopify-api-version'] ?? null
  if (answeredBy !== apiVersion) {
    return { kind: 'failed', error: anotherVersion(apiVersion, answeredBy) }
  }
  // biome-ignore lint/style/noRestrictedGlobals: this reads a date that was sent, not a clock.
  const servedAtMs = Date.parse(response.headers['date'] ?? '')
  if (Number.isNaN(servedAtMs)) {
    return { kind: 'passing', reason: 'Shopify answered without a Date header.' }
  }
  const deprecated = response.headers['x-shopify-api-deprecated-reason']
  const deprecatedReason = deprecated === undefined ? null : redact(deprecated)
  return { kind: 'data', data, cost, servedAtMs, deprecatedReason }
}

const VERSION = /^[\w-]{1,20}$/

/** A version that has run out is answered by the oldest one that has not: its fields may mean something else. */
function anotherVersion(asked: string, answered: string | null): ConnectorError {
  const by =
    answered === null || !VERSION.test(answered)
      ? 'without saying its version'
      : `with version ${answered}`
  return new ConnectorError(
    'node_failed',
    `Shopify was asked for version ${asked} of its API and answered ${by}; set apiVersion to one that it supports.`,
  )
}

interface GraphqlError {
  readonly message: string
  readonly code: string | null
  /** The field that it is about. */
  readonly field: string | null
}

const errorShape = z.object({
  message: z.string().catch('without a message'),
  path: z.array(z.union([z.string(), z.number()])).catch([]),
  extensions: z.object({ code: z.string().nullable().catch(null) }).catch({ code: null }),
})

function readErrors(errors: unknown): readonly GraphqlError[] {
  if (errors === undefined || errors === null) {
    return []
  }
  const list: readonly unknown[] = Array.isArray(errors) ? errors : [errors]
  return list.map((error) => {
    const parsed = errorShape.safeParse(error)
    if (!parsed.success) {
      return { message: typeof error === 'string' ? error : 'unreadable', code: null, field: null }
    }
    const { message, path, extensions } = parsed.data
    const field = path.filter((part) => typeof part === 'string').at(-1) ?? null
    return { message, code: extensions.code, field }
  })
}

function readGraphqlErrors(errors: readonly GraphqlError[], cost: QueryCost | null): Verdict {
  const find = (code: string) => errors.find((error) => error.code === code)
  if (find('THROTTLED')) {
    return { kind: 'throttled', cost }
  }
  const denied = find('ACCESS_DENIED')
  if (denied) {
    return { kind: 'failed', error: accessDenied(denied) }
  }
  const inactive = find('SHOP_INACTIVE')
  if (inactive) {
    const reason = 'The shop is not active (SHOP_INACTIVE); its owner has to open it again.'
    return { kind: 'failed', error: new ConnectorError('node_failed', reason) }
  }
  const [first] = errors
  const reason = `Shopify refused the query (${first?.code ?? 'no code'}): ${redact(first?.message ?? '')}`
  if (find('MAX_COST_EXCEEDED')) {
    return { kind: 'tooCostly', reason }
  }
  return find('INTERNAL_SERVER_ERROR')
    ? { kind: 'passing', reason }
    : { kind: 'queryRefused', reason }
}

function accessDenied({ field, message }: GraphqlError): ConnectorError {
  const what = field === null ? '' : ` to ${redact(field)}`
  return new ConnectorError(
    'connection_unauthorized',
    `Shopify refuses this app access${what} (ACCESS_DENIED): ${redact(message)} ${APPROVAL}`,
  )
}

/** What whoever owns the app can do. */
export const APPROVAL =
  "Give the app the scope read_customers (for orders read_orders, too), and ask in Shopify's Partner or Dev Dashboard for access to protected customer data with the fields name, e-mail, phone and address."

function readCost(json: JsonObject): QueryCost | null {
  const { extensions } = json
  const parsed = costShape.safeParse(isJsonObject(extensions) ? extensions['cost'] : undefined)
  return parsed.success ? parsed.data : null
}

/** In seconds, also parts of them, which the HTTP client does not read. */
function readRetryAfter({ headers, retryAfterMs }: HttpResponse): number | null {
  const text = headers['retry-after']?.trim() ?? ''
  return /^\d+\.\d+$/.test(text)
    ? Math.min(Math.ceil(Number(text) * 1000), MAX_RETRY_AFTER_MS)
    : retryAfterMs
}

const HOST = /^[a-z0-9.-]{1,253}$/

/** An alias leads elsewhere; the token is not sent there. */
function describeRedirect({ status, headers }: HttpResponse): string {
  const location = headers['location'] ?? ''
  const host = URL.canParse(location) ? new URL(location).hostname : ''
  return HOST.test(host)
    ? `Shopify answered ${status}: the shop is found at ${host}; connect that domain.`
    : `Shopify answered ${status}: the shop is found elsewhere; connect its own domain.`
}

export function describeAnswer({ status, json, headers, bodyText }: HttpResponse): string {
  const isPage =
    (headers['content-type'] ?? '').includes('html') || bodyText.trimStart().startsWith('<')
  if (isPage) {
    return `Shopify answered ${status} with a web page.`
  }
  const [first] = isJsonObject(json)
    ? readErrors(json['errors'] ?? json['error_description'] ?? json['error'])
    : []
  return first
    ? `Shopify answered ${status}: ${redact(first.message)}`
    : `Shopify answered ${status}.`
}
