/** The http destination keeps the contract of destinations on both of its paths: unknown stays unknown (I12). */
import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  type DestinationUnderTest,
  deliver,
  describeDestination,
  outcomesOf,
  outgoing,
  outgoingRecords,
} from './destination-suite.ts'

const client = createLocalClient()
const connector = createHttpDestination({ client })
afterAll(() => client.close())

function openWriter(
  standIn: RecordingDestination,
  options: JsonObject = {},
  credentials: JsonObject = { bearerToken: 'secret-token' },
): Promise<DestinationWriter> {
  return connector.open({
    ...openConnection({ config: { baseUrl: `${standIn.url}/v1/` }, credentials }),
    object: '/contacts',
    options: connector.objectOptions.parse({ requestDeadlineMs: 1_000, ...options }),
  })
}

const unavailable = { failure: 'provider_unavailable' }
/** It came whole, and is not what the API should answer: for whoever chose the API. */
const misshapen = { failure: 'node_failed' }
const page = '<html><body>Bad gateway</body></html>'
const html = { 'content-type': 'text/html' }
const limited = JSON.stringify({ error: { code: 'rate', message: 'Slow down.' } })

/** Answers that mean the same on both paths. */
const sharedAnswers: DestinationUnderTest['answers'] = [
  ...[401, 403].map((status) => ({
    name: `${status}`,
    reaction: { kind: 'answer', status, body: '{"message":"No."}' } as const,
    expected: {
      kind: 'retryable',
      failure: 'connection_unauthorized',
      reason: `The destination answered ${status}: No.`,
      retryAfterMs: null,
    },
  })),
  ...[425, 429].map((status) => ({
    name: `${status} with Retry-After`,
    reaction: { kind: 'answer', status, body: limited, headers: { 'retry-after': '17' } } as const,
    expected: {
      kind: 'retryable',
      failure: 'provider_rate_limited',
      retryAfterMs: 17_000,
      reason: `The destination answered ${status}: Slow down.`,
    },
  })),
  {
    name: '429 of a proxy, without a wait',
    reaction: { kind: 'answer', status: 429, body: page, headers: html },
    expected: { kind: 'retryable', failure: 'provider_rate_limited', retryAfterMs: null },
  },
  {
    name: '503 of the API',
    reaction: { kind: 'answer', status: 503, body: limited },
    expected: { kind: 'retryable', ...unavailable },
  },
  {
    name: '503 of a proxy',
    reaction: { kind: 'answer', status: 503, body: page, headers: html },
    expected: {
      kind: 'unknown',
      ...unavailable,
      reason: 'The destination answered 503 with a web page.',
    },
  },
  ...[408, 500, 502, 504].map((status) => ({
    name: `${status}`,
    reaction: { kind: 'answer', status, body: limited } as const,
    expected: { kind: 'unknown', ...unavailable },
  })),
  ...[302, 404, 405, 410].map((status) => ({
    name: `${status}: the endpoint is wrong, no record is`,
    reaction: {
      kind: 'answer',
      status,
      body: '',
      headers: { location: '/login?token=secret' },
    } as const,
    expected: {
      kind: 'retryable',
      failure: 'node_failed',
      reason: `To POST /v1/contacts: The destination answered ${status}.`,
      retryAfterMs: null,
    },
  })),
  {
    name: '409: the first try still runs',
    reaction: { kind: 'answer', status: 409, body: limited },
    expected: { kind: 'retryable', ...unavailable },
  },
  {
    name: '400 with a web page',
    reaction: { kind: 'answer', status: 400, body: page, headers: html },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: '200 with a web page',
    reaction: { kind: 'answer', status: 200, body: page, headers: html, isApplied: true },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: '200 with a web page that says it is JSON',
    reaction: { kind: 'answer', status: 200, body: page },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: '200 with an error inside',
    reaction: { kind: 'answer', status: 200, body: '{"error":{"message":"Quota."}}' },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: '200 with half a JSON text',
    reaction: { kind: 'answer', status: 200, body: '{"results":[{"key"' },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: 'half a body',
    reaction: { kind: 'halfBody', isApplied: true },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: 'a reset before the write was applied',
    reaction: { kind: 'reset' },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: 'a reset after the write was applied',
    reaction: { kind: 'reset', isApplied: true },
    expected: { kind: 'unknown', ...unavailable },
  },
  {
    name: 'no answer until the deadline',
    reaction: { kind: 'hang', isApplied: true },
    expected: { kind: 'unknown', ...unavailable, reason: 'No answer came within 1 s.' },
  },
  {
    name: 'an answer that is too long',
    reaction: { kind: 'answer', status: 200, body: `{"x":"${'y'.repeat(2_000_000)}"}` },
    expected: { kind: 'unknown', ...unavailable },
  },
]

const wrong = '{"message":"email is not valid"}'

describeDestination({
  name: 'http (RECORD)',
  recordsPerCall: 1,
  open: (standIn) => openWriter(standIn),
  answers: [
    ...sharedAnswers,
    ...[400, 413, 422].map((status) => ({
      name: `${status}: this record is rejected`,
      reaction: { kind: 'answer', status, body: wrong } as const,
      expected: {
        kind: 'rejected',
        reason: `The destination answered ${status}: email is not valid`,
      },
    })),
    ...(
      [
        [204, '', null],
        [200, '', null],
        [202, 'Accepted', null],
        [201, '{"id":42}', '42'],
        [200, '{"id":"c-7","errors":[]}', 'c-7'],
        [200, '{"id":12345678901234567890}', null],
        [200, '{"id":"a\\u0000b"}', null],
      ] as const
    ).map(([status, body, remoteId]) => ({
      name: `${status} ${body}`,
      reaction: { kind: 'answer', status, body, isApplied: true } as const,
      expected: { kind: 'written', remoteId },
    })),
    ...['{"ok":false}', '{"success":false}', '{"status":"error"}', '{"errors":["no"]}'].map(
      (body) => ({
        name: `200 ${body}`,
        reaction: { kind: 'answer', status: 200, body } as const,
        expected: { kind: 'unknown', ...unavailable },
      }),
    ),
    ...['[]', '"yes"'].map((body) => ({
      name: `200 ${body}`,
      reaction: { kind: 'answer', status: 200, body } as const,
      expected: { kind: 'unknown', ...misshapen },
    })),
  ],
})

const results = (of: (key: string) => Readonly<Record<string, unknown>> | null) =>
  ({ kind: 'results', of }) as const

describeDestination({
  name: 'http (PAGE)',
  recordsPerCall: 3,
  open: (standIn) => openWriter(standIn, { path: 'PAGE' }),
  answers: [
    ...sharedAnswers,
    ...[400, 413, 422].map((status) => ({
      name: `${status}: refused as a whole`,
      reaction: { kind: 'answer', status, body: wrong } as const,
      expected: {
        kind: 'refused',
        reason: `The destination answered ${status}: email is not valid`,
      },
    })),
    {
      name: '413 of a proxy: refused as a whole',
      reaction: { kind: 'answer', status: 413, body: page, headers: html },
      expected: { kind: 'refused' },
    },
    {
      name: '200 without results',
      reaction: { kind: 'answer', status: 200, body: '{"accepted":3}' },
      expected: { kind: 'unknown', ...misshapen },
    },
    {
      name: '204: it does not cover the records',
      reaction: { kind: 'answer', status: 204, body: '' },
      expected: { kind: 'unknown', ...misshapen },
    },
    {
      name: 'results that cover none of the records',
      reaction: results(() => null),
      expected: { kind: 'unknown', ...unavailable },
    },
    {
      name: 'rejections, with the words of the destination',
      reaction: results(() => ({ status: 'rejected', reason: 'a@b.example is taken' })),
      expected: { kind: 'rejected', reason: '[e-mail] is taken' },
    },
    {
      name: 'wishes to try again',
      reaction: results(() => ({ status: 'retry', retryAfterMs: 5_000 })),
      expected: { kind: 'retryable', failure: 'provider_rate_limited', retryAfterMs: 5_000 },
    },
    {
      name: 'a status that nobody knows',
      reaction: results(() => ({ status: 'maybe' })),
      expected: { kind: 'unknown', ...unavailable },
    },
  ],
})

describe('the http destination', () => {
  let standIn: RecordingDestination

  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  it('carries the quoted delivery key and the credentials of a record', async () => {
    const record = outgoing(7)
    await deliver(await openWriter(standIn), [record])
    expect(standIn.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/contacts',
      body: record.json,
      headers: {
        'idempotency-key': `"${record.deliveryKey}"`,
        authorization: 'Bearer secret-token',
        'content-type': 'application/json',
        'user-agent': 'tajo-sync',
      },
    })
    const writer = await openWriter(
      standIn,
      { method: 'PUT' },
      { headerName: 'X-Api-Key', headerValue: 'k' },
    )
    await deliver(writer, [record])
    expect(standIn.requests[1]).toMatchObject({ method: 'PUT', headers: { 'x-api-key': 'k' } })
    expect(standIn.requests[1]?.headers['authorization']).toBeUndefined()
  })

  it('names a page by the keys in it', async () => {
    const writer = await openWriter(standIn, { path: 'PAGE' })
    const records = outgoingRecords(2)
    await deliver(writer, records)
    await deliver(writer, records.slice(0, 1))
    const digest = createHash('sha256').update(records.map((record) => record.deliveryKey).join(''))
    expect(standIn.requests[0]?.headers['idempotency-key']).toBe(`"${digest.digest('hex')}"`)
    expect(standIn.requests[1]?.headers['idempotency-key']).not.toBe(
      standIn.requests[0]?.headers['idempotency-key'],
    )
    expect(standIn.requests[0]?.body).toBe(
      `{"records":[${records.map(({ deliveryKey, json }) => `{"key":"${deliveryKey}","record":${json}}`).join(',')}]}`,
    )
  })

  it('answers each record of a page by its own result, in whatever order they came', async () => {
    const writer = await openWriter(standIn, { path: 'PAGE' })
    const [a, b, c, d, e] = outgoingRecords(5)
    const told = [
      { key: e?.deliveryKey, status: 'written', id: 'e' },
      { key: b?.deliveryKey, status: 'rejected', reason: 'bad' },
      { key: c?.deliveryKey, status: 'written', id: 'c' },
      { key: c?.deliveryKey, status: 'rejected' },
      { key: d?.deliveryKey, status: 'written', id: 'd' },
      { key: d?.deliveryKey, status: 'written', id: 'd' },
      { key: 'f'.repeat(64), status: 'written' },
      null,
    ]
    const records = [a, b, c, d, e].flatMap((record) => record ?? [])
    for (const status of [200, 207, 422]) {
      standIn.script({ kind: 'answer', status, body: JSON.stringify({ results: told }) })
      expect(await outcomesOf(deliver(writer, records))).toEqual([
        expect.objectContaining({ kind: 'unknown' }),
        { kind: 'rejected', reason: 'bad' },
        expect.objectContaining({ kind: 'unknown' }),
        { kind: 'written', remoteId: 'd' },
        { kind: 'written', remoteId: 'e' },
      ])
    }
  })

  it('blames the record when a page of one is refused', async () => {
    const writer = await openWriter(standIn, { path: 'PAGE' })
    standIn.script({ kind: 'answer', status: 422, body: wrong })
    expect(await outcomesOf(deliver(writer, outgoingRecords(1)))).toMatchObject([
      { kind: 'rejected' },
    ])
  })

  it('reads an answer with 10,000 results', async () => {
    const writer = await openWriter(standIn, {
      path: 'PAGE',
      maxRecordsPerCall: 10_000,
      requestDeadlineMs: 30_000,
    })
    const outcomes = await outcomesOf(deliver(writer, outgoingRecords(10_000)))
    expect(outcomes.every(({ kind }) => kind === 'written')).toBe(true)
  })

  it('takes 409 for a rejection where the API knows no keys', async () => {
    const writer = await openWriter(standIn, { deliveryClass: 'NONE' })
    standIn.script({ kind: 'answer', status: 409, body: '{"message":"exists"}' })
    expect(await outcomesOf(deliver(writer, outgoingRecords(1)))).toMatchObject([
      { kind: 'rejected' },
    ])
    expect(writer.deliveryClass).toBe('none')
  })

  it('declares how it may be called', async () => {
    expect(await openWriter(standIn)).toMatchObject({
      deliveryClass: 'idempotent',
      settlingMs: 0,
      requestDeadlineMs: 1_000,
      maxRecordsPerCall: 1,
      concurrency: 8,
    })
    expect(await openWriter(standIn, { path: 'PAGE', maxRecordsPerCall: 50 })).toMatchObject({
      maxRecordsPerCall: 50,
      concurrency: 1,
    })
  })

  it('knows a record by its identity field, and says why one cannot be sent', async () => {
    const writer = await openWriter(standIn, { identityField: 'id', maxBodyBytes: 1_000 })
    expect(writer.identityOf({ id: 7 })).toBe('7')
    expect(writer.identityOf({ id: '' })).toBeNull()
    expect(writer.identityOf({})).toBeNull()
    expect(writer.describeUnsendable(outgoing(1, { id: 'a' }))).toBeNull()
    expect(writer.describeUnsendable(outgoing(1, { id: '' }))).toBe(
      'The record has no value for id, by which the destination knows it.',
    )
    expect(writer.describeUnsendable(outgoing(1, { id: 'a', note: 'é'.repeat(600) }))).toBe(
      'The record is 1220 bytes of JSON; the destination takes at most 1000.',
    )
    expect((await openWriter(standIn)).identityOf({ id: 7 })).toBeNull()
  })
})
