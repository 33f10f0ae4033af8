/** The auditor of pairs finds each kind of harm, and nothing where there is none. */
import { describe, expect, it } from 'vitest'
import { auditPair, type PairEvidence } from '../chaos/pairs/pair-audit.ts'

const row = (id: number, version: number) => ({ id, version })
const RUN = {
  ...{ id: 'run', status: 'succeeded', epoch: 2, read: 3, written: 3 },
  ...{ replayed: 0, rejected: 0, inDoubt: 0, quarantined: 0, skipped: 0 },
}

function evidence(given: Partial<PairEvidence> = {}): PairEvidence {
  return {
    name: 'pair',
    sourceRows: [row(0, 2), row(1, 1)],
    newest: new Map([[0, 2], [1, 1], [2, 1]]), // biome-ignore format: pairs
    writes: [row(0, 1), row(1, 1), row(2, 1), row(0, 2)],
    destinationRows: [row(0, 2), row(1, 1), row(2, 1)],
    isExact: true,
    mostRepeated: 1,
    openPages: [],
    ledgerKeys: new Set(),
    held: [],
    setAside: 0,
    intents: [],
    fence: { epoch: 2, reached: 'c', savedCursor: 'c' },
    runs: [RUN],
    attempts: [{ runId: 'run', number: 1, epoch: 1, isClosed: true }],
    ...given,
  }
}

const kindsOf = (given: Partial<PairEvidence>) =>
  auditPair(evidence(given)).findings.map(({ kind }) => kind)

describe('the auditor of pairs', () => {
  it('finds nothing where all is well, also of a row that was taken away', () => {
    expect(auditPair(evidence())).toEqual({ findings: [], rows: 2, writes: 4, repeated: 0 })
  })

  it.each<[string, Partial<PairEvidence>]>([
    ['lost', { destinationRows: [row(0, 2)] }],
    ['stale', { destinationRows: [row(0, 1), row(1, 1)] }],
    ['stale', { writes: [row(0, 2), row(0, 1)] }],
    ['invented', { destinationRows: [row(0, 2), row(1, 1), row(7, 1)] }],
    ['doubled', { writes: [row(0, 2), row(0, 2)] }],
    ['doubled', { isExact: false, writes: [row(0, 2), row(0, 2), row(0, 2)] }],
    [
      'checkpoint',
      { openPages: [{ pageDigest: 'd', fromCursor: 'a', toCursor: 'b', isPassed: true }] },
    ],
    ['checkpoint', { fence: { epoch: 2, reached: 'c', savedCursor: 'b' } }],
    ['held', { held: [{ pageDigest: 'd', position: 0 }] }],
    ['intent', { intents: [{ pageDigest: 'd', positions: [0], keys: ['k'], epoch: 1 }] }],
    ['books', { runs: [{ ...RUN, written: 2 }] }],
    ['history', { runs: [{ ...RUN, status: 'running' }] }],
    ['history', { attempts: [{ runId: 'run', number: 1, epoch: 1, isClosed: false }] }],
  ])('finds what is %s', (kind, given) => {
    expect(kindsOf(given)).toEqual([kind])
  })

  it('allows an upsert that is repeated as often as calls can have been in flight', () => {
    expect(kindsOf({ isExact: false, writes: [row(0, 1), row(0, 1), row(0, 2)] })).toEqual([])
  })
})
