/**
 * Compares what the CRM holds with what the file says, and the run's books with both.
 *
 * Invariant: nothing of the app's own word enters what is doubled, lost or changed; these come from the
 * file and the CRM's effects only. A run that put nothing in doubt proves nothing, and is a fault too.
 */
import type { AllCountersFragment } from '../client/gql/graphql.ts'
import type { Contact } from './crm.ts'
import type { ExpectedContact } from './customers.ts'

export interface Evidence {
  readonly expected: readonly ExpectedContact[]
  /** One an effect. */
  readonly contacts: readonly Contact[]
  /** Records that the CRM was sent again with their key. */
  readonly repeats: number
  readonly status: string
  readonly counters: Omit<AllCountersFragment, '__typename'>
}

export interface Proof {
  readonly figures: readonly (readonly [label: string, figure: number])[]
  /** Where each record that was read went, as an equation. */
  readonly books: string
  /** What is wrong, a full sentence each; empty: nothing was lost and nothing written twice. */
  readonly faults: readonly string[]
}

export function prove(evidence: Evidence): Proof {
  const { expected, contacts, repeats, counters } = evidence
  const found = groupById(contacts)
  const ids = new Set<unknown>(expected.map(({ id }) => id))
  const doubled = contacts.length - found.size
  const lost = expected.filter(({ id }) => !found.has(id)).length
  const strangers = contacts.filter((contact) => !ids.has(contact['id'])).length
  const changed = expected.filter((one) => found.get(one.id)?.some((it) => differs(one, it))).length
  const { read, ...outcomes } = counters
  const sum = Object.values(outcomes).reduce((total, count) => total + count, 0)
  const faults: readonly (readonly [boolean, string])[] = [
    [doubled > 0, `${doubled} records were written to the CRM twice.`],
    [lost > 0, `${lost} records of the file never reached the CRM.`],
    [strangers > 0, `${strangers} contacts at the CRM are not in the file.`],
    [changed > 0, `${changed} contacts at the CRM differ from the file.`],
    [ids.size !== expected.length, 'The file names a customer twice.'],
    [evidence.status !== 'SUCCEEDED', `The run ended as ${evidence.status}.`],
    [read !== expected.length, `The run read ${read} records of ${expected.length}.`],
    [read !== sum, `The run's books do not balance: it read ${read} records and tells of ${sum}.`],
    [repeats === 0, 'The kill left no delivery in doubt, so this run proved nothing.'],
    [counters.replayed === 0, 'Nothing was replayed from the ledger, so this run proved nothing.'],
  ]
  return {
    figures: [
      ['records in the file', expected.length],
      ['records read', read],
      ['effects at the CRM', contacts.length],
      ['doubled', doubled],
      ['lost', lost],
      ['changed', changed],
      ['replayed from the ledger', counters.replayed],
      ['sent again with the same key', repeats],
    ],
    books: `read ${read} = ${Object.entries(outcomes).map(describeOutcome).join(' + ')}`,
    faults: faults.filter(([isFault]) => isFault).map(([, sentence]) => sentence),
  }
}

function groupById(contacts: readonly Contact[]): ReadonlyMap<unknown, readonly Contact[]> {
  const found = new Map<unknown, Contact[]>()
  for (const contact of contacts) {
    found.set(contact['id'], [...(found.get(contact['id']) ?? []), contact])
  }
  return found
}

function differs(expected: ExpectedContact, contact: Contact): boolean {
  return (
    (contact['email'] ?? null) !== expected.email || (contact['phone'] ?? null) !== expected.phone
  )
}

function describeOutcome([name, count]: readonly [string, number]): string {
  return `${name === 'inDoubt' ? 'in doubt' : name} ${count}`
}
