/** What nobody expected is logged under an id, and only the id is shown: over each way to the API, and in the middle of a stream. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { openSocket } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

const api = useApi({ settings: { keepAliveMs: 50 } })

const QUERY = '{ runs(first: 1) { edges { node { id } } } }'
const watch = (runId: string) => `subscription { runProgress(runId: "${runId}") { __typename } }`

/** What the API sends: everything of a plain answer, the events of a stream one by one. */
type Listen = (token: string, query: string) => AsyncGenerator<string, void, undefined>

async function* overHttp(init: { url?: string } & RequestInit, token: string) {
  const response = await fetch(init.url ?? `${api().address}/graphql`, {
    ...init,
    headers: {
      ...init.headers,
      authorization: `Bearer ${token}`,
      'graphql-require-preflight': '1',
    },
  })
  for await (const chunk of response.body ?? []) {
    yield Buffer.from(chunk).toString()
  }
}

const postAs = (accept: string): Listen =>
  async function* (token, query) {
    const headers = { 'content-type': 'application/json', accept }
    yield* overHttp({ method: 'POST', headers, body: JSON.stringify({ query }) }, token)
  }

const PLAIN: Readonly<Record<string, Listen>> = {
  POST: postAs('application/json'),
  GET: async function* (token, query) {
    yield* overHttp({ url: `${api().address}/graphql?${new URLSearchParams({ query })}` }, token)
  },
}
const STREAMS: Readonly<Record<string, Listen>> = {
  'server-sent events': postAs('text/event-stream'),
  'a WebSocket': async function* (token, query) {
    const socket = openSocket(api().address, `Bearer ${token}`)
    try {
      for await (const event of socket.iterate({ query })) {
        yield JSON.stringify(event)
      }
    } catch (errors) {
      yield JSON.stringify(errors)
    } finally {
      await socket.dispose()
    }
  },
}

/** Runs cannot be read while `work` is at it. */
async function whileMislaid<T>(work: () => Promise<T>): Promise<T> {
  await api().database.rows(sql`alter table run rename to mislaid`)
  try {
    return await work()
  } finally {
    await api().database.rows(sql`alter table mislaid rename to run`)
  }
}

/** Everything up to the end, or to the error that is awaited. */
async function readUntilError(events: AsyncGenerator<string, void, undefined>): Promise<string> {
  let text = ''
  for await (const event of events) {
    text += event
    if (/"errorId":"[^"]+"/.test(text)) {
      break
    }
  }
  return text
}

function expectMasked(text: string): void {
  const [, errorId = 'none'] = /"errorId":"([^"]+)"/.exec(text) ?? []
  expect(text).toContain(`Something went wrong on our side; send us this id: ${errorId}.`)
  expect(text).toContain('INTERNAL_SERVER_ERROR')
  expect(text).not.toMatch(/select|mislaid|relation|\.ts/)
  const logged = api().logger.events.filter(({ bindings }) => bindings['errorId'] === errorId)
  expect(logged).toMatchObject([{ event: 'api.failed', cause: expect.any(Error) }])
}

describe('an error that nobody expected', () => {
  it.each(Object.entries({ ...PLAIN, ...STREAMS }))('in a query over %s', async (_, listen) => {
    const { token } = await api().makeWorkspace()
    expectMasked(await whileMislaid(() => readUntilError(listen(token, QUERY))))
  })

  it.each(Object.entries(STREAMS))('when a subscription over %s begins', async (_, listen) => {
    const { token } = await api().makeWorkspace()
    const runId = encodeGlobalId('Run', api().parts.ids.next())
    expectMasked(await whileMislaid(() => readUntilError(listen(token, watch(runId)))))
  })

  it.each(Object.entries(STREAMS))('in the middle of a subscription over %s', async (_, listen) => {
    const workspace = await api().makeWorkspace()
    const { workspaceId, token } = workspace
    const { uuid } = await makePublishedSync(api(), workspace)
    const run = await makeRun(api().database, { workspaceId, syncId: uuid, status: 'running' })
    const events = listen(token, watch(encodeGlobalId('Run', run)))
    let text = ''
    while (!text.includes('RunProgress')) {
      const { value } = await events.next()
      text += value ?? ''
    }
    expectMasked(await whileMislaid(() => readUntilError(events)))
  })
})

describe('a document that is no GraphQL', () => {
  it('is answered over a WebSocket, which goes on', async () => {
    const { token } = await api().makeWorkspace()
    const socket = openSocket(api().address, `Bearer ${token}`)
    const ask = (query: string) =>
      new Promise((resolve) => {
        const sink = { next: resolve, error: resolve, complete: () => undefined }
        socket.subscribe({ query }, sink)
      })
    const whole = ask(watch('run_0198c0de-0000-7000-8000-000000000000'))
    expect(await ask('{ viewer {')).toMatchObject([
      { message: expect.stringContaining('Syntax Error') },
    ])
    expect(await ask('{ __typename }')).toEqual({ data: { __typename: 'Query' } })
    expect(await whole).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] })
    await socket.dispose()
  })
})
