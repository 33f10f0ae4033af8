/** Queries that come again: compiled, answered without the endpoint's HTTP layers, and nobody sees a difference. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { WrittenResult } from '../../src/http/compiled-queries.ts'
import { countSubscriptions } from '../../src/http/count-subscriptions.ts'
import { NOBODY } from '../../src/http/credentials.ts'
import { answer } from '../../src/http/direct-answer.ts'
import { createEndpoint } from '../../src/http/graphql-endpoint.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'
import { useApi } from '../support/app.ts'
import { runSteps } from '../support/run-steps.ts'

const api = useApi()

const { makeActive, putRun } = runSteps(api)

const LIMITS = { ...DEFAULT_LIMITS, hasIntrospection: true, allowedOrigins: [] }
const SETTINGS = { progressStaleAfterMs: 120_000, retentionMs: 1, keepAliveMs: 1 }

function makeEndpoint(interpretedFirst?: number) {
  return createEndpoint({
    commands: api().parts,
    settings: SETTINGS,
    limits: LIMITS,
    subscriptions: countSubscriptions(LIMITS, api().logger),
    hasGraphiql: false,
    ...(interpretedFirst === undefined ? {} : { interpretedFirst }),
  })
}

/** Executes operations as the sockets do: with what the endpoint gives for it. */
async function makeExecutor(interpretedFirst?: number) {
  const { workspaceId, tokenId } = await api().makeWorkspace()
  const actor = { workspaceId, tokenId, tokenName: 'test', role: 'admin', isTajo: false } as const
  const endpoint = makeEndpoint(interpretedFirst)
  const execute = async (
    query: string,
    variables: Record<string, unknown> = {},
    operationName?: string,
  ) => {
    const params = { query, variables }
    const enveloped = endpoint.getEnveloped({ actor, credentials: NOBODY, params })
    const document = enveloped.parse(query)
    expect(enveloped.validate(enveloped.schema, document)).toEqual([])
    return (await enveloped.execute({
      schema: enveloped.schema,
      document,
      contextValue: await enveloped.contextFactory(),
      variableValues: variables,
      operationName,
    })) as { readonly data?: unknown; readonly errors?: readonly { readonly message: string }[] }
  }
  return Object.assign(execute, { kept: endpoint.compiledQueries.kept })
}

describe('a query that comes again', () => {
  it('is compiled when it comes for the third time', async () => {
    const execute = await makeExecutor()
    const query = 'query Mine { viewer { tokenName role } }'
    const results = []
    for (let n = 0; n < 4; n += 1) {
      results.push(await execute(query))
    }
    expect(results.map((result) => result instanceof WrittenResult)).toEqual([
      ...[false, false, true, true],
    ])
    const [first, , , last] = results
    expect(JSON.parse(JSON.stringify(last))).toEqual(JSON.parse(JSON.stringify(first)))
    // Sockets copy the members of a result.
    expect({ ...last }.data).toEqual(JSON.parse(JSON.stringify(first?.data)))
  })

  it('is interpreted where its answer has an error', async () => {
    const execute = await makeExecutor()
    const query = 'query Page($first: Int) { runs(first: $first) { pageInfo { hasNextPage } } }'
    const told: unknown[] = []
    for (let n = 0; n < 4; n += 1) {
      const { errors } = await execute(query, { first: 0 })
      told.push(JSON.parse(JSON.stringify(errors)))
    }
    expect(told[0]).toMatchObject([
      { path: ['runs'], extensions: { code: 'INVALID_INPUT' }, locations: [{ line: 1 }] },
    ])
    expect(told).toEqual([told[0], told[0], told[0], told[0]])
    expect(await execute(query, { first: 1 })).toBeInstanceOf(WrittenResult)
  })

  it('is compiled whatever names of operations others have asked its document for', async () => {
    const execute = await makeExecutor()
    const query = 'query Mine { viewer { role } } query Other { viewer { tokenName } }'
    for (const name of ['', ...Array.from({ length: 10 }, (_, n) => `nonsense${n}`)]) {
      await expect(execute(query, {}, name)).rejects.toThrow('Must provide an operation.')
    }
    for (const name of ['Mine', 'Other']) {
      const results = [1, 2, 3].map(() => execute(query, {}, name))
      expect((await Promise.all(results))[2], name).toBeInstanceOf(WrittenResult)
    }
    const nameless = '{ viewer { role } }'
    for (let n = 0; n < 4; n += 1) {
      await expect(execute(nameless, {}, '')).rejects.toThrow('Must provide an operation.')
    }
    const results = [1, 2, 3].map(() => execute(nameless))
    expect((await Promise.all(results))[2]).toBeInstanceOf(WrittenResult)
  })

  it('is none when it is a mutation', async () => {
    const execute = await makeExecutor()
    const mutation =
      'mutation { runSync(input: { syncId: "sync_0198c0de-0000-7000-8000-000000000000" }) { __typename } }'
    for (let n = 0; n < 4; n += 1) {
      const result = await execute(mutation)
      expect(result).not.toBeInstanceOf(WrittenResult)
      expect(result.data).toMatchObject({ runSync: { __typename: 'NotFound' } })
    }
  })
})

describe('of compiled queries', () => {
  it('no more is kept than a part for all of them, whatever is sent', async () => {
    const execute = await makeExecutor(0)
    const page =
      '{ __typename ...A @include(if: $x) } fragment A on Query { a: __typename b: __typename }'
    await execute(`query One($x: Boolean!) ${page}`, { x: true })
    await execute(`query One($x: Boolean!) ${page}`, { x: true })
    expect(execute.kept).toMatchObject({ plans: 1, fields: 3 })
    const two = `query One($x: Boolean!) ${page} query Two($x: Boolean!) { ...A @skip(if: $x) }`
    await execute(two, { x: true }, 'One')
    await execute(two, { x: false }, 'One')
    await execute(two, { x: false }, 'Two')
    expect(execute.kept).toMatchObject({ plans: 4, fields: 9 })
    for (let n = 0; n < 1_100; n += 1) {
      await execute(`{ __typename } # ${n}`)
    }
    expect(execute.kept).toMatchObject({ plans: 1_000, fields: 1_000 })
  })
})

describe('over HTTP', () => {
  it('it is answered alike, at first and again, directly and by the endpoint', async () => {
    const { workspace, sync } = await makeActive()
    await putRun(workspace, sync, { status: 'failed' })
    const query = 'query Page { runs(first: 2) { edges { node { id failure { code } } } } }'
    const answers = new Set<string>()
    for (const headers of [{}, {}, {}, { origin: 'https://example.com' }, { accept: '*/*' }]) {
      const response = await fetch(`${api().address}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${workspace.token}`,
          'content-type': 'application/json',
          accept: 'application/json',
          ...headers,
        },
        body: JSON.stringify({ query }),
      })
      const type = response.headers.get('content-type')
      answers.add(`${response.status} ${type} ${await response.text()}`)
    }
    expect([...answers]).toEqual([
      expect.stringMatching(
        /^200 application\/json; charset=utf-8 \{"data":\{"runs":\{"edges":\[\{/,
      ),
    ])
  })

  it('an operation without a name is not taken for one with an empty one, known or not', async () => {
    const { token } = await api().makeWorkspace()
    const query = '{ viewer { role } } # an empty name'
    const ask = async (operationName: string | null) => {
      const response = await fetch(`${api().address}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query, operationName }),
      })
      return { status: response.status, text: await response.text() }
    }
    const known = await ask(null)
    expect(known).toMatchObject({ status: 200, text: expect.stringContaining('"data"') })
    const before = await ask('')
    expect(await ask(null)).toEqual(known)
    expect(await ask('')).toEqual(before)
    expect(before.text).toContain('"errors"')
  })

  it('an unknown parameter is refused also of a query that is known', async () => {
    const { token } = await api().makeWorkspace()
    const query = 'query Mine { viewer { tokenName } }'
    const post = async (body: object) => {
      const response = await fetch(`${api().address}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return response.status
    }
    expect(await post({ query })).toBe(200)
    expect(await post({ query })).toBe(200)
    expect(await post({ query, odd: 1 })).toBe(400)
    expect(await post({ query, variables: 'none' })).toBe(400)
  })
})

describe('a client that leaves in the middle of a body', () => {
  it.each([
    ['directly answered', []],
    ['answered by the endpoint', ['origin: https://example.com']],
  ])('is no error of ours, %s', async (_way, headers) => {
    const facts = { actor: null, credentials: NOBODY }
    const parts = { endpoint: makeEndpoint(), maxBodyBytes: 1_000, facts }
    const outcomes: Promise<void>[] = []
    const server = createServer((request, response) => {
      outcomes.push(answer(parts, request, response))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      const asked = once(server, 'request')
      const head = ['POST /graphql HTTP/1.1', 'host: tajo', 'content-type: application/json']
      socket.write([...head, ...headers, 'content-length: 100', '', '{"query"'].join('\r\n'))
      await asked
      socket.destroy()
      await expect(Promise.all(outcomes)).resolves.toHaveLength(1)
      expect(api().logger.events.filter(({ level }) => level === 'error')).toEqual([])
    } finally {
      server.close()
    }
  })
})
