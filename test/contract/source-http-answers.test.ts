/** What answers mean to the http source: only a page is a page, and nothing else is the end. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CallGate } from '../../src/connectors/call-gate.ts'
import { FREE_GATE } from '../../src/connectors/call-gate.ts'
import { BY_TOKEN, type HttpStream, readOn, startHttpStream } from '../support/http-stream.ts'
import type { PageAnswer } from '../support/paged-api.ts'

let stream: HttpStream
const passed: string[] = []
const gate: CallGate = {
  ...FREE_GATE,
  enter: () => {
    passed.push('enter')
    return Promise.resolve()
  },
  note: (went) => {
    passed.push(went)
    return Promise.resolve()
  },
}
beforeEach(async () => {
  passed.length = 0
  stream = await startHttpStream({ by: 'TOKEN', size: 2 }, { openGate: () => gate })
  stream.api.rows = [1, 2, 3].map((id) => ({ id }))
})
afterEach(() => stream.close())

const html = { 'content-type': 'text/html' }
const answer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): PageAnswer => ({ kind: 'answer', status, body, headers })

const UNREAD: readonly (readonly [string, PageAnswer, object])[] = [
  ...[401, 403].map(
    (status) =>
      [
        `${status}`,
        answer(status, { message: 'No.' }),
        {
          code: 'connection_unauthorized',
          message: `The other system answered ${status}: No.`,
        },
      ] as const,
  ),
  [
    '429 with Retry-After',
    answer(429, { message: 'Slow down.' }, { 'retry-after': '17' }),
    { code: 'provider_rate_limited', retryAfterMs: 17_000 },
  ],
  [
    '503 of a proxy with Retry-After',
    answer(503, '<html>', { ...html, 'retry-after': '5' }),
    {
      code: 'provider_unavailable',
      message: 'The other system answered 503 with a web page.',
      retryAfterMs: 5_000,
    },
  ],
  ['500', answer(500, { message: 'x' }), { code: 'provider_unavailable' }],
  ['200 with a web page', answer(200, '<html>', html), { code: 'provider_unavailable' }],
  ['half a body', { kind: 'cut' }, { code: 'provider_unavailable' }],
  [
    'half a JSON text',
    answer(200, '{"items":[{"id":1},{"id"'),
    {
      code: 'provider_unavailable',
      message: 'The other system answered 200 with a body that is not JSON, or only a part of it.',
    },
  ],
  [
    'no answer until the deadline',
    { kind: 'hang' },
    { code: 'provider_unavailable', message: 'No answer came within 1 s.' },
  ],
  [
    '200 with an error inside',
    answer(200, { error: { message: 'Quota.' } }),
    {
      code: 'provider_unavailable',
      message:
        'The other system answered 200 with an error inside, and no list of records at items.',
    },
  ],
  ...[{ data: [] }, { items: null }, { items: { '0': {} } }, []].map(
    (body) =>
      [
        `200 without records where they should be: ${JSON.stringify(body)}`,
        answer(200, body),
        {
          code: 'node_failed',
          message: 'The other system answered 200 with no list of records at items.',
        },
      ] as const,
  ),
  [
    '204',
    { kind: 'answer', status: 204, body: '' },
    { code: 'node_failed', message: expect.stringContaining('not JSON') },
  ],
  ['a redirect', answer(302, '', { location: '/login' }), { code: 'node_failed' }],
  [
    '404',
    answer(404, { message: 'Nothing here.' }),
    {
      code: 'node_failed',
      message: 'To GET /v1/people: The other system answered 404: Nothing here.',
    },
  ],
  [
    '422',
    answer(422, { message: 'since is not a time' }),
    {
      code: 'node_failed',
      message: 'To GET /v1/people: The other system answered 422: since is not a time',
    },
  ],
  [
    'a token that is an object',
    answer(200, { items: [{ id: 1 }], paging: { next: {} } }),
    { code: 'node_failed', message: expect.stringContaining('at paging.next that is no token') },
  ],
  [
    'a token without end',
    answer(200, { items: [{ id: 1 }], paging: { next: 'x'.repeat(5_000) } }),
    { code: 'node_failed', message: expect.stringContaining('longer than 4000 characters') },
  ],
  [
    'a bottomless answer',
    answer(200, `{"items":[${'['.repeat(20_000)}${']'.repeat(20_000)}]}`),
    { code: 'node_failed', message: 'The other system nests its answer too deeply.' },
  ],
]

const options = { ...BY_TOKEN, requestDeadlineMs: 1_000 }

describe('the http source', () => {
  it.each(UNREAD)('takes %s neither for a page nor for the end', async (_, given, expected) => {
    stream.api.decide(() => given)
    const reader = await stream.open(options)
    await expect(readOn(reader, null)).rejects.toMatchObject({
      name: 'ConnectorError',
      ...expected,
    })
  })

  it('reads on as if nothing had been, once the answer is right', async () => {
    const reader = await stream.open(options)
    const first = await readOn(reader, null)
    stream.api.decide(() => answer(500, ''))
    const other = await stream.open(options)
    await expect(readOn(other, first?.to ?? null)).rejects.toThrow('answered 500')
    stream.api.decide(() => null)
    expect((await readOn(other, first?.to ?? null))?.records).toMatchObject([{ identity: '3' }])
  })

  it('keeps what it has read when the page behind it cannot be read', async () => {
    stream.api.decide(({ url }) => (url.searchParams.has('cursor') ? answer(500, '') : null))
    const reader = await stream.open(options)
    const first = await readOn(reader, null)
    expect(first?.records).toHaveLength(2)
    await expect(readOn(reader, first?.to ?? null)).rejects.toThrow('answered 500')
  })

  it('keeps the digits of large numbers, and rejects alone what cannot be stored', async () => {
    const text = `{"items":[{"id":12345678901234567890,"n":1.5},{"id":2,"t":"a\\u0000b"},{"id":3,"__proto__":{}},7,{"id":" "}],"paging":{"next":9007199254740993}}`
    stream.api.decide(({ url }) => (url.searchParams.has('cursor') ? null : answer(200, text)))
    const reader = await stream.open(options)
    const page = await readOn(reader, null)
    expect(page?.records).toEqual([
      { identity: '12345678901234567890', fields: { id: '12345678901234567890', n: 1.5 } },
      expect.objectContaining({ problem: 'record 2 of a page: t contains a NUL character' }),
      expect.objectContaining({ problem: expect.stringContaining('a member named __proto__') }),
      expect.objectContaining({ problem: 'record 4 of a page: is not a JSON object' }),
      expect.objectContaining({
        problem: 'record 5 of a page: has no value for id, the identity field',
      }),
    ])
    expect(stream.api.asked.at(-1)?.url.searchParams.get('cursor')).toBe('9007199254740993')
  })

  it('sends its credentials and parameters, and names neither in an error', async () => {
    const reader = await stream.open(
      { ...options, query: { key: 'q-secret' }, sizeParameter: 'size', size: 2 },
      { credentials: { headerName: 'X-Key', headerValue: 'h-secret' } },
    )
    await readOn(reader, null)
    const [first] = stream.api.asked
    expect(first?.headers['x-key']).toBe('h-secret')
    expect(first?.url.search).toBe('?key=q-secret&size=2')
    stream.api.decide(() => answer(404, ''))
    await expect(readOn(reader, null)).rejects.toThrow(
      /^To GET \/v1\/people: The other system answered 404\.$/,
    )
  })

  it('passes the gate before each request, and tells it how the request went', async () => {
    await stream.run(options)
    expect(passed).toEqual(['enter', 'answered', 'enter', 'answered'])
    stream.api.decide(() => ({ kind: 'cut' }))
    await expect(stream.run(options)).rejects.toThrow()
    expect(passed.slice(4)).toEqual(['enter', 'dead'])
  })

  it('refuses a cursor that is not one of an HTTP API', async () => {
    const reader = await stream.open(options)
    await expect(readOn(reader, 'page-7')).rejects.toThrow('The cursor is not one of an HTTP API')
  })

  it('begins again when the sync pages in another way', async () => {
    const { reached } = await stream.run(options)
    const paged = {
      paging: 'PAGE',
      pageParameter: 'page',
      recordsPath: 'items',
      identityField: 'id',
    }
    expect((await stream.run(paged, reached)).read).toEqual(['1', '2', '3'])
  })
})
