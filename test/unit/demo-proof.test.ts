/** The demo's proof fails for each thing that it is there to find. */
import { describe, expect, it } from 'vitest'
import { type Evidence, prove } from '../../src/demo/proof.ts'

const ADA = { id: '1', email: 'ada@example.com', phone: null }
const BOB = { id: '2', email: null, phone: '+442079460001' }

/** Two customers delivered once each, one of them before the kill. */
const GOOD: Evidence = {
  expected: [ADA, BOB],
  contacts: [
    { id: '1', email: 'ada@example.com' },
    { id: '2', phone: '+442079460001' },
  ],
  repeats: 1,
  status: 'SUCCEEDED',
  counters: {
    read: 2,
    written: 1,
    replayed: 1,
    rejected: 0,
    inDoubt: 0,
    quarantined: 0,
    skipped: 0,
  },
}
const [first = {}, second = {}] = GOOD.contacts

describe('the proof of the demo', () => {
  it('finds nothing wrong where every record arrived once', () => {
    expect(prove(GOOD).faults).toEqual([])
    expect(prove(GOOD).books).toBe(
      'read 2 = written 1 + replayed 1 + rejected 0 + in doubt 0 + quarantined 0 + skipped 0',
    )
  })

  it.each<[string, Partial<Evidence>, string]>([
    ['a doubled record', { contacts: [first, second, first] }, 'written to the CRM twice'],
    ['a lost record', { contacts: [first] }, '1 records of the file never reached the CRM.'],
    ['a stranger', { contacts: [first, second, { id: '3' }] }, '1 contacts at the CRM are not'],
    ['another e-mail', { contacts: [{ ...first, email: 'x@y.test' }, second] }, 'differ from'],
    ['a phone too many', { contacts: [{ ...first, phone: '1' }, second] }, 'differ from the file'],
    ['a customer named twice', { expected: [ADA, BOB, ADA] }, 'The file names a customer twice.'],
    ['a failed run', { status: 'FAILED' }, 'The run ended as FAILED.'],
    ['a run that read less', { counters: { ...GOOD.counters, read: 1 } }, 'read 1 records of 2'],
    ['books that do not balance', { counters: { ...GOOD.counters, skipped: 1 } }, 'do not balance'],
    ['a kill that hit nothing', { repeats: 0 }, 'left no delivery in doubt'],
    [
      'an empty ledger',
      { counters: { ...GOOD.counters, written: 2, replayed: 0 } },
      'Nothing was replayed',
    ],
  ])('finds %s', (_name, change, sentence) => {
    expect(prove({ ...GOOD, ...change }).faults).toContainEqual(expect.stringContaining(sentence))
  })
})
