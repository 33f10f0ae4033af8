/** What a connection to an HTTP API and a sync that writes to it can set. */
import type { z } from 'zod'
import {
  choiceSetting,
  countSetting,
  numberSetting,
  settingsObject,
  textSetting,
  withoutUndefined,
} from '../settings.ts'

const MAX_URL_LENGTH = 2_000
const MAX_HEADER_LENGTH = 8_000
const MAX_OBJECT_LENGTH = 500

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
  baseUrl: baseUrl.describe('Address of the API; objects are paths below it.'),
  maxCallsPerSecond: numberSetting('maxCallsPerSecond', MIN_CALLS_PER_SECOND, MAX_CALLS_PER_SECOND)
    .describe('Most calls a second, in all processes together; a fraction is fewer than one.')
    .optional(),
})

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
})

export const httpCredentials = credentialsShape.superRefine((credentials, context) => {
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

const HTTP_PATHS = ['RECORD', 'PAGE'] as const
const MAX_RECORDS_PER_CALL = 10_000
/** One record in flight more costs memory and a connection; 32 saturate what one run can send. */
const MAX_CONCURRENCY = 32

const objectOptionsShape = settingsObject({
  path: choiceSetting('path', HTTP_PATHS)
    .describe('RECORD: one call a record. PAGE: one call for many, answered record by record.')
    .default('RECORD'),
  method: choiceSetting('method', ['POST', 'PUT']).default('POST'),
  identityField: textSetting('identityField', 200)
    .describe('The field of the mapped record that the destination knows it by.')
    .optional(),
  maxRecordsPerCall: countSetting('maxRecordsPerCall', 1, MAX_RECORDS_PER_CALL)
    .describe('Most records of one PAGE call.')
    .default(500),
  concurrency: countSetting('concurrency', 1, MAX_CONCURRENCY)
    .describe('Most calls under way at once; by default 8 for RECORD and 1 for PAGE.')
    .optional(),
  deliveryClass: choiceSetting('deliveryClass', ['IDEMPOTENT', 'LOOKUP', 'NONE'])
    .describe(
      'IDEMPOTENT: the API honours Idempotency-Key (RECORD) or the key beside each record (PAGE), so that a write repeated with its key changes nothing. LOOKUP: it does not, but lookupObject tells whether a write is there. NONE: neither; a write whose answer was lost then waits for a person.',
    )
    .default('IDEMPOTENT'),
  lookupObject: textSetting('lookupObject', MAX_OBJECT_LENGTH)
    .describe('With LOOKUP: the path of a write below the base URL, with {key} for its key.')
    .optional(),
  importsObject: textSetting('importsObject', MAX_OBJECT_LENGTH)
    .describe(
      'With PAGE: the path of the imports below the base URL. The API takes a call in (202) and works on it later.',
    )
    .optional(),
  importPollMs: countSetting('importPollMs', 100, 3_600_000)
    .describe('Between two looks at an import, in milliseconds.')
    .default(5_000),
  importPatienceMs: countSetting('importPatienceMs', 1_000, 86_400_000)
    .describe(
      'How long an attempt waits for an import, in milliseconds; the next one goes on waiting.',
    )
    .default(3_600_000),
  requestDeadlineMs: countSetting('requestDeadlineMs', 1_000, 300_000)
    .describe('How long one call may take, in milliseconds.')
    .default(30_000),
  maxBodyBytes: countSetting('maxBodyBytes', 1_000, 16 * 1024 * 1024)
    .describe('Longest JSON of one record, in bytes.')
    .default(1024 * 1024),
  settlingMs: countSetting('settlingMs', 0, 3_600_000)
    .describe('How long after a lost answer the API may still apply the write, in milliseconds.')
    .default(0),
})

export const httpObjectOptions = objectOptionsShape.superRefine((options, context) => {
  const message = describeOptionsProblem(options)
  if (message !== null) {
    context.addIssue({ code: 'custom', message })
  }
})

/** What the options cannot be together, as one sentence, or null. */
function describeOptionsProblem(options: z.infer<typeof objectOptionsShape>): string | null {
  const { deliveryClass, lookupObject, importsObject, path } = options
  if ((deliveryClass === 'LOOKUP') !== (lookupObject !== undefined)) {
    return 'lookupObject must be given with the deliveryClass LOOKUP, and only then.'
  }
  const parts = lookupObject?.split('{key}')
  if (parts && (parts.length !== 2 || describeObjectProblem(parts.join('key')) !== null)) {
    return 'lookupObject must be a path below the base URL with {key} in it once, such as "/writes/{key}".'
  }
  if (importsObject !== undefined && path !== 'PAGE') {
    return 'importsObject must only be given with the path PAGE.'
  }
  return importsObject !== undefined && describeObjectProblem(importsObject) !== null
    ? 'importsObject must be a path below the base URL, such as "/imports".'
    : null
}

export type HttpObjectOptions = Readonly<z.infer<typeof httpObjectOptions>>

/** The same shapes as the contract wants them. */
export const storedConnectionConfig = httpConnectionConfig.transform(withoutUndefined)
export const storedCredentials = httpCredentials.transform(withoutUndefined)
export const storedObjectOptions = httpObjectOptions.transform(withoutUndefined)

const OBJECT = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/

/** What is wrong with the path below the base URL, as one sentence, or null. */
export function describeObjectProblem(object: string): string | null {
  if (object.length > MAX_OBJECT_LENGTH || !object.startsWith('/')) {
    return `The object must be a path below the base URL that starts with "/", at most ${MAX_OBJECT_LENGTH} characters long.`
  }
  if (/[?#]/.test(object)) {
    return 'The object must not contain a query or a fragment.'
  }
  if (!OBJECT.test(object)) {
    return 'The object must be a path of steps such as "/contacts", without spaces and empty steps.'
  }
  return object.split('/').some(isUnsafeStep)
    ? 'The object must not contain the steps "." and "..", nor a broken or hidden "/".'
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
