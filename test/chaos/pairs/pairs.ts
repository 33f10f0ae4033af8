/** The pairs of source and destination that are put through the storm. */
import { openFileEnd } from './file-source.ts'
import { openHttpEnd } from './http-destination.ts'
import type { Pair, PairDestination, PairSource, PairSurroundings } from './pair.ts'

type OpenPair = (surroundings: PairSurroundings) => Promise<Pair>

export const PAIRS: Readonly<Record<string, OpenPair>> = {
  'file-http-idempotent': (surroundings) =>
    pairOf(openFileEnd(surroundings), openHttpEnd(surroundings, 'IDEMPOTENT')),
  'file-http-none': (surroundings) =>
    pairOf(openFileEnd(surroundings), openHttpEnd(surroundings, 'NONE')),
}

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
