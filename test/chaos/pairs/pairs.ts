/** The pairs of source and destination that are put through the storm. */
import { openBrevoEnd } from './brevo-destination.ts'
import { openFileEnd } from './file-source.ts'
import { type DeliveryClass, openHttpEnd } from './http-destination.ts'
import type { Pair, PairDestination, PairSource, PairSurroundings } from './pair.ts'
import { openPostgresDestination, openPostgresSource } from './postgres-ends.ts'
import { openShopifyEnd } from './shopify-source.ts'

type OpenPair = (surroundings: PairSurroundings) => Promise<Pair>

export const PAIRS: Readonly<Record<string, OpenPair>> = {
  'postgres-http-idempotent': (around) => postgresToHttp(around, 'IDEMPOTENT'),
  'postgres-http-lookup': (around) => postgresToHttp(around, 'LOOKUP'),
  'postgres-http-none': (around) => postgresToHttp(around, 'NONE'),
  'file-postgres': (around) => pairOf(openFileEnd(around), openPostgresDestination(around)),
  'shopify-brevo-record': (around) => shopifyToBrevo(around, 'RECORD'),
  'shopify-brevo-import': (around) => shopifyToBrevo(around, 'IMPORT'),
}

/** Brevo may be asked for an import once a minute, and a hundred times an hour. */
const HURRY = { CHAOS_HURRY: '300', CHAOS_FREE: 'yes' }

async function shopifyToBrevo(around: PairSurroundings, path: 'RECORD' | 'IMPORT'): Promise<Pair> {
  const { source, environment } = await openShopifyEnd()
  return await pairOf(Promise.resolve(source), openBrevoEnd(around, path), {
    hasImports: path === 'IMPORT',
    environment: path === 'IMPORT' ? { ...environment, ...HURRY } : environment,
  })
}

const postgresToHttp = (around: PairSurroundings, deliveryClass: DeliveryClass) =>
  pairOf(openPostgresSource(around), openHttpEnd(around, deliveryClass))

async function pairOf(
  source: Promise<PairSource>,
  destination: Promise<PairDestination>,
  given: Partial<Pair> = {},
): Promise<Pair> {
  return {
    environment: {},
    source: await source,
    destination: await destination,
    pageSize: 10,
    hasImports: false,
    ...given,
  }
}
