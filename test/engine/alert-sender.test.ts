/** The senders of alerts: their channels apart from each other, and several of them on one database. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { announceAlerts } from '../../src/coordination/announce.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import type { SendOutcome } from '../../src/domain/alert-notice.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { AlertSender, type AlertSenderOptions } from '../../src/watch/alert-sender.ts'
import type { Channel } from '../../src/watch/channels/channel.ts'
import {
  close,
  forgetAlerts,
  listNotices,
  passTime,
  passTimeOfChannels,
  raise,
} from '../support/alerts.ts'
import { createCutDatabase } from '../support/cut-database.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createRecordingLogger, type RecordingLogger } from '../support/recording-logger.ts'
import { ScriptedChannel, type ScriptedSend, SENT } from '../support/scripted-channel.ts'
import { createSignal } from '../support/signal.ts'

const REFUSED: SendOutcome = { kind: 'refused', reason: 'It answered with status 400.' }
const HOUR_MS = 3_600_000
/** So long that no test lives to see a poll: what is sent was woken for. */
const NO_POLL_MS = 10 * 60_000

describe.each(ENGINE_DATABASE_KINDS)('the sender of alerts on %s', (kind) => {
  const database = useDatabase(kind)
  const started: AlertSender[] = []
  let logger: RecordingLogger
  let bus: ReturnType<typeof createMemoryBus>

  beforeEach(async () => {
    logger = createRecordingLogger()
    bus = createMemoryBus(logger)
    await forgetAlerts(database())
  })
  afterEach(async () => {
    await Promise.all(started.splice(0).map((sender) => sender.stop()))
  })
  const start = async (
    channels: readonly Channel[],
    given: Partial<AlertSenderOptions> = {},
  ): Promise<AlertSender> => {
    const parts = { database: database(), bus, clock: systemClock, logger }
    const sender = new AlertSender({ ...parts, channels, pollMs: NO_POLL_MS, ...given })
    started.push(sender)
    await sender.start()
    return sender
  }
  const wake = () => announceAlerts(bus)
  const whenRecorded = async (alert: { readonly id: string }, expected: readonly object[]) => {
    await expect
      .poll(() => listNotices(database(), alert), { timeout: 10_000 })
      .toMatchObject(expected)
  }

  /** Resolves with how long it waits once so many tries have failed: a notice that is being tried is due. */
  const whenPostponed = async (alert: { readonly id: string }, tries: number): Promise<number> => {
    const isPostponed = { tries, isGivenUp: false, waitMs: expect.toSatisfy((ms) => ms > 0) }
    await whenRecorded(alert, [isPostponed])
    const [notice] = await listNotices(database(), alert)
    return notice?.waitMs ?? 0
  }

  it('sends what is due at its start, and what it is woken for, each once', async () => {
    const channel = new ScriptedChannel('log')
    const before = await raise(database(), {}, ['log'])
    await start([channel])
    await channel.got(1)
    const after = await raise(database(), {}, ['log'])
    await wake()
    await channel.got(2)
    await close(database(), after)
    await wake()
    await channel.got(3)
    expect(channel.given.map(({ event, alert }) => [event, alert.id])).toEqual([
      ['opened', before.id],
      ['opened', after.id],
      ['closed', after.id],
    ])
    await whenRecorded(after, [
      { isSent: true, tries: 1 },
      { isSent: true, tries: 1 },
    ])
  })

  it('sends on its own channels also what a process raised that did not know them', async () => {
    const channel = new ScriptedChannel('email')
    await start([channel])
    const alert = await raise(database(), {}, ['log'])
    await wake()
    await channel.got(1)
    await close(database(), alert)
    await wake()
    await channel.got(2)
    expect(channel.given.map(({ event, alert: { id } }) => [event, id])).toEqual([
      ['opened', alert.id],
      ['closed', alert.id],
    ])
  })

  it('gives up what waits on a channel that nobody sends on any more, with an error in the log', async () => {
    const alert = await raise(database(), {}, ['email'])
    await passTime(database(), 73 * HOUR_MS)
    await start([new ScriptedChannel('log')], { abandonEveryMs: 20 })
    await expect
      .poll(() => logger.events.filter(({ event }) => event === 'alert.channel_abandoned'), {
        timeout: 10_000,
      })
      .toMatchObject([{ level: 'error', bindings: { channel: 'email', notices: 1 } }])
    const notices = await listNotices(database(), alert)
    expect(notices.filter(({ channel }) => channel === 'email')).toMatchObject([
      { isGivenUp: true, tries: 0 },
    ])
  })

  it('gives up nothing of a channel that another process serves', async () => {
    const email = new ScriptedChannel('email')
    const answer = createSignal()
    email.next = () => answer.reached.then(() => SENT)
    await start([email])
    const alert = await raise(database(), {}, ['email', 'sentry'])
    await wake()
    await email.got(1)
    await passTimeOfChannels(database(), 71 * HOUR_MS)
    await passTime(database(), 73 * HOUR_MS)
    await start([new ScriptedChannel('log')], { abandonEveryMs: 20 })
    const abandoned = () => logger.events.filter(({ event }) => event === 'alert.channel_abandoned')
    await expect
      .poll(abandoned, { timeout: 10_000 })
      .toMatchObject([{ bindings: { channel: 'sentry', notices: 1 } }])
    const notices = await listNotices(database(), alert)
    expect(notices.filter(({ channel }) => channel === 'email')).toMatchObject([
      { isGivenUp: false },
    ])
    answer.reach()
  })

  it('finds what nobody woke it for with the next poll', async () => {
    const channel = new ScriptedChannel('log')
    await start([channel], { pollMs: 20 })
    await raise(database(), {}, ['log'])
    await channel.got(1)
  })

  it.each<[string, ScriptedSend]>([
    ['hangs and does not listen', () => new Promise(() => undefined)],
    ['refuses', () => Promise.resolve(REFUSED)],
    ['throws', () => Promise.reject(new Error('A bug.'))],
    [
      'throws at once',
      () => {
        throw new Error('A bug.')
      },
    ],
  ])('tells the others at once while a channel %s, and tries that one again', async (_, broken) => {
    const [bad, good] = [new ScriptedChannel('webhook'), new ScriptedChannel('email')]
    bad.next = broken
    await start([bad, good], { sendDeadlineMs: 300 })
    const alerts = [
      await raise(database(), {}, ['webhook', 'email']),
      await raise(database(), {}, ['webhook', 'email']),
    ]
    await wake()
    await good.got(2)
    for (const alert of alerts) {
      await whenRecorded(alert, [
        { channel: 'email', isSent: true },
        {
          channel: 'webhook',
          isSent: false,
          isGivenUp: false,
          tries: 1,
          lastError: expect.any(String),
        },
      ])
    }
    bad.next = () => Promise.resolve(SENT)
    await passTime(database(), 30_001)
    await wake()
    await bad.got(4)
    expect(good.given).toHaveLength(2)
    for (const alert of alerts) {
      await whenRecorded(alert, [{ isSent: true }, { isSent: true, tries: 2 }])
    }
  })

  it('tells the others while a channel is still at its first message', async () => {
    const [bad, good] = [new ScriptedChannel('webhook'), new ScriptedChannel('email')]
    const answer = createSignal()
    bad.next = () => answer.reached.then(() => SENT)
    await start([bad, good])
    const alerts = [
      await raise(database(), {}, ['webhook', 'email']),
      await raise(database(), {}, ['webhook', 'email']),
    ]
    await wake()
    await bad.got(1)
    await good.got(2)
    const [first] = await listNotices(database(), alerts[0] ?? { id: '' }).then((notices) =>
      notices.filter(({ channel }) => channel === 'webhook'),
    )
    expect(first).toMatchObject({ isSent: false, tries: 1, lastError: null })
    expect(bad.given).toHaveLength(1)
    answer.reach()
    await bad.got(2)
  })

  it('that was stopped while it claimed sends nothing: somebody else may have sent it by now', async () => {
    const channel = new ScriptedChannel('webhook')
    let nowMs = 0
    const monotonicMs = () => {
      nowMs += 130_000
      return nowMs
    }
    const clock = { ...systemClock, monotonicMs }
    const alert = await raise(database(), {}, ['webhook'])
    const sender = await start([channel], { clock })
    await whenRecorded(alert, [{ tries: 1 }])
    await sender.stop()
    const other = new ScriptedChannel('webhook')
    await passTime(database(), 130_000)
    await start([other])
    await other.got(1)
    expect(other.given).toMatchObject([{ isRepetition: true }])
    expect(channel.given).toEqual([])
  })

  it('takes a try without an answer for one that may have arrived, and a refused one not', async () => {
    const channel = new ScriptedChannel('webhook')
    const outcomes: SendOutcome[] = [
      REFUSED,
      { kind: 'unknown', reason: 'No answer.' },
      REFUSED,
      SENT,
    ]
    channel.next = () => Promise.resolve(outcomes.shift() ?? SENT)
    await start([channel])
    const alert = await raise(database(), {}, ['webhook'])
    for (let tries = 1; tries <= 4; tries += 1) {
      await wake()
      if (tries < 4) {
        await whenPostponed(alert, tries)
        await passTime(database(), HOUR_MS)
      }
    }
    await whenRecorded(alert, [{ tries: 4, isSent: true }])
    expect(channel.given.map(({ isRepetition }) => isRepetition)).toEqual([
      false,
      false,
      true,
      true,
    ])
    expect(new Set(channel.given.map(({ id }) => id)).size).toBe(1)
  })

  it('waits longer from try to try, and gives up after three days with an error in the log', async () => {
    const channel = new ScriptedChannel('webhook')
    channel.next = () => Promise.resolve(REFUSED)
    await start([channel])
    const alert = await raise(database(), {}, ['webhook'])
    const waits: number[] = []
    for (let tries = 1; tries <= 9; tries += 1) {
      await wake()
      const waitMs = await whenPostponed(alert, tries)
      waits.push(Math.round(waitMs / 10_000) * 10)
      await passTime(database(), waitMs)
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600])
    expect(logger.count('alert.given_up')).toBe(0)
    await passTime(database(), 72 * HOUR_MS)
    await wake()
    await whenRecorded(alert, [{ tries: 10, isGivenUp: true, lastError: expect.any(String) }])
    expect(logger.events.filter(({ event }) => event === 'alert.given_up')).toMatchObject([
      { level: 'error', bindings: { channel: 'webhook', alertId: alert.id, tries: 10 } },
    ])
    await passTime(database(), HOUR_MS)
    await wake()
    await wake()
    expect(channel.given).toHaveLength(10)
  })

  it('gives up at once what nobody wants any more', async () => {
    const channel = new ScriptedChannel('webhook')
    channel.next = () => Promise.resolve({ kind: 'gone', reason: 'It answered with status 410.' })
    await start([channel])
    const alert = await raise(database(), {}, ['webhook'])
    await wake()
    await whenRecorded(alert, [
      { isGivenUp: true, tries: 1, lastError: 'It answered with status 410.' },
    ])
  })

  it('sends each notice once, however many senders there are', async () => {
    const channels = Array.from({ length: 4 }, () => new ScriptedChannel('webhook'))
    for (const channel of channels) {
      await start([channel], { pollMs: 20 })
    }
    const alerts = await Promise.all(
      Array.from({ length: 25 }, () => raise(database(), {}, ['webhook'])),
    )
    await wake()
    for (const alert of alerts) {
      await close(database(), alert)
    }
    await wake()
    const count = () => channels.reduce((sum, { given }) => sum + given.length, 0)
    await expect.poll(count, { timeout: 20_000 }).toBe(50)
    const ids = channels.flatMap(({ given }) => given.map(({ id }) => id))
    expect(new Set(ids).size).toBe(50)
    for (const alert of alerts) {
      await whenRecorded(alert, [
        { isSent: true, tries: 1 },
        { isSent: true, tries: 1 },
      ])
    }
  })

  it('that is stopped finishes what it sends, and begins nothing else', async () => {
    const channel = new ScriptedChannel('webhook')
    const answer = createSignal()
    channel.next = () => answer.reached.then(() => SENT)
    const sender = await start([channel])
    const [first, second] = [
      await raise(database(), {}, ['webhook']),
      await raise(database(), {}, ['webhook']),
    ]
    await wake()
    await channel.got(1)
    const stopped = sender.stop()
    answer.reach()
    await stopped
    await whenRecorded(first, [{ isSent: true }])
    await whenRecorded(second, [{ isSent: false, tries: 0 }])
  })

  it.each([
    ['before', 3],
    ['after', 1],
  ] as const)(
    'that has sent one says so again when its connection ends %s that is stored, and does not send it twice',
    async (when, times) => {
      const channel = new ScriptedChannel('webhook')
      const cut = createCutDatabase(database())
      cut.cut({ name: 'alert-notices.markNoticeSent', when, times })
      await start([channel], { database: cut.database })
      const alert = await raise(database(), {}, ['webhook'])
      await wake()
      await expect.poll(() => logger.count('alert.record_failed'), { timeout: 10_000 }).toBe(times)
      await whenRecorded(alert, [{ isSent: true, tries: 1 }])
      expect(cut.cuts()).toBe(times)
      expect(channel.given).toHaveLength(1)
    },
  )
})
