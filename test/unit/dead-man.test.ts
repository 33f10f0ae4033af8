/** When the dead-man check is made, whom it asks, and what it says. */
import { describe, expect, it } from 'vitest'
import {
  type CheckDecision,
  DEAD_MAN_MINUTE,
  deadManSlot,
  decideCheck,
  decideSilence,
  describeSilence,
  describeStuckQueue,
  type TakenCheck,
  type WorkspaceFacts,
} from '../../src/domain/dead-man.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WINDOW_MS = 24 * HOUR_MS
const at = (text: string) => Date.parse(text)

describe('the slot of the dead-man check', () => {
  it.each([
    ['2026-12-01T10:13:00.000Z', 13, '2026-12-01T10:13:00.000Z'],
    ['2026-12-01T10:12:59.999Z', 13, '2026-12-01T09:13:00.000Z'],
    ['2026-12-01T11:12:59.999Z', 13, '2026-12-01T10:13:00.000Z'],
    ['2026-12-01T00:05:00.000Z', 13, '2026-11-30T23:13:00.000Z'],
    ['2026-12-01T10:00:00.000Z', 0, '2026-12-01T10:00:00.000Z'],
    ['2026-12-01T10:58:59.999Z', 59, '2026-12-01T09:59:00.000Z'],
  ])('at %s for minute %i is that of %s', (now, minute, slot) => {
    expect(new Date(deadManSlot(at(now), minute)).toISOString()).toBe(slot)
  })
})

/** Looks every minute from one moment to another as if clocks were read then; counts the slots that are taken. */
function lookAll(moments: readonly number[]): readonly string[] {
  let taken: TakenCheck | null = null
  const slots: string[] = []
  for (const nowMs of moments) {
    const decision: CheckDecision = decideCheck({ nowMs, minute: DEAD_MAN_MINUTE, taken })
    if (decision.kind === 'take') {
      taken = { slotMs: decision.slotMs, startedMs: nowMs, finishedMs: nowMs }
      slots.push(new Date(decision.slotMs).toISOString().slice(5, 16))
    }
  }
  return slots
}

function minutesFrom(start: string, count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => at(start) + n * MINUTE_MS)
}

describe('a look whether the check is due', () => {
  it.each([
    ['an ordinary day', '2026-06-01T00:13:00Z'],
    ['the day on which European clocks are put forward', '2026-03-29T00:13:00Z'],
    ['the day on which American clocks are put back', '2026-11-01T00:13:00Z'],
  ])('takes each of the 24 hours of %s once', (_, start) => {
    const slots = lookAll(minutesFrom(start, 24 * 60))
    expect(slots).toHaveLength(24)
    expect(new Set(slots).size).toBe(24)
  })

  it('loses and doubles none when the clock is set over the slot, back and forth', () => {
    const slots = lookAll([
      ...minutesFrom('2026-12-01T10:05:00Z', 20), // 10:05 to 10:24
      ...minutesFrom('2026-12-01T10:01:00Z', 20), // set back: 10:01 to 10:20
      ...minutesFrom('2026-12-01T11:14:00Z', 5), // set on, over 11:13
      ...minutesFrom('2026-12-01T09:20:00Z', 10), // set back by nearly two hours
      ...minutesFrom('2026-12-01T12:10:00Z', 10),
    ])
    expect(slots).toEqual(['12-01T09:13', '12-01T10:13', '12-01T11:13', '12-01T12:13'])
  })

  it('does not wait for a slot that a wrong clock took far ahead', () => {
    const slots = lookAll([at('2027-12-01T10:20:00Z'), ...minutesFrom('2026-12-01T10:20:00Z', 61)])
    expect(slots).toEqual(['12-01T10:13', '12-01T10:13', '12-01T11:13'])
  })

  it('takes the slot that was missed, and one check for all of those that were', () => {
    expect(lookAll([at('2026-12-01T10:20:00Z'), at('2026-12-01T19:02:00Z')])).toEqual([
      '12-01T10:13',
      '12-01T18:13',
    ])
  })

  it('takes a check up again whose process died in it, after 5 minutes', () => {
    const startedMs = at('2026-12-01T10:13:05Z')
    const slotMs = at('2026-12-01T10:13:00Z')
    const look = (afterMs: number, finishedMs: number | null = null) =>
      decideCheck({
        nowMs: startedMs + afterMs,
        minute: 13,
        taken: { slotMs, startedMs, finishedMs },
      })
    expect(look(5 * MINUTE_MS - 1)).toEqual({ kind: 'rest' })
    expect(look(5 * MINUTE_MS)).toEqual({ kind: 'take', slotMs })
    expect(look(5 * MINUTE_MS, startedMs + 1)).toEqual({ kind: 'rest' })
    // Begun before the clock was set back.
    expect(look(-10 * MINUTE_MS)).toEqual({ kind: 'take', slotMs })
  })
})

describe('a workspace', () => {
  const nowMs = at('2026-12-02T10:13:00Z')
  const ago = (hours: number) => nowMs - hours * HOUR_MS
  const SILENT: WorkspaceFacts = {
    activeSinceMs: ago(100),
    lastSucceededMs: null,
    lastRunMs: null,
    lastEndedMs: null,
    runsInFlight: 0,
    alertedMs: null,
  }
  const ask = (given: Partial<WorkspaceFacts>) =>
    decideSilence({ ...SILENT, ...given }, { nowMs, windowMs: WINDOW_MS })

  it.each<[string, Partial<WorkspaceFacts>, object]>([
    ['without a run ever', {}, { kind: 'silent', silence: 'no_run' }],
    [
      'whose last run was recorded before the window',
      { lastRunMs: ago(24) - 1, lastSucceededMs: ago(25) },
      { kind: 'silent', silence: 'no_run' },
    ],
    [
      'with runs of which none succeeded in the window',
      { lastRunMs: ago(1), lastSucceededMs: ago(24) - 1 },
      { kind: 'silent', silence: 'no_success' },
    ],
    [
      'whose last run ended in the window, and was recorded before it',
      { lastRunMs: ago(30), lastEndedMs: ago(24) },
      { kind: 'silent', silence: 'no_success' },
    ],
    [
      'with a run that is in flight for longer than the window',
      { lastRunMs: ago(30), runsInFlight: 1 },
      { kind: 'silent', silence: 'no_success' },
    ],
    [
      'whose last run was recorded and ended before the window',
      { lastRunMs: ago(30), lastEndedMs: ago(24) - 1 },
      { kind: 'silent', silence: 'no_run' },
    ],
    ['with a success at the very beginning of it', { lastSucceededMs: ago(24) }, { kind: 'alive' }],
    ['with a success in the future', { lastSucceededMs: ago(-1) }, { kind: 'alive' }],
    [
      'that became active less than a window ago',
      { activeSinceMs: ago(24) + 1 },
      { kind: 'not_asked' },
    ],
    [
      'that became active a window ago',
      { activeSinceMs: ago(24) },
      { kind: 'silent', silence: 'no_run' },
    ],
    ['without an active sync', { activeSinceMs: null }, { kind: 'not_asked' }],
    [
      'without an active sync any more, after an alert',
      { activeSinceMs: null, alertedMs: ago(2) },
      { kind: 'over', why: 'no_active_sync' },
    ],
    [
      'that succeeded after its alert, unseen by the run’s end',
      { lastSucceededMs: ago(2) - 5_000, alertedMs: ago(2) },
      { kind: 'over', why: 'succeeded' },
    ],
    [
      'whose queue got stuck after its last success',
      { lastSucceededMs: ago(3), alertedMs: ago(2) },
      { kind: 'alive' },
    ],
    [
      'that was published anew during its silence',
      { activeSinceMs: ago(1), alertedMs: ago(2) },
      { kind: 'not_asked' },
    ],
  ])('%s', (_, given, decision) => {
    expect(ask(given)).toEqual(decision)
  })
})

describe('the words of an alert', () => {
  const told = {
    workspaceId: 'w',
    windowMs: WINDOW_MS,
    activeSyncs: 2,
    activeSince: '2026-11-01T00:00:00.000Z',
    runsInFlight: 2,
    lastSucceeded: null,
    lastRun: '2026-12-01T00:00:00.000Z',
  }

  it('say which silence it is', () => {
    const [noRun, noSuccess, stuck] = [
      describeSilence('no_run', told),
      describeSilence('no_success', told),
      describeStuckQueue({
        workspaceId: 'w',
        waitingRuns: 1,
        oldestDue: '2026-12-01T00:00:00.000Z',
        stuckAfterMs: 15 * MINUTE_MS,
      }),
    ]
    expect(noRun.message).toContain(
      'No run at all was recorded or came to its end in the last 24 hours',
    )
    expect(noSuccess.message).toContain('none has succeeded in the last 24 hours')
    expect(noSuccess.message).toContain('in the queue or under way: 2')
    expect(stuck.message).toContain('1 run has been due for more than 15 minutes')
    expect(new Set([noRun, noSuccess, stuck].map(({ title }) => title)).size).toBe(3)
    for (const { message } of [noRun, noSuccess, stuck]) {
      expect(message).toMatch(/closes with the next run of the workspace that succeeds/)
      expect(message).toMatch(/Tajo's operators have to find out/)
    }
  })
})
