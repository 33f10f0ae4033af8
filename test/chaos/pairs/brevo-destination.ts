/** The `brevo` destination of a pair, on both of its paths: the stand-in is what it writes to. */
import { type BrevoFault, startBrevo } from '../../support/brevo/server.ts'
import type { Chance } from '../seeded.ts'
import type { PairDestination, PairSurroundings, Row } from './pair.ts'

export async function openBrevoEnd(
  { chance }: PairSurroundings,
  path: 'RECORD' | 'IMPORT',
): Promise<PairDestination> {
  const brevo = await startBrevo()
  brevo.account.attributes.push({ name: 'VERSION', category: 'normal', type: 'float' })
  brevo.processes.looksUntilDone = 1
  let trouble = 0
  brevo.decide(() => (chance.isTrue(trouble) ? makeTrouble(chance) : { kind: 'none' }))
  const toRow = (name: string | null, version: unknown): Row => ({
    id: Number(/^u(\d+)@/.exec(name ?? '')?.[1]),
    version: Number(version),
  })
  return {
    connection: {
      type: 'brevo',
      config: { baseUrl: brevo.url, plan: 'EXTENDED' },
      credentials: { apiKey: brevo.apiKey },
    },
    object: 'contacts',
    objectOptions: { path, listIds: [2], requestDeadlineMs: 1_000 },
    mapping: ({ email, version }) => ({ email, attributes: { VERSION: version } }),
    writes: () =>
      Promise.resolve(
        brevo.account.writes.map(({ name, attributes }) => toRow(name, attributes['VERSION'])),
      ),
    rows: () =>
      Promise.resolve(
        [...brevo.account.contacts.values()].map(({ email, attributes }) =>
          toRow(email, attributes.get('VERSION')),
        ),
      ),
    isExact: false,
    setTrouble: (share) => {
      trouble = share
    },
    hasKey: null,
    close: () => brevo.close(),
  }
}

function makeTrouble(chance: Chance): BrevoFault {
  return chance.pick<BrevoFault>([
    { kind: 'resetBeforeCommit' },
    { kind: 'resetAfterCommit' },
    { kind: 'hang', isApplied: chance.isTrue(0.5) },
    { kind: 'html', status: 502, isApplied: chance.isTrue(0.5) },
    { kind: 'truncated' },
    { kind: 'answer', status: 429, body: {} },
    { kind: 'answer', status: 425, body: {} },
  ])
}
