/** What the HTTP client knows of a request after it failed, and what it lets nobody do. */

import { getEventListeners } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpClient, type HttpRequest } from '../../src/connectors/http-client.ts'
import { redact } from '../../src/connectors/redact.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { LOCAL_GUARD } from '../support/local-client.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'

const NOW = new Date('2026-11-30T12:00:00Z')
const clock = { ...systemClock, now: () => NOW }
const client = createHttpClient({ clock, guard: LOCAL_GUARD, userAgent: 'test' })
afterAll(() => client.close())

const request = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url: new URL(url),
  headers: {},
  body: '{}',
  deadlineMs: 5_000,
  signal: new AbortController().signal,
  beforeSend: () => undefined,
  ...more,
})

describe('an HTTP request', () => {
  let standIn: RecordingDestination

  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  it('is answered with status, headers and body', async () => {
    standIn.script({ kind: 'answer', status: 207, body: '{"a":"é"}', headers: { 'X-Trace': 't' } })
    expect(await client.send(request(standIn.url))).toMatchObject({
      kind: 'response',
      status: 207,
      headers: { 'x-trace': 't', 'content-type': 'application/json' },
      bodyText: '{"a":"é"}',
      json: { a: 'é' },
      retryAfterMs: null,
    })
  })

  it('reuses its connection', async () => {
    for (let times = 0; times < 3; times += 1) {
      expect(await client.send(request(standIn.url))).toMatchObject({ status: 200 })
    }
    expect(standIn.requests).toHaveLength(3)
    expect(standIn.connections()).toBe(1)
  })

  it('follows no redirect', async () => {
    standIn.script({ kind: 'answer', status: 307, headers: { location: `${standIn.url}/other` } })
    expect(await client.send(request(standIn.url))).toMatchObject({ status: 307 })
    expect(standIn.requests).toHaveLength(1)
  })

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Mon, 30 Nov 2026 12:01:30 GMT', 90_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['99999999999', 86_400_000],
    ['Fri, 31 Dec 2027 00:00:00 GMT', 86_400_000],
    ['soon', null],
    ['-5', null],
  ])('reads Retry-After: %s', async (header, retryAfterMs) => {
    standIn.script({ kind: 'answer', status: 429, headers: { 'retry-after': header } })
    expect(await client.send(request(standIn.url))).toMatchObject({ retryAfterMs })
  })

  it('is not sent when the host does not exist', async () => {
    const result = await client.send(request('http://a..b/'))
    expect(result).toEqual({
      kind: 'not_sent',
      reason: 'The host of the address does not exist (ENOTFOUND).',
      isMisdirected: true,
    })
  })

  it('is not sent when the connection is not what it should be', async () => {
    const secure = standIn.url.replace('http:', 'https:')
    expect(await client.send(request(secure))).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringMatching(/^No secure connection could be made \(\w+\)\.$/),
      isMisdirected: true,
    })
    expect(standIn.requests).toEqual([])
  })

  it('asks for leave after the connection stands, not before', async () => {
    const { server, url, accepted } = await startSilentServer()
    let asked = 0
    const beforeSend = () => {
      asked += 1
    }
    // TLS to a server that never answers the handshake: connected, but nothing may be written yet.
    const result = await client.send(
      request(url.replace('http:', 'https:'), { deadlineMs: 300, beforeSend }),
    )
    expect(result).toEqual({
      kind: 'not_sent',
      reason: 'No connection could be made within 0.3 s.',
      isMisdirected: false,
    })
    expect(accepted()).toBe(1)
    expect(asked).toBe(0)
    server.close()
  })

  it('is given up at its deadline, also while garbage is collected', async () => {
    standIn.always({ kind: 'hang' })
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const collecting = setInterval(collect, 20)
    const results = await Promise.all(
      Array.from({ length: 5 }, () => client.send(request(standIn.url, { deadlineMs: 300 }))),
    )
    clearInterval(collecting)
    expect(results).toEqual(
      results.map(() => ({ kind: 'unknown', reason: 'No answer came within 0.3 s.' })),
    )
  })

  it('leaves no listener on a signal that outlives it', async () => {
    const { signal } = new AbortController()
    for (let times = 0; times < 20; times += 1) {
      await client.send(request(standIn.url, { signal }))
    }
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1)
  })
})

async function startSilentServer(): Promise<{ server: Server; url: string; accepted(): number }> {
  let accepted = 0
  const server = createServer((socket) => {
    accepted += 1
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { server, url: `http://127.0.0.1:${port}`, accepted: () => accepted }
}

describe('redaction', () => {
  it.each([
    ['Contact ann.o+x@mail.example.com exists', 'Contact [e-mail] exists'],
    ['<ann@example.com>', '<[e-mail]>'],
    ['call +49 (30) 123-45 67 now', 'call [number] now'],
    ['card 4111111111111111', 'card [number]'],
    ['Invalid key abcDEF1234567890abcdef1234', 'Invalid key [token]'],
    [
      'field_name_that_is_very_long_indeed is required',
      'field_name_that_is_very_long_indeed is required',
    ],
    ['404 on line 12345', '404 on line 12345'],
    ['two\n\tlines\0', 'two lines'],
    ['half \ud800', 'half \ufffd'],
  ])('of %j', (text, expected) => {
    expect(redact(text)).toBe(expected)
  })

  it('bounds what it keeps, and cuts no pair of surrogates', () => {
    const kept = redact('😀 '.repeat(1_000_000))
    expect(kept.length).toBeLessThanOrEqual(300)
    expect(kept.isWellFormed()).toBe(true)
  })

  it('is quick on texts made to be slow', () => {
    const started = systemClock.monotonicMs()
    for (const text of [
      'a@'.repeat(100_000),
      '1 '.repeat(100_000),
      '@'.repeat(200_000),
      'a'.repeat(200_000),
    ]) {
      redact(text)
    }
    expect(systemClock.monotonicMs() - started).toBeLessThan(1_000)
  })
})
