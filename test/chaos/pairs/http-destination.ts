/** The `http` destination of a pair, of each class: the recording destination is what it writes to. */
import { type Reaction, startRecordingDestination } from '../../support/recording-destination.ts'
import type { Chance } from '../seeded.ts'
import type { PairDestination, PairSurroundings, Row } from './pair.ts'

export type DeliveryClass = 'IDEMPOTENT' | 'LOOKUP' | 'NONE'

export async function openHttpEnd(
  { chance }: PairSurroundings,
  deliveryClass: DeliveryClass,
): Promise<PairDestination> {
  const recorder = await startRecordingDestination({
    honoursKeys: deliveryClass === 'IDEMPOTENT',
    keepsRequests: false,
  })
  let trouble = 0
  recorder.decide(() => (chance.isTrue(trouble) ? makeTrouble(chance) : { kind: 'apply' }))
  const applied = () => recorder.applied.map(({ record }) => toRow(record))
  return {
    connection: { type: 'http', config: { baseUrl: recorder.url } },
    object: '/rows',
    objectOptions: {
      ...{ path: 'RECORD', deliveryClass, identityField: 'id', requestDeadlineMs: 1_000 },
      ...(deliveryClass === 'LOOKUP' ? { lookupObject: '/writes/{key}' } : {}),
    },
    mapping: ({ id, email, version }) => ({ id, email, version }),
    writes: () => Promise.resolve(applied()),
    rows: () => Promise.resolve([...new Map(applied().map((row) => [row.id, row])).values()]),
    isExact: true,
    setTrouble: (share) => {
      // What was left without an answer has to wait for its quiet time before it can be asked for, or settled.
      trouble = deliveryClass === 'IDEMPOTENT' ? share : share / 20
    },
    hasKey: (prefix) => recorder.applied.some(({ key }) => key.startsWith(prefix)),
    close: () => recorder.close(),
  }
}

function makeTrouble(chance: Chance): Reaction {
  const isApplied = chance.isTrue(0.5)
  return chance.pick<Reaction>([
    { kind: 'answer', status: 429, body: '{"error":"slow down"}', headers: { 'retry-after': '0' } },
    { kind: 'answer', status: 503, body: '{"error":"maintenance"}' },
    { kind: 'answer', status: 502, body: '<html>bad gateway</html>', isApplied },
    { kind: 'reset', isApplied },
    { kind: 'halfBody', isApplied },
  ])
}

function toRow(record: unknown): Row {
  const { id, version } = record as Row
  return { id, version }
}
