/**
 * What browsers may do: pages of other origins, and requests that a page can send without asking first.
 *
 * A browser asks first (a preflight) before it sends a header or a content type that is not "simple". A request
 * without either may come from any page, with whatever the browser adds by itself, so it is refused. The token,
 * which the browser does not add, would keep such a page out as well: this holds should that ever change.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** For requests without a body, or with a simple content type. Any value will do. */
const PREFLIGHT_HEADER = 'graphql-require-preflight'
/** Those that clients of other servers send for the same. */
const PREFLIGHT_HEADERS = [
  PREFLIGHT_HEADER,
  'apollo-require-preflight',
  'x-apollo-operation-name',
  'x-graphql-yoga-csrf',
]
const SIMPLE_CONTENT_TYPES = new Set([
  '',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
])
const MAX_AGE_S = 7_200

export const PREFLIGHT_NEEDED = {
  code: 'PREFLIGHT_NEEDED',
  message: `A browser may send this request without asking first: send the content type application/json, or a header ${PREFLIGHT_HEADER}.`,
}

export const ORIGIN_REFUSED = {
  code: 'ORIGIN_REFUSED',
  message: 'Pages of this origin may not use the API: it is not among ALLOWED_ORIGINS.',
}

/** Whether a browser sends the request only after it has asked. */
export function needsPreflight({ headers }: IncomingMessage): boolean {
  const type = (headers['content-type'] ?? '').split(/[;,]/)[0]?.trim().toLowerCase() ?? ''
  return (
    !SIMPLE_CONTENT_TYPES.has(type) || PREFLIGHT_HEADERS.some((name) => headers[name] !== undefined)
  )
}

/** Whether a page of that origin may use the API; a request without one is of no page. */
export function isOriginAllowed(request: IncomingMessage, allowed: readonly string[]): boolean {
  const { origin, host } = request.headers
  return origin === undefined || allowed.includes(origin) || isOwn(origin, host)
}

function isOwn(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase()
}

/** A browser's question, which carries no token. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Lets pages of the allowed origins read the answer. */
export function allowOrigin(
  request: IncomingMessage,
  response: ServerResponse,
  allowed: readonly string[],
): void {
  const { origin } = request.headers
  if (allowed.length > 0) {
    response.setHeader('vary', 'Origin')
  }
  if (origin !== undefined && allowed.includes(origin)) {
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('access-control-expose-headers', 'Retry-After, WWW-Authenticate')
  }
}

export function answerPreflight(response: ServerResponse): void {
  response.setHeader('access-control-allow-methods', 'GET, POST')
  response.setHeader(
    'access-control-allow-headers',
    ['Authorization', 'Content-Type', 'Tajo-Workspace', ...PREFLIGHT_HEADERS].join(', '),
  )
  response.setHeader('access-control-max-age', String(MAX_AGE_S))
  response.writeHead(204).end()
}
