/** A document that is too large is refused on every path, before anything is executed. */
import { sql } from 'drizzle-orm'
import { getIntrospectionQuery } from 'graphql'
import { describe, expect, it } from 'vitest'
import type { ApiLimits } from '../../src/http/limits.ts'
import { openSocket, post } from '../support/api-client.ts'
import { type TestApi, useApi } from '../support/app.ts'

const api = useApi({ limits: { maxTokens: 300, maxDepth: 6, maxAliases: 4, maxCost: 1_000 } })

const page = (size: string, within = 'id') =>
  `runs(first: ${size}) { edges { node { ${within} } } }`
const doubling = Array.from({ length: 12 }, (_, i) => {
  const next = i === 11 ? '__typename' : `...F${i + 1} ...F${i + 1}`
  return `fragment F${i} on Query { ${next} }`
}).join('\n')

interface TooLarge {
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>>
  readonly refusal: { readonly limit: string; readonly maximum: number; readonly found?: number }
  readonly message: string
}

const TOO_LARGE: Readonly<Record<string, TooLarge>> = {
  'has too many tokens': {
    query: `{ viewer { ${'tokenName '.repeat(300)} } }`,
    refusal: { limit: 'tokens', maximum: 300 },
    message: 'The document has more than 300 tokens.',
  },
  'is too long with its fragments written out': {
    query: `{ ...F0 } ${doubling}`,
    refusal: { limit: 'selections', maximum: 300, found: 6_143 },
    message:
      'With its fragments written out the document selects 6143 fields and fragments, and at most 300 are allowed.',
  },
  'is too deep': {
    query: `{ ${page('1', 'sync { ...S }')} } fragment S on Sync { lastRun { sync { name } } }`,
    refusal: { limit: 'depth', maximum: 6, found: 7 },
    message: 'Fields are nested 7 deep, and at most 6 are allowed.',
  },
  'has too many aliases': {
    query: `{ viewer { a: tokenName b: tokenName c: tokenName ... { d: tokenName e: tokenName } } }`,
    refusal: { limit: 'aliases', maximum: 4, found: 5 },
    message: 'The document has 5 aliases, and at most 4 are allowed.',
  },
  'may read too much': {
    query: `{ ${page('100', 'rejectedRecords(first: 100) { edges { cursor } }')} }`,
    refusal: { limit: 'cost', maximum: 1_000, found: 10_100 },
    message:
      'The document may read 10100 objects, and at most 1000 are allowed: ask for shorter pages.',
  },
  'may read too much with its variables': {
    query: `query ($n: Int!) { ${page('$n', 'sync { lastRun { id } } retryOf { id }  retriedBy { id } resolvedBy { id }')} }`,
    variables: { n: 200 },
    refusal: { limit: 'cost', maximum: 1_000, found: 1_200 },
    message:
      'The document may read 1200 objects, and at most 1000 are allowed: ask for shorter pages.',
  },
}

type Ask = (
  api: TestApi,
  token: string,
  operation: Pick<TooLarge, 'query' | 'variables'>,
) => Promise<unknown>

/** The first error of the answer. */
const PATHS: Readonly<Record<string, Ask>> = {
  POST: async ({ address }, token, { query, variables = {} }) => {
    const options = { authorization: `Bearer ${token}`, variables }
    const { status, body } = await post(address, query, options)
    return { status, ...body.errors?.[0] }
  },
  GET: async ({ address }, token, { query, variables = {} }) => {
    const parameters = new URLSearchParams({ query, variables: JSON.stringify(variables) })
    const response = await fetch(`${address}/graphql?${parameters}`, {
      headers: { authorization: `Bearer ${token}`, 'graphql-require-preflight': '1' },
    })
    const { errors } = (await response.json()) as { errors?: object[] }
    return { status: response.status, ...errors?.[0] }
  },
  'server-sent events': async ({ address }, token, { query, variables }) => {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query, variables }),
    })
    const text = await response.text()
    const [, event = '{}'] = /^data: (.*"errors".*)$/m.exec(text) ?? []
    return { status: 400, ...(JSON.parse(event) as { errors?: object[] }).errors?.[0] }
  },
  'a WebSocket': async ({ address }, token, { query, variables = {} }) => {
    const socket = openSocket(address, `Bearer ${token}`)
    try {
      const answer = new Promise((resolve, reject) => {
        socket.subscribe(
          { query, variables },
          { next: resolve, error: reject, complete: () => undefined },
        )
      })
      return await answer.catch((errors: unknown) => ({
        status: 400,
        ...(Array.isArray(errors) ? errors[0] : { message: String(errors) }),
      }))
    } finally {
      await socket.dispose()
    }
  },
}

describe.each(Object.entries(PATHS))('over %s a document that', (_, ask) => {
  it.each(Object.entries(TOO_LARGE))(
    '%s is refused, with the limit and the figure',
    async (_, given) => {
      const { token } = await api().makeWorkspace()
      expect(await ask(api(), token, given)).toMatchObject({
        status: 400,
        message: given.message,
        extensions: { code: 'LIMIT_EXCEEDED', ...given.refusal },
      })
    },
  )

  it('is as large as it may be is not', async () => {
    const { token } = await api().makeWorkspace()
    const query = `query ($n: Int!) { ${page('$n', 'sync { lastRun { id } }')} a: viewer { b: tokenName } }`
    for (const n of [1, 200]) {
      const answer = await ask(api(), token, { query, variables: { n } })
      expect(answer).not.toMatchObject({ extensions: expect.anything() })
    }
  })
})

describe('a document that is too large', () => {
  it('is refused each time it comes, and with other variables it is not', async () => {
    const { token } = await api().makeWorkspace()
    const { query } = TOO_LARGE['may read too much with its variables'] ?? { query: '' }
    const statuses = []
    for (const n of [200, 1, 200, 2]) {
      const options = { authorization: `Bearer ${token}`, variables: { n } }
      statuses.push((await post(api().address, query, options)).status)
    }
    expect(statuses).toEqual([400, 200, 400, 200])
  })

  it('is refused without the database being asked for what it selects', async () => {
    const { token } = await api().makeWorkspace()
    await api().database.rows(sql`alter table run rename to mislaid`)
    try {
      const authorization = `Bearer ${token}`
      const asked = await post(api().address, `{ ${page('1')} }`, { authorization })
      expect(asked.body.errors?.[0]?.extensions?.['code']).toBe('INTERNAL_SERVER_ERROR')
      const { query } = TOO_LARGE['may read too much'] ?? { query: '' }
      const refused = await post(api().address, query, { authorization })
      expect(refused.body.errors?.[0]?.extensions?.['code']).toBe('LIMIT_EXCEEDED')
    } finally {
      await api().database.rows(sql`alter table mislaid rename to run`)
    }
  })
})

describe('introspection', () => {
  const closed = useApi({ limits: { hasIntrospection: false } satisfies Partial<ApiLimits> })
  const open = useApi({ limits: { hasIntrospection: true } })

  it.each(Object.entries(PATHS))('can be switched off: over %s', async (_, ask) => {
    const query = getIntrospectionQuery()
    const { token } = await closed().makeWorkspace()
    expect(await ask(closed(), token, { query })).toMatchObject({
      message: expect.stringContaining('GraphQL introspection has been disabled'),
    })
    const typename = await ask(closed(), token, { query: '{ __typename viewer { __typename } }' })
    expect(typename).not.toMatchObject({ message: expect.anything() })
    const { token: other } = await open().makeWorkspace()
    expect(await ask(open(), other, { query })).not.toMatchObject({ message: expect.anything() })
  })
})

describe('many operations in one request', () => {
  it('are not taken', async () => {
    const { token } = await api().makeWorkspace()
    const response = await fetch(`${api().address}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([{ query: '{ __typename }' }, { query: '{ __typename }' }]),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('Batching is not supported')
  })
})
