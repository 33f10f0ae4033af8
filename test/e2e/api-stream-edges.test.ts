/** Streams at their edges: who leaves at a bad moment, begins with very much, or asks for what cannot be told. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import { WorkspaceRunsSubscription } from '../../src/client/stream-documents.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { openApi, type TestApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeToken } from '../support/factories.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import { requestPublication } from '../support/publication-steps.ts'
import { runSteps } from '../support/run-steps.ts'
import { makeDraft, makePublishedSync, uuidOf, type Workspace } from '../support/sync-steps.ts'

const LIST_OF_URQL = 'application/graphql-response+json, application/json, text/event-stream'

/** Nobody reads the runs until it is released. */
const lockRuns = (api: TestApi) =>
  holdOpen(api.database, (tx) => tx.rows(sql`lock table run in access exclusive mode`))

function watchAll({ client }: Workspace, after?: string) {
  const stream = client.subscribe(WorkspaceRunsSubscription, { after: after ?? null })
  return {
    next: async () => (await stream.next()).value?.workspaceRuns,
    leave: async () => {
      await stream.return?.()
    },
  }
}

async function subscribe(api: TestApi, token: string, query: string, variables: unknown = {}) {
  return await fetch(`${api.address}/graphql`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      accept: 'text/event-stream',
    },
    body: JSON.stringify({ query, variables }),
  })
}

/** The first event of a stream; null: it ended before. */
async function firstEvent(response: Response): Promise<string | null> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    text += Buffer.from(value ?? []).toString()
    const [, event] = /^data: (.+)$/m.exec(text) ?? []
    if (done || event !== undefined) {
      await reader.cancel()
      return event ?? null
    }
  }
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a look that fails', () => {
  const api = useApi()
  const { makeActive, putRun } = runSteps(api)

  async function untilEndFailed(before: number): Promise<void> {
    while (api().logger.count('stream.end_failed') === before) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('when the last client of a stream has left ends nothing else', async () => {
    const { workspace, sync } = await makeActive()
    await putRun(workspace, sync, { status: 'running' })
    const watching = watchAll(workspace)
    await watching.next()
    const failed = api().logger.count('stream.end_failed')
    const held = await lockRuns(api())
    api().bus.recover()
    await waitUntilBlocked(api().database, 1, '%lookAtRuns%')
    // Its next event waits for the look, which the database gives up after 2 s.
    const leaving = watching.leave()
    await untilEndFailed(failed)
    await held.release()
    await leaving
    expect((await fetch(`${api().address}/health/live`)).status).toBe(200)
  })

  it('when a socket’s subscription is ended leaves its others as they are', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    const other = await putRun(workspace, await makePublishedSync(api(), workspace), {
      status: 'running',
    })
    const socket = openSocket(api().address, `Bearer ${workspace.token}`)
    const one = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    const two = subscribeOverSocket(socket, RunProgressSubscription, { runId: other })
    await Promise.all([one.next(), two.next()])
    const failed = api().logger.count('stream.end_failed')
    const held = await lockRuns(api())
    api().bus.recover()
    await waitUntilBlocked(api().database, 2, '%findProgress%')
    const leaving = one.return()
    await untilEndFailed(failed)
    await held.release()
    await leaving
    // The other one is told of its own failure or of its run, but its socket is open.
    const third = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    expect((await third.next()).value).toMatchObject({ runProgress: { runId } })
    await socket.dispose()
  })
})

describe('a stream that begins', () => {
  const api = useApi()
  const { makeActive, putRun } = runSteps(api)

  it('with more runs than fit into what is on its way is told all of them', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    const count = 1_500
    await api().database.rows(sql`
      with made as (
        insert into sync
        select (jsonb_populate_record(sync, jsonb_build_object('id', gen_random_uuid(), 'name', n))).*
        from sync cross join generate_series(2, ${count}::int) as n
        where id = ${sync.uuid}
        returning id)
      insert into run (id, workspace_id, sync_id, publication_id, cause, status, attempt_allowance, worker_id)
      select gen_random_uuid(), ${workspace.workspaceId}, made.id, publication_id, cause, status,
        attempt_allowance, worker_id
      from made cross join run
      where run.id = ${runId.slice('run_'.length)}`)
    const watching = watchAll(workspace)
    const told = new Set<string>()
    for (let event = await watching.next(); ; event = await watching.next()) {
      if (event?.__typename !== 'RunUpdate') {
        expect(event?.__typename).toBe('RunsKeepAlive')
        break
      }
      told.add(event.progress.runId)
    }
    expect(told.size).toBe(count)
    await watching.leave()
  })

  it('says from its first event on from where it can be gone on with', async () => {
    const { workspace, sync } = await makeActive()
    const over = await putRun(workspace, sync, { status: 'succeeded' })
    // Long before anything that is under way in the cluster: what has just ended may be told again.
    await api().database.rows(sql`update run set ended_in = 3 where id = ${uuidOf(over)}`)
    const runId = await putRun(workspace, sync, { status: 'running' })
    const watching = watchAll(workspace)
    const first = await watching.next()
    await watching.leave()
    const again = watchAll(workspace, first?.sequence)
    const events = [await again.next(), await again.next()]
    expect(events).toMatchObject([
      { __typename: 'RunUpdate', progress: { runId } },
      { __typename: 'RunsKeepAlive' },
    ])
    await again.leave()
  })

  it('tells each token what is its own', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makeDraft(api(), workspace)
    await requestPublication(workspace.client, sync.syncId)
    await putRun(workspace, sync, { status: 'running' })
    const query = `subscription {
      workspaceRuns { ... on RunUpdate { run { sync { publicationRequest { isOwn } } } } }
    }`
    const { token } = await makeToken(api().database, workspace.workspaceId, { role: 'admin' })
    const told = await Promise.all(
      [workspace.token, token].map(async (by) => firstEvent(await subscribe(api(), by, query))),
    )
    const isOwn = told.map((text) => /"isOwn":(true|false)/.exec(text ?? '')?.[1])
    expect(isOwn).toEqual(['true', 'false'])
  })

  it('is refused or answered, and not torn, whatever its variables are', async () => {
    const { token } = await api().makeWorkspace()
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const response = await fetch(`${api().address}/graphql`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        accept: 'text/event-stream',
      },
      body: `{"query":"subscription { workspaceRuns { __typename } }","variables":{"x":${deep}}}`,
    })
    expect(response.status).toBeLessThan(500)
    await response.body?.cancel()
  })

  it.each([
    'subscription { workspaceRuns @skip(if: true) { __typename } }',
    'subscription ($no: Boolean = false) { workspaceRuns @include(if: $no) { __typename } }',
    'subscription { ... @skip(if: true) { workspaceRuns { __typename } } }',
    'subscription { ...F } fragment F on Subscription { workspaceRuns @skip(if: true) { __typename } }',
  ])('may not subscribe to nothing: %s', async (query) => {
    const { token } = await api().makeWorkspace()
    const response = await subscribe(api(), token, query)
    expect(await response.text()).toContain('cannot have \\"@skip\\" or \\"@include\\"')
    expect(api().logger.count('api.failed') + api().logger.count('http.failed')).toBe(0)
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))(
  'a request of a client that takes streams, too',
  () => {
    const database = useDatabase('postgresql')

    it('is answered also where its server stops', async () => {
      const api = await openApi(database())
      const { token, name } = await api.makeWorkspace()
      const held = await holdOpen(database(), (tx) =>
        tx.rows(sql`lock table workspace in access exclusive mode`),
      )
      const asking = fetch(`${api.address}/graphql`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          accept: LIST_OF_URQL,
        },
        body: JSON.stringify({ query: '{ viewer { workspaceName } }' }),
      })
      await waitUntilBlocked(database(), 1, '%workspace%')
      const stopping = api.stop()
      await held.release()
      const answer = await asking
      expect([answer.status, await answer.json()]).toEqual([
        200,
        { data: { viewer: { workspaceName: name } } },
      ])
      await stopping
    })
  },
)
