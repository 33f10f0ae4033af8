/** What each channel sends, as whoever receives it sees it, and what it makes of the answer. */
import { parseEnvelope } from '@sentry/core'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createEmailChannel } from '../../src/watch/channels/email.ts'
import { createLogChannel } from '../../src/watch/channels/log.ts'
import { openSentryChannel, SentryMissingError } from '../../src/watch/channels/sentry.ts'
import { createWebhookChannel } from '../../src/watch/channels/webhook.ts'
import { makeNotice } from '../support/alerts.ts'
import { type MailReceiver, startMailReceiver } from '../support/mail-receiver.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { newId } from '../support/store-seed.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const SENT = { kind: 'sent' }

const noSignal = () => new AbortController().signal

describe('the log', () => {
  it.each([
    ['opened', 'critical', 'error'],
    ['opened', 'warning', 'warn'],
    ['closed', 'critical', 'info'],
  ] as const)(
    'tells that a %s alert (%s) as %s, with all of its fields',
    async (event, severity, level) => {
      const logger = createRecordingLogger()
      const notice = makeNotice({ event, isRepetition: true }, { severity })
      expect(await createLogChannel(logger).send(notice, noSignal())).toEqual(SENT)
      const { id: alertId, workspaceId, syncId, runId, title, message, closing } = notice.alert
      expect(logger.events).toEqual([
        {
          level,
          event: `alert.${event}`,
          bindings: {
            ...{
              noticeId: notice.id,
              isRepetition: true,
              alertId,
              severity,
              audience: 'workspace',
            },
            ...{ kind: 'circuit_breaker_tripped', workspaceId, syncId, runId, title, message },
            ...{ facts: '{"failedRuns":5}', closing },
            openedAt: '2026-03-29T01:30:00.000Z',
            closedAt: event === 'closed' ? '2026-03-29T02:30:00.000Z' : null,
          },
          cause: undefined,
        },
      ])
    },
  )
})

describe('the webhook', () => {
  let receiver: WebhookReceiver
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
  })
  afterEach(() => receiver.close())
  const open = (url = receiver.url) => createWebhookChannel({ url, secret: SECRET }, systemClock)

  it('gets what was signed, and its signature holds for this body, id and time alone', async () => {
    const notice = makeNotice()
    expect(await open().send(notice, noSignal())).toEqual(SENT)
    const [{ headers, body, path } = { headers: {}, body: '', path: '' }] = receiver.requests
    expect(path).toBe('/alerts')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': notice.id,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
    const signed = headers as Record<string, string>
    expect(new Webhook(SECRET).verify(body, signed)).toEqual(JSON.parse(body))
    const other = `whsec_${Buffer.alloc(32, 6).toString('base64')}`
    const lie = 'No matching signature found'
    expect(() => new Webhook(other).verify(body, signed)).toThrow(lie)
    expect(() => new Webhook(SECRET).verify(`${body} `, signed)).toThrow(lie)
    const renamed = { ...signed, 'webhook-id': newId() }
    expect(() => new Webhook(SECRET).verify(body, renamed)).toThrow(lie)
  })

  it.each(['opened', 'closed'] as const)(
    'is told what there is to know of an alert that %s',
    async (event) => {
      const notice = makeNotice({ event, isRepetition: true })
      await open().send(notice, noSignal())
      const { alert } = notice
      expect(JSON.parse(receiver.requests[0]?.body ?? '')).toEqual({
        type: `alert.${event}`,
        timestamp: event === 'opened' ? alert.openedAt : alert.closedAt,
        isRepetition: true,
        data: {
          ...{ id: `alert_${alert.id}`, audience: 'WORKSPACE', severity: 'CRITICAL' },
          ...{ kind: 'CIRCUIT_BREAKER_TRIPPED', title: alert.title, message: alert.message },
          workspace: { id: alert.workspaceId, name: 'Acme' },
          sync: { id: `sync_${alert.syncId}`, name: 'Customers to CRM' },
          run: { id: `run_${alert.runId}` },
          facts: { failedRuns: 5 },
          ...{ openedAt: alert.openedAt, closedAt: alert.closedAt, closing: alert.closing },
        },
      })
    },
  )

  it.each([
    [200, 'sent'],
    [202, 'sent'],
    [204, 'sent'],
    [301, 'refused'],
    [307, 'refused'],
    [400, 'refused'],
    [410, 'gone'],
    [429, 'refused'],
    [500, 'unknown'],
    [502, 'unknown'],
    [408, 'unknown'],
    ['reset', 'unknown'],
  ] as const)('that answers %s has %s it; no redirect is followed', async (answer, kind) => {
    receiver.script(answer)
    expect(await open().send(makeNotice(), noSignal())).toMatchObject({ kind })
    expect(receiver.requests).toHaveLength(1)
  })

  it('that hangs is left when the signal says so, and may have got it', async () => {
    receiver.script('hold')
    const leaving = new AbortController()
    const sending = open().send(makeNotice(), leaving.signal)
    await receiver.received(1)
    leaving.abort()
    expect(await sending).toEqual({ kind: 'unknown', reason: 'It did not answer in time.' })
  })

  it('that is not there has got nothing, and its address is not told', async () => {
    const url = `${receiver.url}?token=secret`
    await receiver.close()
    expect(await open(url).send(makeNotice(), noSignal())).toEqual({
      kind: 'refused',
      reason: 'It could not be reached (ECONNREFUSED).',
    })
  })
})

describe('the mail', () => {
  let receiver: MailReceiver
  beforeEach(async () => {
    receiver = await startMailReceiver()
  })
  afterEach(() => receiver.close())
  const logger = createRecordingLogger()
  const TO = ['ops@example.com', 'duty@example.com']
  const open = (smtpUrl = receiver.url, needsTls = false, to: readonly string[] = TO) =>
    createEmailChannel({ smtpUrl, needsTls, from: 'alerts@example.com', to }, logger)

  it('says in plain text what happened, to each recipient', async () => {
    const notice = makeNotice({}, { title: 'Customers to CRM is paused' })
    expect(await open().send(notice, noSignal())).toEqual(SENT)
    const [mail] = receiver.mails
    expect(mail).toMatchObject({
      from: 'alerts@example.com',
      to: TO,
      headers: {
        from: '"tajo-sync" <alerts@example.com>',
        to: 'ops@example.com, duty@example.com',
        subject: '[critical] Customers to CRM is paused',
        'message-id': `<${notice.id}@example.com>`,
        references: `<${notice.alert.id}@example.com>`,
        'auto-submitted': 'auto-generated',
        'content-type': expect.stringMatching(/^text\/plain/),
      },
    })
    expect(mail?.text).toContain('Mend the cause and publish the sync again.')
    expect(mail?.text).toContain(`Sync: Customers to CRM (sync_${notice.alert.syncId})`)
    expect(mail?.text).not.toContain('reach you twice')
  })

  it('that is repeated says so, and is the same message', async () => {
    const channel = open()
    await channel.send(makeNotice(), noSignal())
    await channel.send(makeNotice({ isRepetition: true }), noSignal())
    const [first, second] = receiver.mails
    expect(second?.headers['message-id']).toBe(first?.headers['message-id'])
    expect(second?.text.replaceAll('=\r\n', '')).toMatch(/^This message may reach you twice:/)
  })

  it('of an alert that is over says why', async () => {
    await open().send(makeNotice({ event: 'closed' }, { title: 'Paused' }), noSignal())
    expect(receiver.mails[0]?.headers['subject']).toBe('[closed] Paused')
    expect(receiver.mails[0]?.text).toMatch(/^A run has succeeded\./)
  })

  it('cannot be given other headers by a title', async () => {
    await open().send(makeNotice({}, { title: 'a\r\nBcc: other@example.com' }), noSignal())
    expect(receiver.mails[0]).toMatchObject({ to: TO })
    expect(receiver.mails[0]?.headers['bcc']).toBeUndefined()
  })

  it.each([451, 550])('that the server answers with %i has not arrived', async (code) => {
    receiver.answerNext({ code })
    expect(await open().send(makeNotice(), noSignal())).toEqual({
      kind: 'refused',
      reason: `The mail server answered ${code} (EMESSAGE).`,
    })
  })

  it('that the server takes without a word may have arrived, and is not waited for', async () => {
    receiver.answerNext('hang')
    const leaving = new AbortController()
    const sending = open().send(makeNotice(), leaving.signal)
    await expect.poll(() => receiver.mails.length).toBe(1)
    leaving.abort()
    expect(await sending).toMatchObject({ kind: 'unknown' })
  })

  it('that some recipients may not get is sent to the others, once, and logged', async () => {
    receiver.refuse('duty@example.com')
    expect(await open().send(makeNotice(), noSignal())).toEqual(SENT)
    expect(receiver.mails.map(({ to }) => to)).toEqual([['ops@example.com']])
    expect(logger.events.at(-1)).toMatchObject({
      level: 'error',
      event: 'alert.recipients_refused',
      bindings: { refused: 1 },
    })
  })

  it('that needs TLS is not given to a server that offers none', async () => {
    expect(await open(receiver.url, true).send(makeNotice(), noSignal())).toEqual({
      kind: 'refused',
      reason: 'The mail server answered 500 (ETLS).',
    })
    expect(receiver.mails).toEqual([])
  })

  it('that one recipient may not get for the moment is sent to that one alone later', async () => {
    receiver.refuse('duty@example.com', 451)
    const channel = open()
    const outcome = await channel.send(makeNotice(), noSignal())
    const remaining = ['duty@example.com']
    expect(outcome).toMatchObject({ kind: 'sent_in_part', remaining })
    expect(await channel.send(makeNotice({ remaining }), noSignal())).toMatchObject({
      kind: 'refused',
    })
    receiver.refuse('duty@example.com', null)
    expect(await channel.send(makeNotice({ remaining }), noSignal())).toEqual(SENT)
    expect(receiver.mails.map(({ to }) => to)).toEqual([['ops@example.com'], remaining])
  })

  it('that one recipient may not get for the moment reaches it, however its address is written here', async () => {
    receiver.refuse('duty@example.com', 451)
    const channel = open(receiver.url, false, ['ops@example.com', 'duty@Example.COM'])
    const outcome = await channel.send(makeNotice(), noSignal())
    const { remaining } = outcome as { remaining: readonly string[] }
    receiver.refuse('duty@example.com', null)
    // Whoever sends it next may have other recipients by now.
    for (const next of [channel, open(receiver.url, false, ['ops@example.com'])]) {
      expect(await next.send(makeNotice({ remaining }), noSignal())).toEqual(SENT)
    }
    expect(receiver.mails.map(({ to }) => to)).toEqual([
      ['ops@example.com'],
      ['duty@example.com'],
      ['duty@example.com'],
    ])
  })

  it('to a server that is not there has not arrived', async () => {
    const { url } = receiver
    const gone = await startMailReceiver()
    await gone.close()
    expect(gone.url).not.toBe(url)
    expect(await open(gone.url).send(makeNotice(), noSignal())).toEqual({
      kind: 'refused',
      reason: 'The mail server could not be used (ECONNREFUSED).',
    })
  })
})

describe('Sentry', () => {
  let receiver: WebhookReceiver
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
  })
  afterEach(() => receiver.close())
  const open = () => openSentryChannel(`http://publickey@${new URL(receiver.url).host}/42`)
  const readEvent = (body: string | undefined) => parseEnvelope(body ?? '')[1][0]?.[1]

  it('gets an event of the incident, the same for each try', async () => {
    const channel = await open()
    const notice = makeNotice()
    expect(await channel.send(notice, noSignal())).toEqual(SENT)
    expect(await channel.send({ ...notice, isRepetition: true }, noSignal())).toEqual(SENT)
    const [first, second] = receiver.requests
    expect(first?.path).toMatch(/^\/api\/42\/envelope\/\?.*sentry_key=publickey/)
    expect(readEvent(first?.body)).toMatchObject({
      event_id: notice.id.replaceAll('-', ''),
      level: 'fatal',
      message: notice.alert.title,
      fingerprint: ['circuit_breaker:1'],
      tags: {
        workspace: notice.alert.workspaceId,
        sync: notice.alert.syncId,
        kind: 'circuit_breaker_tripped',
      },
      extra: { facts: { failedRuns: 5 }, isRepetition: false },
    })
    expect(readEvent(second?.body)).toMatchObject({
      event_id: notice.id.replaceAll('-', ''),
      extra: { isRepetition: true },
    })
  })

  it.each([
    [500, 'unknown'],
    [502, 'unknown'],
    [408, 'unknown'],
    [429, 'refused'],
    ['reset', 'unknown'],
  ] as const)(
    'that answers %s once has not got it, and gets it the next time',
    async (answer, kind) => {
      const channel = await open()
      receiver.script(answer)
      expect(await channel.send(makeNotice(), noSignal())).toMatchObject({ kind })
      expect(await channel.send(makeNotice(), noSignal())).toEqual(SENT)
      expect(receiver.requests).toHaveLength(2)
    },
  )

  it('without its package is one sentence that says what to do', async () => {
    const missing = () => Promise.reject(new Error("Cannot find package '@sentry/core'"))
    const opening = openSentryChannel('http://key@localhost/1', missing)
    await expect(opening).rejects.toBeInstanceOf(SentryMissingError)
    await expect(opening).rejects.toThrow(
      /^SENTRY_DSN is set, .* npm install --no-save @sentry\/core@/,
    )
  })
})
