/** What pages in a browser may do with the API, and what no page may do without being asked first. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type TestApi, useApi } from '../support/app.ts'

const ORIGIN = 'https://dashboard.example.com'
const open = useApi({ limits: { allowedOrigins: [ORIGIN] } })
const closed = useApi()

const BODY = JSON.stringify({ query: '{ __typename }' })
const form = (query: string) => new URLSearchParams({ query }).toString()

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly type?: string
  readonly body?: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

async function send(api: TestApi, { method, type, body, query, headers }: Sent) {
  const { token } = await api.makeWorkspace()
  const response = await fetch(`${api.address}/graphql${query ? `?${form(query)}` : ''}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(type === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    // Bytes, so that no content type is added for them.
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  })
  return { response, text: await response.text() }
}

/** Whatever a page can send without the browser asking first (the Fetch standard's simple requests). */
const SIMPLE: Readonly<Record<string, Sent>> = {
  'a GET': { method: 'GET', query: '{ __typename }' },
  'a POST as text': { method: 'POST', type: 'text/plain', body: BODY },
  'a POST as text that says JSON behind it': {
    method: 'POST',
    type: 'text/plain; a=application/json',
    body: BODY,
  },
  'a POST in capitals': { method: 'POST', type: 'TEXT/PLAIN;charset=UTF-8', body: BODY },
  'a POST of a form': {
    method: 'POST',
    type: 'application/x-www-form-urlencoded',
    body: form('{ __typename }'),
  },
  'a POST of a form in parts': {
    method: 'POST',
    type: 'multipart/form-data; boundary=x',
    body: BODY,
  },
  'a POST without a content type': { method: 'POST', body: BODY },
}

describe('a request that a page can send without asking first', () => {
  it.each(Object.entries(SIMPLE))('is refused: %s', async (_, sent) => {
    const { response, text } = await send(open(), sent)
    expect(response.status).toBe(403)
    expect(JSON.parse(text)).toMatchObject({
      errors: [
        {
          extensions: { code: 'PREFLIGHT_NEEDED' },
          message: expect.stringContaining('graphql-require-preflight'),
        },
      ],
    })
  })

  it.each(['graphql-require-preflight', 'apollo-require-preflight', 'x-graphql-yoga-csrf'])(
    'is taken with the header %s, which it cannot send so',
    async (name) => {
      for (const sent of ['a GET', 'a POST of a form']) {
        const given: Sent = { ...(SIMPLE[sent] ?? { method: 'GET' }), headers: { [name]: '' } }
        const { response, text } = await send(open(), given)
        expect([sent, response.status, text]).toEqual([
          sent,
          200,
          '{"data":{"__typename":"Query"}}',
        ])
      }
    },
  )

  it('and changes something is refused by GET also with it', async () => {
    const query = 'mutation { createToken(input: { name: "x", role: VIEWER }) { __typename } }'
    const headers = { 'graphql-require-preflight': '1' }
    const { response } = await send(open(), { method: 'GET', query, headers })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
  })
})

describe('a page of another origin', () => {
  const ask = (api: TestApi, origin: string) =>
    fetch(`${api.address}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })

  it('that is configured is told that it may, and may read the answer', async () => {
    const told = await ask(open(), ORIGIN)
    expect(told.status).toBe(204)
    expect(Object.fromEntries(told.headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': expect.stringMatching(/Authorization, Content-Type/),
      'access-control-max-age': '7200',
      vary: 'Origin',
    })
    const { response } = await send(open(), {
      method: 'POST',
      type: 'application/json',
      body: BODY,
      headers: { origin: ORIGIN },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('may read also why it was refused', async () => {
    const response = await fetch(`${open().address}/graphql`, {
      method: 'POST',
      headers: { origin: ORIGIN, 'content-type': 'application/json' },
      body: BODY,
    })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([
      401,
      ORIGIN,
    ])
  })

  it.each([
    `${ORIGIN}.evil.example`,
    'https://evil.example',
    'http://dashboard.example.com',
    'null',
  ])('that is not configured is told that it may not: %s', async (origin) => {
    for (const api of [open(), closed()]) {
      const told = await ask(api, origin)
      expect(told.status).toBe(403)
      expect(told.headers.get('access-control-allow-origin')).toBeNull()
      expect(await told.json()).toMatchObject({
        errors: [{ extensions: { code: 'ORIGIN_REFUSED' } }],
      })
      const { response } = await send(api, {
        method: 'POST',
        type: 'application/json',
        body: BODY,
        headers: { origin },
      })
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('gets a socket only if it is configured', async () => {
    const handshake = async (api: TestApi, origin: string | null) => {
      const url = `${api.address.replace('http', 'ws')}/graphql`
      const socket = new WebSocket(url, 'graphql-transport-ws', origin === null ? {} : { origin })
      try {
        const answer = await Promise.race([
          once(socket, 'open').then(() => 'open'),
          once(socket, 'unexpected-response').then(([, { statusCode }]) => statusCode as number),
        ])
        return answer
      } finally {
        socket.on('error', () => undefined)
        socket.terminate()
      }
    }
    expect(await handshake(open(), ORIGIN)).toBe('open')
    expect(await handshake(open(), 'https://evil.example')).toBe(403)
    expect(await handshake(closed(), ORIGIN)).toBe(403)
    // GraphiQL's, and those of programs, which send none.
    expect(await handshake(closed(), closed().address)).toBe('open')
    expect(await handshake(closed(), null)).toBe('open')
  })
})

describe('an answer', () => {
  it('is kept by nobody on its way', async () => {
    const { response } = await send(closed(), {
      method: 'POST',
      type: 'application/json',
      body: BODY,
    })
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const refused = await fetch(`${closed().address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: BODY,
    })
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([401, 'no-store'])
  })
})
