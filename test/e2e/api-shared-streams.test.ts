/** Subscriptions over server-sent events that many clients share: each is told what it would be told alone. */
import { connect, type Socket } from 'node:net'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import { WorkspaceRunsSubscription } from '../../src/client/stream-documents.ts'
import { runChannel, workspaceRunsChannel } from '../../src/coordination/bus.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { progressToMessage } from '../../src/domain/progress.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import type { Database } from '../../src/store/database.ts'
import { revokeToken } from '../../src/store/tokens.ts'
import { openApi, type TestApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { nameOf } from '../support/statement-name.ts'
import { makePublishedSync, type Workspace } from '../support/sync-steps.ts'

/** One subscription: its channel, and the gaps. */
const ONE_SUBSCRIPTION = 2

async function startRun(api: TestApi, workspace?: Workspace) {
  const owner = workspace ?? (await api.makeWorkspace())
  const { workspaceId } = owner
  const { uuid: syncId } = await makePublishedSync(api, owner)
  const id = await makeRun(api.database, { workspaceId, syncId, status: 'running' })
  const progressAt = (n: number, status: 'running' | 'succeeded' = 'running') => ({
    ...{ runId: id, syncId, workspaceId, status, totalRecords: null, failureCode: null },
    ...{ sequence: { epoch: 1, n }, counters: { ...NO_COUNTS, read: n, written: n } },
  })
  return {
    workspace: owner,
    id,
    runId: encodeGlobalId('Run', id),
    /** Writes where it stands, without a word on the bus. */
    write: (n: number) =>
      api.database.rows(sql`
        update run set event_n = ${n}, "read" = ${n}, written = ${n} where id = ${id}`),
    publish: (n: number, status?: 'succeeded') =>
      api.bus.publish(runChannel(id), progressToMessage(progressAt(n, status))),
    publishToWorkspace: (n: number) =>
      api.bus.publish(workspaceRunsChannel(workspaceId), progressToMessage(progressAt(n))),
    end: () =>
      api.database.rows(sql`
        update run set status = 'succeeded', finished_at = now() where id = ${id}`),
  }
}

function follow(api: TestApi, runId: string, token: string) {
  const results = api.client(token).subscribe(RunProgressSubscription, { runId })
  return {
    next: async () => {
      const { value, done } = await results.next()
      const event = done ? undefined : value.runProgress
      return event?.__typename === 'RunProgress' ? event.counters.written : event?.__typename
    },
    leave: async () => {
      await results.return?.()
    },
  }
}

describe('clients that watch the same', () => {
  const api = useApi()

  it('share one subscription, and are all told the same', async () => {
    const run = await startRun(api())
    const { token, workspaceId } = run.workspace
    const { token: another } = await makeToken(api().database, workspaceId)
    const clients = [token, token, another].map((by) => follow(api(), run.runId, by))
    expect(await Promise.all(clients.map((client) => client.next()))).toEqual([0, 0, 0])
    expect(api().bus.countListeners()).toBe(ONE_SUBSCRIPTION)
    await run.publish(7)
    expect(await Promise.all(clients.map((client) => client.next()))).toEqual([7, 7, 7])
    await clients[0]?.leave()
    await run.publish(8)
    expect(await clients[1]?.next()).toBe(8)
    expect(await clients[2]?.next()).toBe(8)
    await clients[1]?.leave()
    await clients[2]?.leave()
    await api().bus.whenListeners(0)
  })

  it('begin with where it stands when they join, whatever was heard until then', async () => {
    const run = await startRun(api())
    const first = follow(api(), run.runId, run.workspace.token)
    expect(await first.next()).toBe(0)
    await run.write(5)
    const second = follow(api(), run.runId, run.workspace.token)
    expect(await second.next()).toBe(5)
    expect(await first.next()).toBe(5)
    await run.publish(4) // late
    await run.publish(6)
    expect(await second.next()).toBe(6)
    expect(await first.next()).toBe(6)
    await run.write(6)
    await run.end()
    const third = follow(api(), run.runId, run.workspace.token)
    expect([await third.next(), await third.next()]).toEqual([6, undefined])
    expect(await first.next()).toBe(6)
    expect(await first.next()).toBeUndefined()
    await second.leave()
    await api().bus.whenListeners(0)
  })

  it('share with nobody of another workspace or with other rights', async () => {
    const run = await startRun(api())
    const { workspaceId, token } = run.workspace
    const mine = follow(api(), run.runId, token)
    await mine.next()
    const stranger = await api().makeWorkspace()
    await expect(follow(api(), run.runId, stranger.token).next()).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    const viewer = await makeToken(api().database, workspaceId, { role: 'viewer' })
    const theirs = follow(api(), run.runId, viewer.token)
    expect(await theirs.next()).toBe(0)
    expect(api().bus.countListeners()).toBe(2 * ONE_SUBSCRIPTION)
    await mine.leave()
    await theirs.leave()
    await api().bus.whenListeners(0)
  })

  it('of all runs of a workspace begin with the newest state of each', async () => {
    const one = await startRun(api())
    const two = await startRun(api(), one.workspace)
    const watch = () => one.workspace.client.subscribe(WorkspaceRunsSubscription, {})
    const read = async (stream: ReturnType<typeof watch>) => {
      const { value } = await stream.next()
      const event = value?.workspaceRuns
      return event?.__typename === 'RunUpdate'
        ? [event.progress.runId, event.progress.counters.written]
        : event?.__typename
    }
    const first = watch()
    expect([await read(first), await read(first), await read(first)]).toEqual([
      ...[[one.runId, 0], [two.runId, 0], 'RunsKeepAlive'],
    ])
    await one.publishToWorkspace(3)
    expect(await read(first)).toEqual([one.runId, 3])
    const second = watch()
    expect([await read(second), await read(second), await read(second)]).toEqual([
      ...[[two.runId, 0], [one.runId, 3], 'RunsKeepAlive'],
    ])
    await two.end()
    const third = watch()
    expect([await read(third), await read(third)]).toEqual([[one.runId, 3], 'RunsKeepAlive'])
    expect(await read(first)).toEqual([two.runId, 0])
    expect(await read(second)).toEqual([two.runId, 0])
    await Promise.all([first, second, third].map((stream) => stream.return?.()))
    await api().bus.whenListeners(0)
  })
})

describe('a client that reads nothing', () => {
  const api = useApi({ limits: { maxAliases: 1_000 } })

  it('is told the newest state when it reads again, and holds up nobody', async () => {
    const run = await startRun(api())
    const { token } = run.workspace
    const slow = openRaw(api(), token, run.runId)
    await slow.whenOpen
    slow.socket.pause()
    const quick = follow(api(), run.runId, token)
    await quick.next()
    const last = 800
    for (let n = 1; n <= last; n += 1) {
      await run.publish(n)
      expect(await quick.next()).toBe(n)
    }
    await run.publish(last + 1, 'succeeded')
    expect([await quick.next(), await quick.next()]).toEqual([last + 1, undefined])
    slow.socket.resume()
    const text = await slow.whenClosed
    const told = [...text.matchAll(/"written":(\d+)/g)].map(([, n]) => Number(n))
    expect(told.at(-1)).toBe(last + 1)
    expect(told.length).toBeLessThan(last)
    expect(told).toEqual([...told].sort((a, b) => a - b))
    expect(text).toMatch(/event: complete\ndata:\n\n\s*0?\s*$/)
  })
})

/** So many aliases that an event is long, and what the system buffers is soon full. */
const LONG_DOCUMENT = `subscription Long($runId: ID!) {
  runProgress(runId: $runId) {
    ... on RunProgress {
      counters { written }
      ${Array.from({ length: 400 }, (_, n) => `copy${n}: runId`).join('\n')}
    }
  }
}`

/** The bytes of a stream, as they come. */
function openRaw(api: TestApi, token: string, runId: string) {
  const { hostname, port } = new URL(api.address)
  const socket: Socket = connect(Number(port), hostname).setEncoding('utf8')
  const body = JSON.stringify({ query: LONG_DOCUMENT, variables: { runId } })
  socket.write(
    [
      ...['POST /graphql HTTP/1.1', `host: ${hostname}`, `authorization: Bearer ${token}`],
      ...['accept: text/event-stream', 'content-type: application/json', 'connection: close'],
      ...[`content-length: ${Buffer.byteLength(body)}`, '', body],
    ].join('\r\n'),
  )
  let text = ''
  const whenOpen = new Promise<void>((resolve) => {
    socket.on('data', (chunk: string) => {
      text += chunk
      if (text.includes('"written":0')) {
        resolve()
      }
    })
  })
  const whenClosed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)))
  return { socket, whenOpen, whenClosed }
}

describe('the token of one of those who share', () => {
  const api = useApi({ settings: { keepAliveMs: 50 } })

  it('ends its streams when it is revoked, and nobody else notices', async () => {
    const run = await startRun(api())
    const { workspaceId, token } = run.workspace
    const leaked = await makeToken(api().database, workspaceId)
    const [theirs, mine] = [leaked.token, token].map((by) => follow(api(), run.runId, by))
    await Promise.all([theirs?.next(), mine?.next()])
    expect(api().bus.countListeners()).toBe(ONE_SUBSCRIPTION)
    await revokeToken(api().database, workspaceId, leaked.tokenId)
    const drain = async () => {
      while ((await theirs?.next()) === 'KeepAlive') {
        // They come until somebody has looked.
      }
    }
    await expect(drain()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await run.publish(9)
    let told = await mine?.next()
    while (told === 'KeepAlive') {
      told = await mine?.next()
    }
    expect(told).toBe(9)
    await mine?.leave()
    await api().bus.whenListeners(0)
  })
})

describe('an event', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  it('is read once, however many clients it is for', async () => {
    const reads = countReads(database())
    const api = await openApi(reads.counted)
    try {
      const run = await startRun(api)
      const clients = Array.from({ length: 20 }, () => follow(api, run.runId, run.workspace.token))
      await Promise.all(clients.map((client) => client.next()))
      const before = reads.count()
      await run.write(5)
      api.bus.recover()
      expect(new Set(await Promise.all(clients.map((client) => client.next())))).toEqual(
        new Set([5]),
      )
      expect(reads.count() - before).toBe(1)
      await Promise.all(clients.map((client) => client.leave()))
    } finally {
      await api.stop()
    }
  })
})

/** The database, and how often it was asked where a run stands. */
function countReads(database: Database): { readonly counted: Database; count(): number } {
  let reads = 0
  const rows: Database['rows'] = (statement) => {
    reads += nameOf(statement) === 'history.findProgress' ? 1 : 0
    return database.rows(statement)
  }
  return { counted: { ...database, rows }, count: () => reads }
}
