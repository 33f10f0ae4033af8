/** What a connection to Brevo and a sync that writes to it can set. */
import { isSupportedCountry } from 'libphonenumber-js/min'
import { z } from 'zod'
import {
  choiceSetting,
  countSetting,
  settingsObject,
  textSetting,
  withoutUndefined,
} from '../../settings.ts'

const DEFAULT_BASE_URL = 'https://api.brevo.com/v3'
const MAX_URL_LENGTH = 2_000
const MAX_LISTS = 50
/** Polls count against 100 requests an hour. */
const MIN_POLL_MS = 60_000

export const BREVO_PLANS = ['GENERAL', 'ADVANCED', 'EXTENDED'] as const
export type BrevoPlan = (typeof BREVO_PLANS)[number]

export const brevoConnectionConfig = settingsObject({
  baseUrl: textSetting('baseUrl', MAX_URL_LENGTH)
    .refine(isSafeBaseUrl, {
      error:
        'baseUrl must be an address that starts with https://, without user, query and fragment.',
    })
    .describe('Address of the API.')
    .default(DEFAULT_BASE_URL),
  plan: choiceSetting('plan', BREVO_PLANS)
    .describe('Whose rate limits the account has.')
    .default('GENERAL'),
})

/** Plain HTTP would carry the key in the open; on the same machine nobody else hears it. */
function isSafeBaseUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.username !== '' || url.password !== '' || /[?#]/.test(text)) {
    return false
  }
  const isOwnMachine = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine)
}

export const brevoCredentials = settingsObject({
  apiKey: textSetting('apiKey', 500)
    .regex(/^[\x21-\x7e]+$/, { error: 'apiKey must consist of printable ASCII characters.' })
    .describe('An API key of the account, of version 3.'),
})

const listIds = z
  .array(z.int().min(1), { error: 'listIds must be a list of whole numbers.' })
  .min(1, { error: 'listIds must name a list.' })
  .max(MAX_LISTS, { error: `listIds must name at most ${MAX_LISTS} lists.` })

const objectOptionsShape = settingsObject({
  path: choiceSetting('path', ['RECORD', 'IMPORT'])
    .describe('RECORD: one call a contact. IMPORT: an import for a page of them.')
    .default('RECORD'),
  identifiedBy: choiceSetting('identifiedBy', ['EMAIL', 'EXT_ID', 'SMS'])
    .describe('By which of its names the account knows a contact.')
    .default('EMAIL'),
  listIds: listIds.describe('Lists that every contact is added to; IMPORT needs one.').optional(),
  phoneCountry: textSetting('phoneCountry', 2)
    .refine(isSupportedCountry, {
      error: 'phoneCountry must be a country in two capital letters, such as "DE".',
    })
    .describe('The country of phone numbers without a country code.')
    .optional(),
  onPhoneProblem: choiceSetting('onPhoneProblem', ['REJECT', 'OMIT'])
    .describe(
      'Where a phone number is wrong or another contact’s: reject the record, or write it without.',
    )
    .default('REJECT'),
  onNull: choiceSetting('onNull', ['REJECT', 'OMIT'])
    .describe('Where a value is null: reject the record, or leave the attribute as it is.')
    .default('REJECT'),
  maxRecordsPerCall: countSetting('maxRecordsPerCall', 1, 10_000)
    .describe('Most records of one import.')
    .default(2_000),
  importPollMs: countSetting('importPollMs', MIN_POLL_MS, 3_600_000)
    .describe('Between two looks at an import, in milliseconds.')
    .default(MIN_POLL_MS),
  importPatienceMs: countSetting('importPatienceMs', 1_000, 86_400_000)
    .describe(
      'How long an attempt waits for an import, in milliseconds; the next one goes on waiting.',
    )
    .default(3_600_000),
  requestDeadlineMs: countSetting('requestDeadlineMs', 1_000, 300_000)
    .describe('How long one call may take, in milliseconds.')
    .default(30_000),
})

export const brevoObjectOptions = objectOptionsShape.superRefine((options, context) => {
  const { path, identifiedBy, listIds: lists } = options
  if (path === 'IMPORT' && lists === undefined) {
    const message = 'listIds must name a list with the path IMPORT: Brevo imports into lists only.'
    context.addIssue({ code: 'custom', message })
  } else if (path === 'IMPORT' && identifiedBy !== 'EMAIL') {
    const message = 'identifiedBy must be EMAIL with the path IMPORT.'
    context.addIssue({ code: 'custom', message })
  }
})

export type BrevoObjectOptions = Readonly<z.infer<typeof brevoObjectOptions>>

/** The same shape as the contract wants it. */
export const storedObjectOptions = brevoObjectOptions.transform(withoutUndefined)

/** What is wrong with the object's name, as one sentence, or null. */
export function describeObjectProblem(object: string): string | null {
  return object === 'contacts' ? null : 'The object must be "contacts".'
}
