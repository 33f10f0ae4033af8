/** What holds for the health of every sync, at every moment. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FAILURE_CODES, failure } from '../../src/domain/failure.ts'
import {
  decideSyncHealth,
  type SyncHealthFacts,
  type SyncHealthStatus,
} from '../../src/domain/sync-health.ts'
import { cronEngine } from '../../src/runtime/cron.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const END = Date.parse('2027-01-01')

const STATUSES: readonly SyncHealthStatus[] = [
  'ok',
  'partial',
  'late',
  'silent',
  'failing',
  'paused',
]
const PARTS = {
  cron: cronEngine,
  progressStaleAfterMs: 2 * MINUTE_MS,
  tell: (ms: number) => new Date(ms).toISOString(),
}

/** Also after `nowMs`, as where a clock was set back. */
const moment = fc.integer({ min: Date.parse('2026-01-01'), max: END + DAY_MS })
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
const slots = fc.record({
  schedule: fc.oneof(
    fc
      .integer({ min: MINUTE_MS, max: 30 * DAY_MS })
      .map((everyMs) => ({ kind: 'interval' as const, everyMs })),
    fc
      .constantFrom('*/5 * * * *', '30 2 * * *', '0 8 * * MON-FRI', '0 0 1 * *', '0 0 29 2 *')
      .map((expression) => ({ kind: 'cron' as const, expression, timeZone: 'Europe/Rome' })),
  ),
  anchorMs: moment,
})
const code = fc.constantFrom(...FAILURE_CODES)
const facts: fc.Arbitrary<SyncHealthFacts> = fc.record({
  nowMs: moment,
  pause: nullable(
    fc.record({
      cause: fc.constantFrom('person' as const, 'breaker' as const),
      reason: nullable(fc.string()),
      sinceMs: moment,
    }),
  ),
  activatedMs: moment,
  slots: nullable(slots),
  lastAlive: nullable(fc.record({ finishedMs: moment, partialSinceMs: nullable(moment) })),
  refused: nullable(fc.record({ connectionName: fc.string(), sinceMs: moment })),
  failures: nullable(fc.record({ firstMs: moment, last: code.map((each) => failure(each)) })),
  inFlight: nullable(
    fc.oneof(
      fc.record({ status: fc.constant('queued' as const), dueMs: moment }),
      fc.record({ status: fc.constant('running' as const), startedMs: moment, progressMs: moment }),
    ),
  ),
})

describe('the health of a sync', () => {
  it('is one of six, begins now or earlier, and says why in a sentence', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const { status, sinceMs, why } = decideSyncHealth(PARTS, given)
        expect(STATUSES).toContain(status)
        expect(sinceMs).toBeLessThanOrEqual(given.nowMs)
        expect(why).toMatch(/^\S[\s\S]*[.!?…]$/)
      }),
    )
  })

  it('is late before it is silent, and neither gets better by waiting', () => {
    const RANK: Partial<Record<SyncHealthStatus, number>> = {
      ok: 0,
      partial: 0,
      late: 1,
      silent: 2,
    }
    const idle = facts.map((given) => ({
      ...{ ...given, pause: null, refused: null, failures: null, inFlight: null },
    }))
    const steps = fc.array(fc.integer({ min: 1, max: 3 * DAY_MS }), { minLength: 2, maxLength: 20 })
    fc.assert(
      fc.property(idle, slots, steps, (given, scheduled, waits) => {
        let nowMs = given.nowMs
        let rank = 0
        const seen: number[] = []
        for (const wait of waits) {
          nowMs += wait
          const { status } = decideSyncHealth(PARTS, { ...given, slots: scheduled, nowMs })
          const next = RANK[status] ?? Number.NaN
          expect(next).toBeGreaterThanOrEqual(rank)
          rank = next
          seen.push(next)
        }
        // The moment before it is silent it is late, whatever the steps: see the minute in which it changed.
        const silentAt = seen.indexOf(2)
        if (silentAt >= 0) {
          expect(statusJustBefore(given, scheduled, nowMs)).toBe('late')
        }
      }),
    )
  })

  it('is silent after a while, if nothing ever comes of a schedule', () => {
    fc.assert(
      fc.property(facts, slots, (given, scheduled) => {
        // The longest that a schedule may rest: from one 29 February to the one 8 years later, at the turn of a century.
        const nowMs = Math.max(given.nowMs, END) + 9 * 366 * DAY_MS
        const idle = { ...given, pause: null, refused: null, failures: null, inFlight: null }
        const health = decideSyncHealth(PARTS, { ...idle, slots: scheduled, nowMs })
        expect(health.status).toBe('silent')
      }),
    )
  })
})

/** Finds by halving the first moment at which it is silent, and tells what it was a millisecond before. */
function statusJustBefore(
  given: SyncHealthFacts,
  scheduled: SyncHealthFacts['slots'],
  silentMs: number,
): SyncHealthStatus {
  const statusAt = (nowMs: number) =>
    decideSyncHealth(PARTS, { ...given, slots: scheduled, nowMs }).status
  let [before, after] = [Math.max(given.activatedMs, given.lastAlive?.finishedMs ?? 0), silentMs]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (statusAt(middle) === 'silent') {
      after = middle
    } else {
      before = middle
    }
  }
  return statusAt(before)
}
