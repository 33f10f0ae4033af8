/** What a sync that writes to an HTTP API can set. */
import type { z } from 'zod'
import { describePathProblem, MAX_PATH_LENGTH } from '../http-connection.ts'
import {
  choiceSetting,
  countSetting,
  settingsObject,
  textSetting,
  withoutUndefined,
} from '../settings.ts'

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
  lookupObject: textSetting('lookupObject', MAX_PATH_LENGTH)
    .describe('With LOOKUP: the path of a write below the base URL, with {key} for its key.')
    .optional(),
  importsObject: textSetting('importsObject', MAX_PATH_LENGTH)
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

/** The same shape as the contract wants it. */
export const storedObjectOptions = httpObjectOptions.transform(withoutUndefined)

/** What is wrong with the path below the base URL, as one sentence, or null. */
export function describeObjectProblem(object: string): string | null {
  return describePathProblem('object', object)
}
