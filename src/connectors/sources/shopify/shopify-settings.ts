/** What a connection to a Shopify shop and a sync that reads from it can set. */
import type { z } from 'zod'
import type { JsonObject } from '../../../domain/json.ts'
import {
  choiceSetting,
  countSetting,
  settingsObject,
  textSetting,
  withoutUndefined,
} from '../../settings.ts'
import { API_VERSIONS } from './shopify-queries.ts'

const MAX_SECRET_LENGTH = 4_000
const SECRET = /^[\x21-\x7e]+$/
const SHOP_DOMAIN = /^[a-z0-9][a-z0-9-]{0,98}\.myshopify\.com$/

const connectionConfig = settingsObject({
  shop: textSetting('shop', 120)
    .regex(SHOP_DOMAIN, {
      error:
        "shop must be the shop's own domain at Shopify, in lower case, such as example.myshopify.com.",
    })
    .describe("The shop's domain, such as example.myshopify.com."),
  apiVersion: choiceSetting('apiVersion', API_VERSIONS)
    .describe('The version of the Admin API.')
    .default(API_VERSIONS[0]),
})

export type ShopifyConfig = z.infer<typeof connectionConfig>

export const shopifyConfig = connectionConfig.transform(withoutUndefined)

export function parseConfig(config: JsonObject): ShopifyConfig {
  return connectionConfig.parse(config)
}

const secret = (field: string) =>
  textSetting(field, MAX_SECRET_LENGTH).regex(SECRET, {
    error: `${field} must consist of printable ASCII characters without spaces.`,
  })

const credentialsShape = settingsObject({
  accessToken: secret('accessToken').describe('An access token of the Admin API.').optional(),
  clientId: secret('clientId').describe("The app's client id.").optional(),
  clientSecret: secret('clientSecret').describe("The app's client secret.").optional(),
  refreshToken: secret('refreshToken')
    .describe('Renews an offline access token that expires; replaced at every use.')
    .optional(),
})

export type ShopifyCredentials = z.infer<typeof credentialsShape>

const credentials = credentialsShape.superRefine((given, context) => {
  const problem = describeCredentialsProblem(given)
  if (problem) {
    context.addIssue({ code: 'custom', message: problem })
  }
})

function describeCredentialsProblem(given: ShopifyCredentials): string | null {
  const { accessToken, clientId, clientSecret, refreshToken } = given
  if ((clientId === undefined) !== (clientSecret === undefined)) {
    return 'clientId and clientSecret must be given together.'
  }
  if (refreshToken !== undefined && clientId === undefined) {
    return 'refreshToken needs clientId and clientSecret.'
  }
  if (accessToken === undefined && clientId === undefined) {
    return 'accessToken must be given, or clientId and clientSecret.'
  }
  return accessToken !== undefined && clientId !== undefined && refreshToken === undefined
    ? 'accessToken must not be given with clientId and clientSecret, unless a refreshToken is.'
    : null
}

export const shopifyCredentials = credentials.transform(withoutUndefined)

export function parseCredentials(given: JsonObject): ShopifyCredentials {
  return credentials.parse(given)
}

/** Most rows that Shopify gives for one query. */
const MAX_ROWS_PER_QUERY = 250
const MAX_LAG_MS = 24 * 60 * 60 * 1000
/** Of a query that may cost 1,000 points, where a row costs 7 or 8. */
const DEFAULT_ROWS_PER_QUERY = 100
/** How late the search index knows of a change is nowhere written; minutes are what others leave. */
const DEFAULT_LAG_MS = 5 * 60 * 1000

const streamOptions = settingsObject({
  rowsPerQuery: countSetting('rowsPerQuery', 2, MAX_ROWS_PER_QUERY)
    .describe('Most rows that one query asks for.')
    .default(DEFAULT_ROWS_PER_QUERY),
  lagMs: countSetting('lagMs', 0, MAX_LAG_MS)
    .describe('How old a change must be before it is read, in milliseconds.')
    .default(DEFAULT_LAG_MS),
})

export const shopifyStreamOptions = streamOptions.transform(withoutUndefined)

type ShopifyStreamOptions = z.infer<typeof streamOptions>

export function parseStreamOptions(options: JsonObject): ShopifyStreamOptions {
  return streamOptions.parse(options)
}
