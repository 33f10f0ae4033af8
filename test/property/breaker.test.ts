/** The breaker, run after run: it trips exactly when so many that count have failed in a row, and only once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CountedRun, decideBreaker, isCounted } from '../../src/domain/breaker.ts'
import { FAILURE_CODES, failure } from '../../src/domain/failure.ts'
import { FINAL_RUN_STATUSES, RUN_CAUSES } from '../../src/domain/run.ts'

const ended = fc
  .record({
    status: fc.oneof(
      { weight: 6, arbitrary: fc.constant('failed' as const) },
      fc.constantFrom(...FINAL_RUN_STATUSES),
    ),
    cause: fc.constantFrom(...RUN_CAUSES),
    code: fc.constantFrom(...FAILURE_CODES),
  })
  .map(({ status, cause, code }) => ({
    ...{ status, cause },
    failureCode: status === 'failed' ? code : null,
  }))
type Ended = Parameters<typeof isCounted>[0]

/** The product's way: of all runs so far those that count, newest first. */
function tripsAt(runs: readonly Ended[], threshold: number): number | null {
  const counted: CountedRun[] = []
  for (const [index, run] of runs.entries()) {
    if (isCounted(run)) {
      const told = run.failureCode === null ? null : failure(run.failureCode)
      counted.unshift({ runId: String(index), failure: told })
    }
    const lastRuns = counted.slice(0, threshold)
    if (run.status === 'failed') {
      const decision = decideBreaker({ syncStatus: 'active', threshold, lastRuns })
      if (decision.kind === 'trip') {
        return Number(decision.runId)
      }
    }
  }
  return null
}

/** Told another way: a counter, as nobody may keep one in the product. */
function countsUpAt(runs: readonly Ended[], threshold: number): number | null {
  let inARow = 0
  for (const [index, { status, cause, failureCode }] of runs.entries()) {
    const isOfTheSync =
      status !== 'canceled' && cause !== 'test' && !failureCode?.startsWith('lease_')
    if (isOfTheSync) {
      inARow = status === 'failed' ? inARow + 1 : 0
      if (inARow === threshold) {
        return index
      }
    }
  }
  return null
}

describe('the breaker', () => {
  it('trips at the run that a counter of failures in a row would, and at none before', () => {
    fc.assert(
      fc.property(fc.array(ended, { maxLength: 40 }), fc.integer({ min: 1, max: 8 }), (runs, n) => {
        expect(tripsAt(runs, n)).toBe(countsUpAt(runs, n))
      }),
      { numRuns: 2_000 },
    )
  })

  it('is not moved by what does not count, wherever it stands', () => {
    const uncounted = ended.filter((run) => !isCounted(run))
    fc.assert(
      fc.property(
        fc.array(ended.filter(isCounted), { maxLength: 12 }),
        fc.array(fc.tuple(fc.nat(12), uncounted), { maxLength: 8 }),
        fc.integer({ min: 1, max: 6 }),
        (runs, others, threshold) => {
          const mixed: Ended[] = [...runs]
          for (const [place, run] of others) {
            mixed.splice(place, 0, run)
          }
          const trips = (of: readonly Ended[]) => tripsAt(of, threshold) !== null
          expect(trips(mixed)).toBe(trips(runs))
        },
      ),
      { numRuns: 1_000 },
    )
  })
})
