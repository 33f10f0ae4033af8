/** What a test of a connection shows, in words that a person understands. */

/** `out_of_reach`: it may pass by itself. `misconfigured`: another address or setting is needed. */
export const CONNECTION_TEST_OUTCOMES = [
  'works',
  'refused',
  'out_of_reach',
  'misconfigured',
] as const
export type ConnectionTestOutcome = (typeof CONNECTION_TEST_OUTCOMES)[number]

/** Full sentences: what was seen, and what to do. */
export function describeTestOutcome(outcome: ConnectionTestOutcome): string {
  return SENTENCES[outcome]
}

const SENTENCES = {
  works: 'The other system answered, and it lets us in.',
  refused:
    'The other system answered, and it refuses our access: reconnect it with other credentials (reconnectConnection).',
  out_of_reach:
    'The other system could not be reached, or did not give an answer that makes sense: test again later.',
  misconfigured:
    'What answers under the address is not what it should be, or nothing can: connect the tool with another address or other settings (createConnection).',
} as const satisfies Record<ConnectionTestOutcome, string>
