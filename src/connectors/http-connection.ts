/**
 * A connection to an HTTP API, the same for the source and the destination: where it lies, what opens it, and
 * which paths below it may be called.
 *
 * Invariant: a path stays below the base URL, also once it is decoded, so that credentials go nowhere else.
 */
import type { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'
import { assert } from '../runtime/assert.ts'
import { numberSetting, settingsObject, textSetting, withoutUndefined } from './settings.ts'

const MAX_URL_LENGTH = 2_000
const MAX_HEADER_LENGTH = 8_000
/** Longest path below the base URL. */
export const MAX_PATH_LENGTH = 500

/** Where the API lies. */
const baseUrl = textSetting('baseUrl', MAX_URL_LENGTH).superRefine((text, context) => {
  const problem = describeBaseUrlProblem(text)
  if (problem) {
    context.addIssue({ code: 'custom', message: `baseUrl ${problem}.` })
  }
})

function describeBaseUrlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return 'must be an address that starts with http:// or https://'
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not contain a user name or password; put them into the credentials'
  }
  return /[?#]/.test(text) ? 'must not contain a query or a fragment' : null
}

/** So that no single wait for a turn is as long as one that ends an attempt. */
const MIN_CALLS_PER_SECOND = 0.05
const MAX_CALLS_PER_SECOND = 1_000

export const httpConnectionConfig = settingsObject({
  baseUrl: baseUrl.describe('Address of the API; objects and streams are paths below it.'),
  maxCallsPerSecond: numberSetting('maxCallsPerSecond', MIN_CALLS_PER_SECOND, MAX_CALLS_PER_SECOND)
    .describe('Most calls a second, in all processes together; a fraction is fewer than one.')
    .optional(),
})

const SECRET_PREFIX = 'whsec_'
/** As the Standard Webhooks specification says. */
const SECRET_BYTES = { least: 24, most: 64 }

/** Headers that the client or the protocol writes itself. */
const RESERVED_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'import-tag',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
])

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

const printable = (field: string) =>
  textSetting(field, MAX_HEADER_LENGTH).regex(HEADER_VALUE, {
    error: `${field} must consist of printable ASCII characters, without spaces at its ends.`,
  })

const credentialsShape = settingsObject({
  bearerToken: printable('bearerToken').describe('Sent as Authorization: Bearer.').optional(),
  headerName: textSetting('headerName', 100)
    .regex(HEADER_NAME, { error: 'headerName must be the name of an HTTP header.' })
    .refine((name) => !RESERVED_HEADERS.has(name.toLowerCase()), {
      error: 'headerName must not be a header that the connector writes itself.',
    })
    .describe('A header that carries a secret, such as X-Api-Key.')
    .optional(),
  headerValue: printable('headerValue').describe('The secret in that header.').optional(),
  signingSecret: textSetting('signingSecret', 200)
    .refine(isSigningSecret, {
      error: `signingSecret must be ${SECRET_PREFIX} and ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes in base64.`,
    })
    .describe('Signs what the destination is sent, as Standard Webhooks says.')
    .optional(),
})

function isSigningSecret(text: string): boolean {
  const base64 = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : ''
  const key = Buffer.from(base64, 'base64')
  // Node leaves out what is no base64; whoever verifies would read another key from it.
  return (
    key.toString('base64') === base64 &&
    key.length >= SECRET_BYTES.least &&
    key.length <= SECRET_BYTES.most
  )
}

const httpCredentials = credentialsShape.superRefine((credentials, context) => {
  const { bearerToken, headerName, headerValue } = credentials
  if ((headerName === undefined) !== (headerValue === undefined)) {
    context.addIssue({
      code: 'custom',
      message: 'headerName and headerValue must be given together.',
    })
  } else if (bearerToken !== undefined && headerName !== undefined) {
    context.addIssue({
      code: 'custom',
      message: 'bearerToken and headerName must not be given together.',
    })
  }
})

export type HttpCredentials = Readonly<z.infer<typeof httpCredentials>>

/** The same shapes as the contract wants them. */
export const storedHttpConfig = httpConnectionConfig.transform(withoutUndefined)
export const storedHttpCredentials = httpCredentials.transform(withoutUndefined)

const PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/

/** What is wrong with a path below the base URL, as one sentence, or null. */
export function describePathProblem(what: 'object' | 'stream', path: string): string | null {
  if (path.length > MAX_PATH_LENGTH || !path.startsWith('/')) {
    return `The ${what} must be a path below the base URL that starts with "/", at most ${MAX_PATH_LENGTH} characters long.`
  }
  if (/[?#]/.test(path)) {
    return `The ${what} must not contain a query or a fragment.`
  }
  if (!PATH.test(path)) {
    return `The ${what} must be a path of steps such as "/contacts", without spaces and empty steps.`
  }
  return path.split('/').some(isUnsafeStep)
    ? `The ${what} must not contain the steps "." and "..", nor a broken or hidden "/".`
    : null
}

function isUnsafeStep(step: string): boolean {
  try {
    const plain = decodeURIComponent(step)
    return plain === '.' || plain === '..' || /[/\\]/.test(plain)
  } catch {
    return true
  }
}

/** Without a slash at its end. */
export function readBaseUrl(config: JsonObject): string {
  return httpConnectionConfig.parse(config).baseUrl.replace(/\/+$/, '')
}

export function joinPath(baseUrl: string, what: 'object' | 'stream', path: string): URL {
  const problem = describePathProblem(what, path)
  assert(problem === null, `A path is checked when its sync is saved. ${problem}`)
  return new URL(`${baseUrl}${path}`)
}

export function parseHttpCredentials(credentials: JsonObject): HttpCredentials {
  return httpCredentials.parse(credentials)
}

export function makeHeaders(credentials: JsonObject): Readonly<Record<string, string>> {
  const { bearerToken, headerName, headerValue } = parseHttpCredentials(credentials)
  return {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
    ...(headerName === undefined || headerValue === undefined
      ? {}
      : { [headerName.toLowerCase()]: headerValue }),
  }
}
