/** A run's end, its books (I8), the order of its progress, its take-overs. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  booksBalance,
  type Counters,
  countDispositions,
  DISPOSITIONS,
} from '../../src/domain/delivery.ts'
import { decideEnd, isAfter, type Sequence } from '../../src/domain/run.ts'

const count = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(1_000_000))
const parts = fc.record({
  written: count,
  replayed: count,
  rejected: count,
  inDoubt: count,
  quarantined: count,
  skipped: count,
})
type Parts = Omit<Counters, 'read'>
const sumOf = (given: Parts) => DISPOSITIONS.reduce((sum, name) => sum + given[name], 0)
const balanced = parts.map((given): Counters => ({ ...given, read: sumOf(given) }))

/** Counters with how many records were sent for the first time, never more than can have been. */
const end = balanced.chain((counters) =>
  fc
    .record({ rejected: fc.nat(counters.rejected), others: fc.nat(counters.written) })
    .map(({ rejected, others }) => ({
      counters,
      firstSends: rejected + others,
      firstSendsRejected: rejected,
    })),
)

describe('the end of a run', () => {
  it('is a failure if and only if something was sent for the first time and all of that was rejected', () => {
    fc.assert(
      fc.property(end, (given) => {
        const isAllRejected = given.firstSends > 0 && given.firstSends === given.firstSendsRejected
        const decision = decideEnd(given)
        expect(decision.verb === 'fail').toBe(isAllRejected)
        if (decision.verb === 'fail') {
          expect(decision.code).toBe('destination_rejected')
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('is a success if and only if nothing was rejected, in doubt or quarantined', () => {
    fc.assert(
      fc.property(end, (given) => {
        const { rejected, inDoubt, quarantined } = given.counters
        const decision = decideEnd(given)
        const isSuccess = decision.verb === 'complete' && decision.status === 'succeeded'
        expect(isSuccess).toBe(rejected + inDoubt + quarantined === 0)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is never decided on books that do not balance', () => {
    fc.assert(
      fc.property(parts, fc.nat(2_000_000), (given, read) => {
        fc.pre(read !== sumOf(given))
        const counters = { ...given, read }
        expect(booksBalance(counters)).toBe(false)
        expect(() => decideEnd({ counters, firstSends: 0, firstSendsRejected: 0 })).toThrow(
          RangeError,
        )
      }),
    )
  })

  it('of a source that had nothing new is a success', () => {
    const counters = countDispositions([])
    expect(decideEnd({ counters, firstSends: 0, firstSendsRejected: 0 })).toEqual({
      verb: 'complete',
      status: 'succeeded',
    })
  })
})

describe('the books', () => {
  it('count every record once, and balance', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...DISPOSITIONS)), (dispositions) => {
        const counters = countDispositions(dispositions)
        expect(booksBalance(counters)).toBe(true)
        expect(counters.read).toBe(dispositions.length)
        for (const name of DISPOSITIONS) {
          expect(counters[name]).toBe(dispositions.filter((given) => given === name).length)
        }
      }),
    )
  })

  it('no longer balance once one of them is off by one', () => {
    fc.assert(
      fc.property(balanced, fc.constantFrom('read' as const, ...DISPOSITIONS), (counters, name) => {
        expect(booksBalance(counters)).toBe(true)
        expect(booksBalance({ ...counters, [name]: counters[name] + 1 })).toBe(false)
      }),
    )
  })
})

describe('the order of progress events', () => {
  const sequence: fc.Arbitrary<Sequence> = fc.record({ epoch: fc.nat(5), n: fc.nat(5) })

  it('is strict and total', () => {
    fc.assert(
      fc.property(sequence, sequence, (a, b) => {
        const isEqual = a.epoch === b.epoch && a.n === b.n
        expect([isAfter(a, b), isAfter(b, a), isEqual].filter(Boolean)).toHaveLength(1)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is transitive', () => {
    fc.assert(
      fc.property(sequence, sequence, sequence, (a, b, c) => {
        fc.pre(isAfter(a, b) && isAfter(b, c))
        expect(isAfter(a, c)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('puts every event of a later attempt after those of an earlier one', () => {
    fc.assert(
      fc.property(sequence, fc.nat(), fc.nat(), (a, n, later) => {
        expect(isAfter({ epoch: a.epoch + 1 + later, n }, a)).toBe(true)
      }),
    )
  })
})
