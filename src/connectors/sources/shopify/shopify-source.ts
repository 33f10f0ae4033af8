/**
 * The `shopify` source: customers and orders of a shop, in the order of their changes, over the Admin GraphQL API.
 *
 * Invariant: nothing is written there. How a read goes stands in shopify-reader.ts and shopify-walk.ts, what an answer
 * means in shopify-answer.ts, and what is given of protected data in shopify-records.ts.
 */
import { assert } from '../../../runtime/assert.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { FREE_GATE, type OpenGate } from '../../call-gate.ts'
import { ConnectorError, type OpenConnection } from '../../connector.ts'
import { DEFAULT_MAX_RESPONSE_BYTES, type HttpClient } from '../../http-client.ts'
import type { OpenSource, SourceConnector, SourceReader } from '../../source.ts'
import { ShopifyApi } from './shopify-api.ts'
import { type ApiVersion, SHOP_QUERY, type ShopifyStream, STREAMS } from './shopify-queries.ts'
import { ShopifyReader } from './shopify-reader.ts'
import { fieldNames } from './shopify-records.ts'
import {
  parseConfig,
  parseStreamOptions,
  shopifyConfig,
  shopifyCredentials,
  shopifyStreamOptions,
} from './shopify-settings.ts'
import { createTokens } from './shopify-tokens.ts'

export interface ShopifySourceOptions {
  readonly client: HttpClient
  readonly clock: Clock
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
  readonly logger?: Logger
  /** Where a shop's API is found; by default at its domain. */
  readonly baseUrlOf?: (shop: string) => string
}

export function createShopifySource(source: ShopifySourceOptions): SourceConnector {
  return {
    type: 'shopify',
    connectionConfig: shopifyConfig,
    credentials: shopifyCredentials,
    testConnection: (request) => testConnection(source, request),
    streamOptions: shopifyStreamOptions,
    describeStreamProblem: (stream) => Promise.resolve(describeStreamProblem(stream)),
    listFields: (stream) => Promise.resolve(fieldNames(streamOf(stream))),
    open: (request) => openReader(source, request),
  }
}

function describeStreamProblem(stream: string): string | null {
  return STREAMS.some((known) => known === stream)
    ? null
    : `The stream ${JSON.stringify(stream)} is none of a shop's; it must be one of ${STREAMS.map((known) => JSON.stringify(known)).join(', ')}.`
}

function streamOf(stream: string): ShopifyStream {
  const known = STREAMS.find((one) => one === stream)
  assert(known !== undefined, 'A stream is checked when its sync is saved.')
  return known
}

async function testConnection(
  source: ShopifySourceOptions,
  request: OpenConnection,
): Promise<void> {
  const { api } = openApi(source, request)
  const question = {
    query: SHOP_QUERY,
    variables: {},
    cost: 1,
    maxResponseBytes: DEFAULT_MAX_RESPONSE_BYTES,
  }
  const asked = await api.ask(question, request.signal)
  if (asked.kind !== 'data') {
    throw new ConnectorError('node_failed', asked.reason)
  }
}

function openReader(source: ShopifySourceOptions, request: OpenSource): Promise<SourceReader> {
  request.signal.throwIfAborted()
  const { api, shop, apiVersion } = openApi(source, request)
  const owner = { shop, stream: streamOf(request.stream) }
  return Promise.resolve(
    new ShopifyReader({ api, owner, apiVersion, ...parseStreamOptions(request.options) }),
  )
}

interface OpenApi {
  readonly api: ShopifyApi
  readonly shop: string
  readonly apiVersion: ApiVersion
}

function openApi(source: ShopifySourceOptions, request: OpenConnection): OpenApi {
  const { shop, apiVersion } = parseConfig(request.config)
  const { client, clock, logger = null, openGate = () => FREE_GATE } = source
  const baseUrl = source.baseUrlOf?.(shop) ?? `https://${shop}`
  const url = new URL(`${baseUrl}/admin/api/${apiVersion}/graphql.json`)
  const gate = openGate({ connectionId: request.connectionId, host: url.host })
  const tokenUrl = new URL(`${baseUrl}/admin/oauth/access_token`)
  const tokens = createTokens({ client, gate, url: tokenUrl }, request)
  return {
    api: new ShopifyApi({ client, clock, gate, tokens, logger, url, apiVersion }),
    shop,
    apiVersion,
  }
}
