/** What holds for every schedule, at every moment, in every zone. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AnchoredSchedule,
  checkSchedule,
  decideTick,
  nextFire,
  nextFires,
} from '../../src/domain/schedule.ts'
import { firstMomentOf, wallClockAt } from '../../src/domain/wall-clock.ts'
import { cronEngine } from '../../src/runtime/cron.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Zones with all kinds of changes of clocks, and those of whole days. */
const ZONES = [
  'UTC',
  'America/Chicago',
  'America/New_York',
  'America/St_Johns',
  'Europe/Rome',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
]

/** Moments at which clocks changed or change somewhere. */
const CHANGES = [
  '2026-03-08T08:00Z',
  '2025-03-30T01:00Z',
  '2025-11-02T06:00Z',
  '2026-11-01T06:00Z',
  '2011-12-30T10:00Z',
  '2026-04-04T15:00Z',
].map((text) => Date.parse(text))

const zone = fc.constantFrom(...ZONES)
const moment = fc.oneof(
  fc.integer({ min: 0, max: Date.parse('2100-01-01') }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }))
    .map(([change, away]) => change + away),
)

function field(min: number, max: number) {
  const value = fc.integer({ min, max })
  return fc.oneof(
    fc.constant('*'),
    value.map(String),
    fc.integer({ min: 1, max }).map((step) => `*/${step}`),
    fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.uniqueArray(value, { minLength: 1, maxLength: 3 }).map((list) => list.join(',')),
  )
}

const cron = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6), zone)
  .map(([minute, hour, day, month, weekday, timeZone]) => ({
    expression: [minute, hour, day, month, weekday].join(' '),
    timeZone,
  }))
const interval = fc.integer({ min: MINUTE_MS, max: 30 * DAY_MS }).map((everyMs) => ({ everyMs }))

const anchored = fc
  .tuple(fc.oneof({ weight: 5, arbitrary: cron }, { weight: 1, arbitrary: interval }), moment)
  .map(([given, anchorMs]): AnchoredSchedule | null => {
    const checked = checkSchedule(cronEngine, given)
    return checked.kind === 'valid' ? { schedule: checked.schedule, anchorMs } : null
  })
  // Such as 31 April.
  .filter((made) => made !== null)

describe('a schedule', () => {
  it('fires after the moment it is asked at, and at none in between', () => {
    fc.assert(
      fc.property(anchored, moment, fc.double({ min: 0, max: 1, noNaN: true }), (made, t, part) => {
        const next = nextFire(cronEngine, made, t)
        expect(next).toBeGreaterThan(t)
        // Whenever it is asked before that fire, the answer is that fire.
        const between = Math.floor(t + ((next ?? t) - 1 - t) * part)
        expect(nextFire(cronEngine, made, between)).toBe(next)
      }),
      { numRuns: 1_500 },
    )
  })

  it('of a cron expression fires where the wall clock matches, or has just passed over what matches', () => {
    fc.assert(
      fc.property(anchored, moment, (made, t) => {
        const { schedule } = made
        fc.pre(schedule.kind === 'cron')
        const [fire = 0] = nextFires(cronEngine, made, { afterMs: t, count: 1 })
        const reading = wallClockAt(schedule.timeZone, fire)
        const passed = wallClockAt(schedule.timeZone, fire - 1)
        const match = cronEngine.nextMatch(schedule.expression, passed)
        expect(match).not.toBeNull()
        expect(match).toBeLessThanOrEqual(reading)
      }),
      { numRuns: 500 },
    )
  })

  it('moves on past now when it is fired, without leaving a slot out that is still to come', () => {
    fc.assert(
      fc.property(anchored, moment, fc.nat(40 * DAY_MS), (made, slotMs, late) => {
        const nowMs = slotMs + late
        const { nextSlotMs, isCatchingUp } = decideTick(cronEngine, made, { slotMs, nowMs })
        expect(nextSlotMs).toBe(nextFire(cronEngine, made, nowMs))
        const [following = 0] = nextFires(cronEngine, made, { afterMs: slotMs, count: 1 })
        expect(isCatchingUp).toBe(following <= nowMs || late > MINUTE_MS)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a wall clock', () => {
  it('shows a reading first at the first moment that shows it or has passed it', () => {
    fc.assert(
      fc.property(zone, moment, (timeZone, wallMs) => {
        const first = firstMomentOf(timeZone, wallMs)
        expect(wallClockAt(timeZone, first)).toBeGreaterThanOrEqual(wallMs)
        for (const before of [1, 1_000, MINUTE_MS, 45 * MINUTE_MS, 90 * MINUTE_MS, DAY_MS]) {
          expect(wallClockAt(timeZone, first - before)).toBeLessThan(wallMs)
        }
      }),
      { numRuns: 1_500 },
    )
  })
})
