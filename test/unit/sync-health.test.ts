/** How a sync is doing, by its examples. What holds for all of them is in test/property/sync-health.test.ts. */
import { describe, expect, it } from 'vitest'
import { failure } from '../../src/domain/failure.ts'
import {
  decideSyncHealth,
  type SyncHealthFacts,
  type SyncHealthStatus,
} from '../../src/domain/sync-health.ts'
import { cronEngine } from '../../src/runtime/cron.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NOW = Date.parse('2026-12-02T12:00:00Z')
const ago = (minutes: number) => NOW - minutes * MINUTE_MS
const every = (minutes: number) => ({
  schedule: { kind: 'interval' as const, everyMs: minutes * MINUTE_MS },
  anchorMs: ago(10_000 * minutes),
})

const PARTS = {
  cron: cronEngine,
  progressStaleAfterMs: 2 * MINUTE_MS,
  tell: (ms: number) => new Date(ms).toISOString(),
}
const QUIET: SyncHealthFacts = {
  nowMs: NOW,
  pause: null,
  activatedMs: ago(60 * 24 * 30),
  slots: null,
  lastAlive: null,
  refused: null,
  failures: null,
  inFlight: null,
}
const decide = (given: Partial<SyncHealthFacts>) => decideSyncHealth(PARTS, { ...QUIET, ...given })
const alive = (minutes: number) => ({ finishedMs: ago(minutes), partialSinceMs: null })
const partial = (minutes: number, since: number) => ({
  finishedMs: ago(minutes),
  partialSinceMs: ago(since),
})
const failing = { firstMs: ago(90), last: failure('connection_missing', { subject: 'CRM' }) }
const running = (minutes: number) =>
  ({ status: 'running', startedMs: ago(30), progressMs: ago(minutes) }) as const
const queued = (minutes: number) => ({ status: 'queued', dueMs: ago(minutes) }) as const

describe('a sync', () => {
  it.each<[string, Partial<SyncHealthFacts>, SyncHealthStatus, number]>([
    ['without a schedule that never failed', {}, 'ok', QUIET.activatedMs],
    [
      'without a schedule that succeeded long ago',
      { lastAlive: alive(50_000) },
      'ok',
      QUIET.activatedMs,
    ],
    [
      'that succeeded, and whose next slot is to come',
      { slots: every(60), lastAlive: alive(59) },
      'ok',
      ago(59),
    ],
    ['whose slot passed 15 minutes ago', { slots: every(45), lastAlive: alive(16) }, 'ok', ago(16)],
    // Slots lie at 0 and 90 minutes before now: 75 minutes late is more than 1 h, and less than 3 x 90 min.
    [
      'whose slot passed 90 minutes ago',
      { slots: every(90), lastAlive: alive(91) },
      'late',
      ago(90),
    ],
    [
      'whose slot passed 20 minutes ago',
      { slots: every(20), lastAlive: alive(21) },
      'late',
      ago(20),
    ],
    [
      'that runs every 20 minutes and missed an hour of it',
      { slots: every(20), lastAlive: alive(61) },
      'late',
      ago(60),
    ],
    [
      'that runs every 20 minutes and missed more',
      { slots: every(20), lastAlive: alive(81) },
      'silent',
      ago(80),
    ],
    [
      'that runs every 2 hours and missed 6',
      { slots: every(120), lastAlive: alive(361) },
      'late',
      ago(360),
    ],
    [
      'that runs every 2 hours and missed 8',
      { slots: every(120), lastAlive: alive(481) },
      'silent',
      ago(480),
    ],
    [
      'that runs once a week and missed a slot by more than a day',
      {
        slots: { ...every(7 * 24 * 60), anchorMs: ago(7 * 24 * 60 + 25 * 60) },
        lastAlive: alive(26 * 60),
      },
      'silent',
      ago(25 * 60),
    ],
    [
      'that was resumed since',
      { slots: every(60), lastAlive: alive(600), activatedMs: ago(10) },
      'ok',
      ago(10),
    ],
    [
      'that never ran since it was published',
      { slots: every(60), activatedMs: ago(301) },
      'silent',
      ago(300),
    ],
    [
      'whose slots passed while its last run was under way',
      { slots: every(15), lastAlive: alive(1) },
      'ok',
      ago(1),
    ],
    [
      'that is at work, however late',
      { slots: every(20), lastAlive: alive(500), inFlight: running(1) },
      'ok',
      ago(30),
    ],
    [
      'whose run is at work after failures',
      { failures: failing, inFlight: running(1) },
      'ok',
      ago(30),
    ],
    [
      'whose run shows no progress',
      { slots: every(20), lastAlive: alive(81), inFlight: running(3) },
      'silent',
      ago(80),
    ],
    [
      'whose last run failed',
      { failures: failing, lastAlive: alive(100), slots: every(20) },
      'failing',
      ago(90),
    ],
    ['whose run waits for a short while', { inFlight: queued(15) }, 'ok', QUIET.activatedMs],
    ['whose run waits in the queue', { inFlight: queued(16) }, 'late', ago(16)],
    ['whose run waits for its next attempt', { inFlight: queued(-5) }, 'ok', QUIET.activatedMs],
    [
      'whose run waits in the queue, and whose slots are long gone',
      { inFlight: queued(200), slots: every(20), lastAlive: alive(221) },
      'silent',
      ago(220),
    ],
    [
      'whose runs have been partial for a week',
      { slots: every(60), lastAlive: partial(59, 10_000) },
      'partial',
      ago(10_000),
    ],
    [
      'whose run was partial, and whose next one is late',
      { slots: every(90), lastAlive: partial(91, 10_000) },
      'late',
      ago(90),
    ],
    [
      'whose run was partial, and whose next one failed',
      { failures: failing, lastAlive: partial(91, 10_000) },
      'failing',
      ago(90),
    ],
    [
      'whose runs have been partial since before it was published anew',
      { lastAlive: partial(5, 600), activatedMs: ago(10) },
      'partial',
      ago(10),
    ],
    [
      'that was published anew since its last run was partial',
      { slots: every(60), lastAlive: partial(11, 600), activatedMs: ago(10) },
      'ok',
      ago(10),
    ],
    [
      'that is paused, whatever else',
      {
        pause: { cause: 'person', reason: 'Moving.', sinceMs: ago(5) },
        failures: failing,
        slots: every(20),
      },
      'paused',
      ago(5),
    ],
  ])('%s', (_, given, status, sinceMs) => {
    expect(decide(given)).toMatchObject({ status, sinceMs })
  })

  it.each<[Partial<SyncHealthFacts>, string]>([
    [{ failures: failing }, 'A tool that the sync uses (CRM) is not connected in this workspace.'],
    [
      { failures: { firstMs: ago(1), last: failure('lease_conflict') } },
      'Another run of this sync was already in progress.',
    ],
    [
      { inFlight: queued(16) },
      'A run has been waiting in the queue since 2026-12-02T11:44:00.000Z, and no worker has taken it.',
    ],
    [
      { pause: { cause: 'breaker', reason: null, sinceMs: ago(5) } },
      'Paused automatically by the failure circuit breaker: mend the cause and publish again.',
    ],
    [
      { pause: { cause: 'person', reason: 'the CRM moves', sinceMs: ago(5) } },
      'It was paused by a person: the CRM moves.',
    ],
    [{ lastAlive: alive(1) }, 'Its last run succeeded at 2026-12-02T11:59:00.000Z.'],
    [
      { lastAlive: partial(1, 5) },
      'Its last run ended at 2026-12-02T11:59:00.000Z, with some records not delivered.',
    ],
  ])('says why: %j', (given, why) => {
    expect(decide(given).why).toBe(why)
  })

  it('goes by the wall clock of its schedule where clocks change', () => {
    // 02:30 does not exist in Rome on that day; 03:00 takes its place.
    const slots = {
      schedule: { kind: 'cron' as const, expression: '30 2 * * *', timeZone: 'Europe/Rome' },
      anchorMs: 0,
    }
    const nowMs = Date.parse('2026-03-29T01:20:00Z')
    const lastAlive = { partialSinceMs: null, finishedMs: nowMs - 20 * HOUR_MS }
    expect(
      decideSyncHealth(PARTS, { ...QUIET, nowMs, slots, lastAlive, activatedMs: 0 }),
    ).toMatchObject({
      status: 'late',
      sinceMs: Date.parse('2026-03-29T01:00:00Z'),
    })
  })
})
