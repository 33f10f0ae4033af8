/** How much one token may ask for: requests in a time, subscriptions at once, time for an answer. */
import { once } from 'node:events'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { AlertsSubscription } from '../../src/client/alert-documents.ts'
import { ViewerQuery } from '../../src/client/documents.ts'
import { RunsQuery } from '../../src/client/list-documents.ts'
import type { Database } from '../../src/store/database.ts'
import { openSocket, post, subscribeOverSocket } from '../support/api-client.ts'
import { openApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { nameOf } from '../support/statement-name.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

describe('a token that makes too many requests', () => {
  const api = useApi({ maxRequests: 3 })

  it('is refused with 429 and the time to wait, and others are not', async () => {
    const { token, workspaceId, client } = await api().makeWorkspace()
    for (let asked = 0; asked < 3; asked += 1) {
      await client.request(ViewerQuery, {})
    }
    const response = await fetch(`${api().address}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ viewer { tokenName } }' }),
    })
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(10)
    expect(await response.json()).toEqual({
      errors: [
        {
          message:
            'The token has made 3 requests within 10 s, and no more are allowed: wait as long as Retry-After says.',
          extensions: { code: 'TOO_MANY_REQUESTS' },
        },
      ],
    })
    const other = await makeToken(api().database, workspaceId)
    await expect(api().client(other.token).request(ViewerQuery, {})).resolves.toBeDefined()
  })

  it('is refused before what it asks for is read', async () => {
    const { client } = await api().makeWorkspace()
    for (let asked = 0; asked < 3; asked += 1) {
      await client.request(ViewerQuery, {})
    }
    await api().database.rows(sql`alter table run rename to mislaid`)
    try {
      const refused = client.request(RunsQuery, {})
      await expect(refused).rejects.toMatchObject({ status: 429, code: 'TOO_MANY_REQUESTS' })
    } finally {
      await api().database.rows(sql`alter table mislaid rename to run`)
    }
  })

  it('is refused over a socket as well, which goes on', async () => {
    const { token } = await api().makeWorkspace()
    const socket = openSocket(api().address, `Bearer ${token}`)
    const ask = () =>
      new Promise((resolve) => {
        const sink = { next: resolve, error: resolve, complete: () => undefined }
        socket.subscribe({ query: '{ __typename }' }, sink)
      })
    const answers = [await ask(), await ask(), await ask(), await ask(), await ask()]
    expect(answers.slice(0, 3)).toEqual(Array(3).fill({ data: { __typename: 'Query' } }))
    for (const refused of answers.slice(3)) {
      expect(refused).toMatchObject([
        { extensions: { code: 'TOO_MANY_REQUESTS', retryAfterMs: expect.any(Number) } },
      ])
    }
    await socket.dispose()
  })
})

describe('a token with too many subscriptions', () => {
  const api = useApi({ limits: { maxSubscriptions: 2 } })
  const REFUSAL =
    'The token has 2 subscriptions open here, and no more are allowed: end some of them first.'

  it('gets no further one, over either protocol, until one of them has ended', async () => {
    const { client, token, workspaceId } = await api().makeWorkspace()
    const overHttp = client.subscribe(AlertsSubscription, {})
    await overHttp.next()
    const socket = openSocket(api().address, `Bearer ${token}`)
    const overSocket = subscribeOverSocket(socket, AlertsSubscription, {})
    await overSocket.next()
    const tryHttp = async () => {
      const stream = client.subscribe(AlertsSubscription, {})
      const first = await stream.next().catch((error: Error) => error.message)
      await stream.return?.()
      return typeof first === 'string' ? first : 'open'
    }
    const trySocket = async () => {
      const stream = subscribeOverSocket(socket, AlertsSubscription, {})
      const first = await stream.next().catch((error: Error) => error.message)
      await stream.return()
      return typeof first === 'string' ? first : 'open'
    }
    expect([await tryHttp(), await trySocket()]).toEqual([REFUSAL, REFUSAL])
    const other = await makeToken(api().database, workspaceId)
    const othersStream = api().client(other.token).subscribe(AlertsSubscription, {})
    expect(await othersStream.next()).toMatchObject({ done: false })
    await othersStream.return?.()
    await overSocket.return()
    await expect.poll(tryHttp).toBe('open')
    await expect.poll(trySocket).toBe('open')
    await overHttp.return?.()
    await socket.dispose()
  })

  it('may have them again, however those before ended', async () => {
    const { client, token } = await api().makeWorkspace()
    const missing = 'run_0198c0de-0000-7000-8000-000000000000'
    const ask = async (query: string, signal: AbortSignal) => {
      const response = await fetch(`${api().address}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
        body: JSON.stringify({ query }),
        signal,
      })
      return response
    }
    for (let round = 0; round < 5; round += 1) {
      const refused = await ask(
        `subscription { runProgress(runId: "${missing}") { __typename } }`,
        AbortSignal.timeout(10_000),
      )
      expect(await refused.text()).toContain('There is no run with the id')
      const leaving = new AbortController()
      await ask('subscription { alerts { __typename } }', leaving.signal)
      leaving.abort()
      const url = `${api().address.replace('http', 'ws')}/graphql`
      const cut = new WebSocket(url, 'graphql-transport-ws', {
        headers: { authorization: `Bearer ${token}` },
      })
      await once(cut, 'open')
      cut.send(JSON.stringify({ type: 'connection_init' }))
      await once(cut, 'message')
      const payload = { query: 'subscription { alerts { __typename } }' }
      cut.send(JSON.stringify({ type: 'subscribe', id: 'a', payload }))
      await once(cut, 'message')
      cut.terminate()
      await expect
        .poll(async () => {
          const streams = [1, 2].map(() => client.subscribe(AlertsSubscription, {}))
          const firsts = await Promise.all(
            streams.map((stream) => stream.next().catch((error: Error) => error.message)),
          )
          await Promise.all(streams.map((stream) => stream.return?.()))
          return firsts.filter((first) => typeof first === 'string')
        })
        .toEqual([])
    }
  })
})

describe('an operation that takes too long', () => {
  const api = useApi({ limits: { timeoutMs: 1_000 } })
  const QUERY = '{ runs(first: 1) { edges { node { id sync { name } } } } }'

  /** Nobody reads the runs while `work` is at it. */
  async function whileHeld<T>(table: string, work: () => Promise<T>): Promise<T> {
    return await api().database.transaction('test.hold', async (tx) => {
      await tx.rows(sql.raw(`lock table ${table} in access exclusive mode`))
      return await work()
    })
  }

  it('is answered with an error', async () => {
    const { token } = await api().makeWorkspace()
    const authorization = `Bearer ${token}`
    const answer = await whileHeld('run', () => post(api().address, QUERY, { authorization }))
    expect(answer).toEqual({
      status: 504,
      body: {
        errors: [
          {
            message: 'The query was not answered within 1000 ms: ask for less.',
            extensions: { code: 'TIMEOUT' },
          },
        ],
      },
    })
    const again = await post(api().address, QUERY, { authorization })
    expect(again).toMatchObject({ status: 200, body: { data: { runs: { edges: [] } } } })
  })

  it('over a socket too, which goes on', async () => {
    const { token } = await api().makeWorkspace()
    const socket = openSocket(api().address, `Bearer ${token}`)
    const ask = () =>
      new Promise((resolve) => {
        const sink = { next: resolve, error: resolve, complete: () => undefined }
        socket.subscribe({ query: QUERY }, sink)
      })
    const late = await whileHeld('run', ask)
    expect(late).toMatchObject({ errors: [{ extensions: { code: 'TIMEOUT' } }] })
    expect(await ask()).toMatchObject({ data: { runs: { edges: [] } } })
    await socket.dispose()
  })

  it('and changes something says that a repetition will tell', async () => {
    const { token } = await api().makeWorkspace()
    const query =
      'mutation { createToken(input: { name: "x", role: VIEWER, clientKey: "k" }) { __typename } }'
    const options = { authorization: `Bearer ${token}` }
    const late = await whileHeld('command_key', () => post(api().address, query, options))
    expect(late.body.errors).toMatchObject([
      { message: expect.stringMatching(/clientKey/), extensions: { code: 'TIMEOUT' } },
    ])
    // Until the first has come to its end, a repetition may have no answer either.
    const again = async () => (await post(api().address, query, options)).body.data
    await expect.poll(again).toMatchObject({ createToken: { __typename: 'CreatedToken' } })
  })
})

describe('a query that has timed out', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  const QUERY = '{ runs(first: 1) { edges { node { attempts { number } } } } }'

  it.each([
    ['compiled', 0],
    ['interpreted', Number.POSITIVE_INFINITY],
  ])('asks nothing more of the database, %s', async (_way, interpretedFirst) => {
    const { followed, statements } = followStatements(database())
    const api = await openApi(followed, { limits: { timeoutMs: 1_000 }, interpretedFirst })
    try {
      const workspace = await api.makeWorkspace()
      const { workspaceId, token } = workspace
      const { uuid: syncId } = await makePublishedSync(api, workspace)
      await makeRun(database(), { workspaceId, syncId, status: 'failed' })
      const authorization = `Bearer ${token}`
      const ask = async () => await post(api.address, QUERY, { authorization })
      expect(await ask()).toMatchObject({ status: 200, body: { data: {} } })
      const [runs, attempts] = statements.splice(0).slice(-2)
      expect([runs?.name, attempts?.name]).toEqual(['history.listRuns', 'history.findAttempts'])
      await database().transaction('test.hold', async (tx) => {
        await tx.rows(sql.raw('lock table run in access exclusive mode'))
        expect(await ask()).toMatchObject({ status: 504 })
      })
      await statements.find(({ name }) => name === runs?.name)?.answered
      // Another one of the same kind goes the whole way, in which the first would have gone on as well.
      expect(await ask()).toMatchObject({ status: 200 })
      const names = statements.map(({ name }) => name)
      expect(names.filter((name) => name === attempts?.name)).toHaveLength(1)
      expect(names.filter((name) => name === runs?.name)).toHaveLength(2)
    } finally {
      await api.stop()
    }
  })
})

interface Statement {
  readonly name: string | null
  readonly answered: Promise<unknown>
}

/** The database, and what is sent through it as plain statements. */
function followStatements(database: Database) {
  const statements: Statement[] = []
  const rows: Database['rows'] = (statement) => {
    const answered = database.rows<never>(statement)
    statements.push({ name: nameOf(statement), answered })
    return answered
  }
  return { followed: { ...database, rows }, statements }
}
