/** The `shopify` source, opened on a stand-in shop whose time goes on while the source waits. */

import type { OpenGate } from '../../../src/connectors/call-gate.ts'
import {
  ConnectorError,
  type KeptCredentials,
  type OpenConnection,
} from '../../../src/connectors/connector.ts'
import type { SourceConnector, SourceReader } from '../../../src/connectors/source.ts'
import { createShopifySource } from '../../../src/connectors/sources/shopify/shopify-source.ts'
import type { JsonObject } from '../../../src/domain/json.ts'
import type { SourceRecord } from '../../../src/domain/page.ts'
import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import type { Logger } from '../../../src/runtime/logger.ts'
import { readPages } from '../../contract/source-suite.ts'
import { createLocalClient } from '../local-client.ts'
import { openConnection } from '../open-connection.ts'
import { customerFields, type ShopStream } from './shop-rows.ts'
import { FIRST_TOKEN } from './shop-tokens.ts'
import { type ListeningShop, STAND_IN_DOMAIN, type StandInShop } from './stand-in-shop.ts'

export interface OpenShopOptions {
  readonly stream?: ShopStream
  readonly options?: JsonObject
  readonly config?: JsonObject
  readonly credentials?: JsonObject
  readonly kept?: KeptCredentials
  readonly openGate?: OpenGate
  readonly logger?: Logger
  readonly signal?: AbortSignal
  /** What the source has waited, in milliseconds. */
  readonly waits?: number[]
}

const client = createLocalClient()

export function shopSource(
  { url, shop }: Pick<ListeningShop, 'url' | 'shop'>,
  given: OpenShopOptions = {},
): SourceConnector {
  return createShopifySource({
    client,
    clock: passingClock(shop, given.waits ?? []),
    baseUrlOf: () => url,
    ...(given.openGate ? { openGate: given.openGate } : {}),
    ...(given.logger ? { logger: given.logger } : {}),
  })
}

export function shopConnection(given: OpenShopOptions = {}): OpenConnection {
  return openConnection({
    config: { shop: STAND_IN_DOMAIN, ...given.config },
    credentials: given.credentials ?? { accessToken: FIRST_TOKEN },
    ...(given.kept ? { kept: given.kept } : {}),
    ...(given.signal ? { signal: given.signal } : {}),
  })
}

export function openShop(
  listening: Pick<ListeningShop, 'url' | 'shop'>,
  given: OpenShopOptions = {},
): Promise<SourceReader> {
  return shopSource(listening, given).open({
    ...shopConnection(given),
    stream: given.stream ?? 'customers',
    options: given.options ?? {},
  })
}

/** Who sleeps on it finds that much of the shop's time gone by. */
function passingClock(shop: StandInShop, waits: number[]): Clock {
  return {
    ...systemClock,
    sleep: (ms, signal) => {
      signal?.throwIfAborted()
      waits.push(ms)
      shop.advance(ms)
      return Promise.resolve()
    },
  }
}

const MINUTE_MS = 60_000

/** Customers 1, 2, …, each a second younger than the one before; the first an hour old. */
export function putCustomers(shop: StandInShop, count: number): void {
  for (let id = 1; id <= count; id += 1) {
    const fields = customerFields({ email: `c${id}@example.com`, firstName: `C${id}` })
    const updatedAtMs = shop.nowMs() - 60 * MINUTE_MS + id * 1000
    shop.rows.put('customers', String(id), fields, { updatedAtMs })
  }
}

/** The records of every page from a cursor to the end. */
export async function readRecords(
  reader: SourceReader,
  limit: number,
  from: string | null = null,
): Promise<readonly SourceRecord[]> {
  const pages = await readPages(reader, [limit], from)
  return pages.flatMap(({ records }) => records)
}

export function identitiesOf(records: readonly SourceRecord[]): readonly string[] {
  return records.map(({ identity }) => identity)
}

/** What a read ends with. */
export async function failureOf(read: Promise<unknown>): Promise<ConnectorError> {
  const error = await read.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof ConnectorError) {
    return error
  }
  throw new Error(`It ended with ${String(error)}.`)
}
