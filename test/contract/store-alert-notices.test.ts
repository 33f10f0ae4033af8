/** Notices that are due: whose they are, in which order, and what became of them. */
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  abandonNotices,
  type ClaimedNotice,
  claimNotice,
  giveUpNotice,
  markNoticeSent,
  postponeNotice,
  serveChannel,
} from '../../src/store/alert-notices.ts'
import {
  close,
  forgetAlerts,
  listNotices,
  passTime,
  passTimeOfChannels,
  raise,
} from '../support/alerts.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { seedSync } from '../support/store-seed.ts'

const CLAIM_LIFE_MS = 120_000
const DAY_MS = 24 * 3_600_000

describe.each(DATABASE_KINDS)('notices on %s', (kind) => {
  const database = useDatabase(kind)
  beforeEach(() => forgetAlerts(database()))
  const claim = async (): Promise<ClaimedNotice> => {
    const notice = await claimNotice(database(), 'webhook')
    if (notice === null) {
      throw new Error('No notice is due.')
    }
    return notice
  }

  it('come with all that is to be told of their alert', async () => {
    const { workspaceId, syncId } = await seedSync(database())
    const alert = await raise(database(), { workspaceId, syncId }, ['webhook'])
    const notice = await claim()
    const { workspaceName: _, ...told } = alert
    expect(notice).toEqual({
      id: expect.any(String),
      event: 'opened',
      tries: 1,
      ageMs: expect.any(Number),
      isRepetition: false,
      remaining: null,
      alert: {
        ...told,
        workspaceName: 'Test',
        syncName: `sync ${syncId}`,
        openedAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
        closedAt: null,
        closing: null,
      },
    })
    expect(notice.ageMs).toBeGreaterThanOrEqual(0)
  })

  it('are one claim’s at a time; after it ran out the next one knows that it may be a repetition', async () => {
    await raise(database(), {}, ['webhook'])
    const first = await claim()
    expect(await claimNotice(database(), 'webhook')).toBeNull()
    await passTime(database(), CLAIM_LIFE_MS - 10_000)
    expect(await claimNotice(database(), 'webhook')).toBeNull()
    await passTime(database(), 10_001)
    expect(await claim()).toMatchObject({ id: first.id, tries: 2, isRepetition: true })
  })

  it('are of their own channel only', async () => {
    await raise(database(), {}, ['log'])
    expect(await claimNotice(database(), 'webhook')).toBeNull()
    expect(await claimNotice(database(), 'log')).not.toBeNull()
  })

  it('that were sent or given up are over', async () => {
    const [one, two] = [
      await raise(database(), {}, ['webhook']),
      await raise(database(), {}, ['webhook']),
    ]
    expect(await markNoticeSent(database(), await claim())).toBe(true)
    expect(await giveUpNotice(database(), await claim(), 'It is gone.')).toBe(true)
    await passTime(database(), 1_000_000)
    expect(await claimNotice(database(), 'webhook')).toBeNull()
    expect(await listNotices(database(), one)).toMatchObject([{ isSent: true, isGivenUp: false }])
    expect(await listNotices(database(), two)).toMatchObject([
      { isSent: false, isGivenUp: true, lastError: 'It is gone.' },
    ])
  })

  it.each([true, false])(
    'that are postponed wait; may it have arrived (%s), the next try says so',
    async (mayHaveArrived) => {
      await raise(database(), {}, ['webhook'])
      const first = await claim()
      const postponed = { waitMs: 30_000, mayHaveArrived, remaining: null, reason: 'Not now.' }
      expect(await postponeNotice(database(), first, postponed)).toBe(true)
      await passTime(database(), 29_000)
      expect(await claimNotice(database(), 'webhook')).toBeNull()
      await passTime(database(), 1_001)
      expect(await claim()).toMatchObject({ id: first.id, tries: 2, isRepetition: mayHaveArrived })
    },
  )

  it('are due at once, and not when the millisecond is over', async () => {
    for (let n = 0; n < 100; n += 1) {
      await raise(database(), {}, ['webhook'])
      const waiting = { waitMs: 0, mayHaveArrived: true, remaining: null, reason: 'Not now.' }
      expect(await postponeNotice(database(), await claim(), waiting)).toBe(true)
      expect(await markNoticeSent(database(), await claim())).toBe(true)
    }
  })

  it('keep for whom they still are, also when a later try reaches nobody', async () => {
    await raise(database(), {}, ['webhook'])
    const waiting = { waitMs: 0, mayHaveArrived: false, reason: 'Not now.' }
    const remaining = ['a@example.com']
    expect(await postponeNotice(database(), await claim(), { ...waiting, remaining })).toBe(true)
    const second = await claim()
    expect(second).toMatchObject({ remaining })
    await postponeNotice(database(), second, { ...waiting, remaining: null })
    expect(await claim()).toMatchObject({ remaining, isRepetition: false })
  })

  it('whose claim was lost are changed by nobody who had it', async () => {
    const alert = await raise(database(), {}, ['webhook'])
    const lost = await claim()
    await passTime(database(), CLAIM_LIFE_MS + 1)
    const held = await claim()
    const postponed = { waitMs: 0, mayHaveArrived: false, remaining: null, reason: 'Not now.' }
    expect(await markNoticeSent(database(), lost)).toBe(false)
    expect(await postponeNotice(database(), lost, postponed)).toBe(false)
    expect(await giveUpNotice(database(), lost, 'Never.')).toBe(false)
    expect(await listNotices(database(), alert)).toMatchObject([
      { isSent: false, isGivenUp: false, tries: 2 },
    ])
    expect(await markNoticeSent(database(), held)).toBe(true)
    expect(await giveUpNotice(database(), held, 'Never.')).toBe(false)
  })

  it.each(['sent', 'given up'])(
    'tell that an alert is over only once its opening was %s',
    async (end) => {
      const alert = await raise(database(), {}, ['webhook'])
      const opened = await claim()
      await close(database(), alert)
      expect(await claimNotice(database(), 'webhook')).toBeNull()
      const postponed = {
        waitMs: 30_000,
        mayHaveArrived: false,
        remaining: null,
        reason: 'Not now.',
      }
      await postponeNotice(database(), opened, postponed)
      expect(await claimNotice(database(), 'webhook')).toBeNull()
      await passTime(database(), 30_001)
      const again = await claim()
      expect(again).toMatchObject({ event: 'opened', alert: { closing: 'A run has succeeded.' } })
      await (end === 'sent'
        ? markNoticeSent(database(), again)
        : giveUpNotice(database(), again, 'Never.'))
      expect(await claim()).toMatchObject({
        event: 'closed',
        alert: { id: alert.id, closedAt: expect.any(String), closing: 'A run has succeeded.' },
      })
    },
  )

  it('are taken by one each of many that ask at once', async () => {
    const alerts = 20
    for (let n = 0; n < alerts; n += 1) {
      await raise(database(), {}, ['webhook'])
    }
    const claimed: string[] = []
    const take = async () => {
      for (let notice = await claimNotice(database(), 'webhook'); notice; ) {
        claimed.push(notice.id)
        notice = await claimNotice(database(), 'webhook')
      }
    }
    await Promise.all(Array.from({ length: 8 }, take))
    expect(claimed).toHaveLength(alerts)
    expect(new Set(claimed).size).toBe(alerts)
  })

  describe('of a channel that whoever raised the alert did not know', () => {
    const tellsOf = async (alert: { readonly id: string }) =>
      (await listNotices(database(), alert)).map(({ event, channel }) => `${event} ${channel}`)

    it('are written by who serves it, once, and those of its closing with it', async () => {
      await serveChannel(database(), 'email')
      const alert = await raise(database(), {}, ['log'])
      expect(await serveChannel(database(), 'email')).toBe(1)
      expect(await serveChannel(database(), 'email')).toBe(0)
      expect(await tellsOf(alert)).toEqual(['opened email', 'opened log'])
      await close(database(), alert)
      expect(await serveChannel(database(), 'email')).toBe(0)
      expect(await tellsOf(alert)).toEqual([
        'opened email',
        'opened log',
        'closed email',
        'closed log',
      ])
    })

    it('are written also of an alert that was over before anybody looked', async () => {
      await serveChannel(database(), 'email')
      const alert = await raise(database(), {}, ['log'])
      await close(database(), alert)
      expect(await serveChannel(database(), 'email')).toBe(2)
      expect(await serveChannel(database(), 'email')).toBe(0)
      expect(await tellsOf(alert)).toEqual([
        'opened email',
        'opened log',
        'closed email',
        'closed log',
      ])
    })

    it('are written of a closing that did not see that its opening was told', async () => {
      await serveChannel(database(), 'email')
      const alert = await raise(database(), {}, ['email'])
      await close(database(), alert)
      await database().rows(sql`delete from alert_notice where event = 'closed'`)
      expect(await serveChannel(database(), 'email')).toBe(1)
      expect(await tellsOf(alert)).toEqual(['opened email', 'closed email'])
    })

    it.each([
      ['is new', 0],
      ['comes back after days', 4 * DAY_MS],
    ])('that %s are those of what is open, and not of what was over before', async (_, awayMs) => {
      if (awayMs > 0) {
        await serveChannel(database(), 'email')
        await passTimeOfChannels(database(), awayMs)
      }
      const [over, open] = [
        await raise(database(), {}, ['log']),
        await raise(database(), {}, ['log']),
      ]
      await close(database(), over)
      await passTimeOfChannels(database(), 1_000)
      await serveChannel(database(), 'email')
      await serveChannel(database(), 'email')
      expect(await tellsOf(over)).toEqual(['opened log', 'closed log'])
      expect(await tellsOf(open)).toEqual(['opened email', 'opened log'])
    })

    it('that was gone for days and comes back are given up no more for what is still open', async () => {
      await serveChannel(database(), 'email')
      const [open, over] = [
        await raise(database(), {}, ['email']),
        await raise(database(), {}, ['email']),
      ]
      await passTime(database(), 4 * DAY_MS)
      await passTimeOfChannels(database(), 4 * DAY_MS)
      expect(await abandonNotices(database())).toEqual([{ channel: 'email', notices: 2 }])
      await database().rows(sql`update alert set closed_at = now() - interval '4 days',
        closing = 'It is over.' where id = ${over.id}`)
      expect(await serveChannel(database(), 'email')).toBe(1)
      expect(await listNotices(database(), open)).toMatchObject([{ isGivenUp: false }])
      expect(await listNotices(database(), over)).toMatchObject([{ isGivenUp: true }])
      expect(await serveChannel(database(), 'email')).toBe(0)
    })

    it('are written once, however many serve it at the same moment', async () => {
      await serveChannel(database(), 'email')
      const alerts = await Promise.all(
        Array.from({ length: 5 }, () => raise(database(), {}, ['log'])),
      )
      const written = await Promise.all(
        Array.from({ length: 8 }, () => serveChannel(database(), 'email')),
      )
      expect(written.reduce((sum, each) => sum + each, 0)).toBe(alerts.length)
    })
  })

  it('of channels that nobody serves are given up after three days, those of others not', async () => {
    const alert = await raise(database(), {}, ['email', 'webhook'])
    await serveChannel(database(), 'webhook')
    await passTime(database(), 3 * DAY_MS - 10_000)
    expect(await abandonNotices(database())).toEqual([])
    await passTime(database(), 20_000)
    expect(await abandonNotices(database())).toEqual([{ channel: 'email', notices: 1 }])
    expect(await listNotices(database(), alert)).toMatchObject([
      { channel: 'email', isGivenUp: true, lastError: expect.stringContaining('No process') },
      { channel: 'webhook', isGivenUp: false },
    ])
    await passTimeOfChannels(database(), 3 * DAY_MS + 1_000)
    expect(await abandonNotices(database())).toEqual([{ channel: 'webhook', notices: 1 }])
  })
})
