/** When schedules fire, in particular where clocks are put forward and back. */
import { describe, expect, it } from 'vitest'
import {
  type AnchoredSchedule,
  checkSchedule,
  decideSlots,
  decideTick,
  type GivenSchedule,
  nextFire,
  nextFires,
  readSchedule,
  type Schedule,
} from '../../src/domain/schedule.ts'
import { cronEngine } from '../../src/runtime/cron.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

function cron(expression: string, timeZone: string): AnchoredSchedule {
  return { schedule: { kind: 'cron', expression, timeZone }, anchorMs: 0 }
}

function at(text: string): number {
  return Date.parse(text)
}

/** Every fire after a moment and up to another one. */
function firesBetween(anchored: AnchoredSchedule, after: string, upTo: string): string[] {
  return nextFires(cronEngine, anchored, { afterMs: at(after), count: 200 })
    .filter((ms) => ms <= at(upTo))
    .map((ms) => new Date(ms).toISOString().replace(':00.000Z', 'Z'))
}

describe('a day on which clocks change', () => {
  // 2026-03-08 in Chicago: 02:00 CST (-6) is followed by 03:00 CDT (-5), at 08:00 UTC.
  const CHICAGO_SPRING = [
    'America/Chicago',
    '2026-03-08T05:59:59Z',
    '2026-03-09T04:59:59Z',
  ] as const
  // 2025-03-30 in Rome: 02:00 CET (+1) is followed by 03:00 CEST (+2), at 01:00 UTC.
  const ROME_SPRING = ['Europe/Rome', '2025-03-29T22:59:59Z', '2025-03-30T21:59:59Z'] as const
  // 2025-11-02 in New York: 02:00 EDT (-4) is followed by 01:00 EST (-5), at 06:00 UTC.
  const NEW_YORK_2025 = [
    'America/New_York',
    '2025-11-02T03:59:59Z',
    '2025-11-03T04:59:59Z',
  ] as const
  // 2026-11-01 in New York: the same.
  const NEW_YORK_2026 = [
    'America/New_York',
    '2026-11-01T03:59:59Z',
    '2026-11-02T04:59:59Z',
  ] as const

  it.each([
    [CHICAGO_SPRING, '0 8 * * 0', ['2026-03-08T13:00Z']],
    [CHICAGO_SPRING, '30 2 * * *', ['2026-03-08T08:00Z']],
    [CHICAGO_SPRING, '30 1 * * *', ['2026-03-08T07:30Z']],
    [CHICAGO_SPRING, '0 3 * * *', ['2026-03-08T08:00Z']],
    [ROME_SPRING, '0 8 * * 0', ['2025-03-30T06:00Z']],
    [ROME_SPRING, '30 2 * * *', ['2025-03-30T01:00Z']],
    [ROME_SPRING, '30 1 * * *', ['2025-03-30T00:30Z']],
    [ROME_SPRING, '0 3 * * *', ['2025-03-30T01:00Z']],
    [NEW_YORK_2025, '0 8 * * 0', ['2025-11-02T13:00Z']],
    [NEW_YORK_2025, '30 2 * * *', ['2025-11-02T07:30Z']],
    [NEW_YORK_2025, '30 1 * * *', ['2025-11-02T05:30Z']],
    [NEW_YORK_2025, '0 3 * * *', ['2025-11-02T08:00Z']],
    [NEW_YORK_2026, '0 8 * * 0', ['2026-11-01T13:00Z']],
    [NEW_YORK_2026, '30 2 * * *', ['2026-11-01T07:30Z']],
    [NEW_YORK_2026, '30 1 * * *', ['2026-11-01T05:30Z']],
    [NEW_YORK_2026, '0 3 * * *', ['2026-11-01T08:00Z']],
    // Four readings that do not exist are one moment.
    [
      ROME_SPRING,
      '*/15 2,3 * * *',
      ['2025-03-30T01:00Z', '2025-03-30T01:15Z', '2025-03-30T01:30Z', '2025-03-30T01:45Z'],
    ],
    // Each reading that comes twice fires once.
    [
      NEW_YORK_2025,
      '*/30 1,2 * * *',
      ['2025-11-02T05:00Z', '2025-11-02T05:30Z', '2025-11-02T07:00Z', '2025-11-02T07:30Z'],
    ],
  ])('%j: %s fires at %j', ([timeZone, after, upTo], expression, expected) => {
    expect(firesBetween(cron(expression, timeZone), after, upTo)).toEqual(expected)
  })

  it('fires once also when asked in the hour that comes the second time', () => {
    const fire = nextFire(
      cronEngine,
      cron('30 1 * * *', 'America/New_York'),
      at('2025-11-02T06:10Z'),
    )
    expect(fire).toBe(at('2025-11-03T06:30Z'))
  })

  it('fires after half an hour that comes twice, and after a whole day that does not exist', () => {
    const lordHowe = cron('*/20 * * * *', 'Australia/Lord_Howe')
    expect(firesBetween(lordHowe, '2026-04-04T14:30Z', '2026-04-04T15:50Z')).toEqual([
      '2026-04-04T14:40Z',
      '2026-04-04T15:30Z',
      '2026-04-04T15:50Z',
    ])
    // Samoa had no 30 December 2011: its noon was the first moment of the 31st.
    const samoa = cron('0 12 * * *', 'Pacific/Apia')
    expect(firesBetween(samoa, '2011-12-29T12:00Z', '2011-12-31T12:00Z')).toEqual([
      '2011-12-29T22:00Z',
      '2011-12-30T10:00Z',
      '2011-12-30T22:00Z',
    ])
  })
})

describe('an interval', () => {
  const hourly: AnchoredSchedule = {
    schedule: { kind: 'interval', everyMs: HOUR_MS },
    anchorMs: at('2026-01-01T00:10Z'),
  }

  it('fires on the grid of its publication, however late it is asked', () => {
    const asked = [
      '2025-12-01T00:00Z',
      '2026-01-01T00:10Z',
      '2026-01-01T01:09:59Z',
      '2026-01-01T01:10Z',
    ]
    const fires = asked.map((after) => nextFire(cronEngine, hourly, at(after)))
    expect(fires.map((ms) => new Date(ms ?? 0).toISOString().slice(11, 16))).toEqual([
      '01:10',
      '01:10',
      '01:10',
      '02:10',
    ])
  })
})

describe('checking a schedule', () => {
  const NEITHER = 'It must be either an interval (everyMs) or an expression with its timeZone.'
  const zone = { timeZone: 'UTC' }
  it.each<[GivenSchedule, string, string | RegExp]>([
    [{}, '', NEITHER],
    [{ everyMs: HOUR_MS, ...zone }, '', NEITHER],
    [{ everyMs: MINUTE_MS - 1 }, 'everyMs', /1 minute.*30 days.* 59999 was given/],
    [{ everyMs: 30 * 24 * HOUR_MS + 1 }, 'everyMs', /30 days/],
    [{ everyMs: 90_000.5 }, 'everyMs', /whole number/],
    [zone, 'expression', 'A cron expression is needed with a time zone.'],
    [{ expression: '0 8 * * *' }, 'timeZone', /time zone is needed/],
    [
      { expression: '0 8 * * *', timeZone: 'Mars/Olympus' },
      'timeZone',
      /There is no such time zone/,
    ],
    [{ expression: '0 8 * * *', timeZone: '+02:00' }, 'timeZone', /There is no such time zone/],
    [{ expression: '0 0 30 2 *', ...zone }, 'expression', /never fires/],
    [{ expression: '0 0 31 4,6 *', ...zone }, 'expression', /never fires/],
    [{ expression: '0 0 8 * * *', ...zone }, 'expression', /It has 6 fields: seconds and years/],
    [{ expression: '@daily', ...zone }, 'expression', /It has 1 field: it must have five/],
    [{ expression: '60 * * * *', ...zone }, 'expression', /Invalid value for minute: 60/],
    [{ expression: '* * * * SOMEDAY', ...zone }, 'expression', /not a cron expression/],
    [{ expression: `${'0,'.repeat(120)}0 8 * * *`, ...zone }, 'expression', /at most 200/],
  ])('names what is wrong with %j', (given, field, reason) => {
    expect(checkSchedule(cronEngine, given)).toEqual({
      kind: 'invalid',
      problems: [
        { field, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
      ],
    })
  })

  it('tells everything that is wrong at once', () => {
    const checked = checkSchedule(cronEngine, { expression: 'x', timeZone: 'x' })
    expect(checked).toMatchObject({ problems: [{ field: 'expression' }, { field: 'timeZone' }] })
  })

  it.each<[GivenSchedule, Schedule]>([
    [{ everyMs: MINUTE_MS }, { kind: 'interval', everyMs: MINUTE_MS }],
    [
      { expression: '  0  8\t* * MON-FRI ', timeZone: 'Europe/Rome' },
      { kind: 'cron', expression: '0 8 * * MON-FRI', timeZone: 'Europe/Rome' },
    ],
    [
      { expression: '0 0 29 2 *', timeZone: 'UTC' },
      { kind: 'cron', expression: '0 0 29 2 *', timeZone: 'UTC' },
    ],
  ])('accepts %j, written in one way, and again as it was stored', (given, schedule) => {
    expect(checkSchedule(cronEngine, given)).toEqual({ kind: 'valid', schedule })
    expect(checkSchedule(cronEngine, schedule)).toEqual({ kind: 'valid', schedule })
    expect(readSchedule(JSON.parse(JSON.stringify(schedule)))).toEqual(schedule)
  })

  it('refuses a stored schedule that it did not write', () => {
    expect(() => readSchedule({ kind: 'interval', everyMs: '60000' })).toThrow(RangeError)
    expect(readSchedule(undefined)).toBeNull()
  })
})

describe('the slots of a sync', () => {
  const nowMs = at('2026-01-01T12:00Z')
  const schedule: Schedule = { kind: 'interval', everyMs: HOUR_MS }
  const before = { schedule, anchorMs: at('2026-01-01T00:10Z'), slotMs: at('2026-01-01T12:10Z') }
  const missed = { ...before, slotMs: at('2026-01-01T03:10Z') }

  it.each([
    ['begin an interval after the publication', schedule, null, false, nowMs, '13:00'],
    ['stay while the schedule stays', schedule, before, true, before.anchorMs, '12:10'],
    [
      'stay due, if they are, while the schedule stays',
      schedule,
      missed,
      true,
      before.anchorMs,
      '03:10',
    ],
    ['of a paused sync begin with the next', schedule, missed, false, before.anchorMs, '12:10'],
    [
      'begin anew with another schedule',
      { ...schedule, everyMs: 2 * HOUR_MS },
      before,
      true,
      nowMs,
      '14:00',
    ],
  ] as const)('%s', (_, published, stored, wasActive, anchorMs, slot) => {
    const facts = { schedule: published, before: stored, wasActive, nowMs }
    expect(decideSlots(cronEngine, facts)).toEqual({
      schedule: published,
      anchorMs,
      slotMs: at(`2026-01-01T${slot}Z`),
    })
  })

  it('end with the schedule', () => {
    const facts = { schedule: null, before, wasActive: true, nowMs }
    expect(decideSlots(cronEngine, facts)).toMatchObject({ schedule: null, slotMs: null })
  })
})

describe('a tick', () => {
  const daily = cron('0 8 * * *', 'UTC')
  const slotMs = at('2026-01-01T08:00Z')
  it.each([
    ['in its time', '2026-01-01T08:00:01Z', false, '2026-01-02T08:00Z'],
    ['a minute late', '2026-01-01T08:01:00Z', false, '2026-01-02T08:00Z'],
    ['after an outage of an hour', '2026-01-01T09:00:00Z', true, '2026-01-02T08:00Z'],
    ['after an outage of ten days', '2026-01-11T07:59:00Z', true, '2026-01-11T08:00Z'],
    ['at the moment of the following slot', '2026-01-02T08:00:00Z', true, '2026-01-03T08:00Z'],
  ])('%s', (_, now, isCatchingUp, next) => {
    expect(decideTick(cronEngine, daily, { slotMs, nowMs: at(now) })).toEqual({
      nextSlotMs: at(next),
      isCatchingUp,
    })
  })
})
