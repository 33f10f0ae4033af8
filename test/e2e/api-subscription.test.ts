import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import type { RunProgressSubscription as RunProgressResult } from '../../src/client/gql/graphql.ts'
import { runChannel } from '../../src/coordination/bus.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { progressToMessage, type RunProgress } from '../../src/domain/progress.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { openApi, type TestApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun } from '../support/factories.ts'
import { makePublishedSync, type Workspace } from '../support/sync-steps.ts'

type ProgressEvent = RunProgressResult['runProgress']

interface WatchedRun {
  readonly workspace: Workspace
  readonly runId: string
  /** Publishes progress as the engine does. */
  publish(given: Partial<RunProgress>): Promise<void>
  /** As if its last progress had been reported so long ago. */
  fallSilent(forMs: number): Promise<void>
  /** Ends the run in the database, without a word on the bus. */
  endSilently(): Promise<void>
}

async function watchRun(api: TestApi): Promise<WatchedRun> {
  const workspace = await api.makeWorkspace()
  const { workspaceId } = workspace
  const { uuid: syncId } = await makePublishedSync(api, workspace)
  const id = await makeRun(api.database, { workspaceId, syncId, status: 'running', written: 10 })
  const progress = {
    runId: id,
    syncId,
    workspaceId,
    status: 'running' as const,
    sequence: { epoch: 1, n: 0 },
    counters: NO_COUNTS,
    totalRecords: 100,
    failureCode: null,
  }
  return {
    workspace,
    runId: encodeGlobalId('Run', id),
    publish: (given) =>
      api.bus.publish(runChannel(id), progressToMessage({ ...progress, ...given })),
    fallSilent: async (forMs) => {
      await api.database.rows(sql`
        update run
        set progress_at = now() - ${forMs}::float8 * interval '1 millisecond'
        where id = ${id}`)
    },
    endSilently: async () => {
      await api.database.rows(sql`
        update run
        set status = 'succeeded', finished_at = now(), event_n = 9
        where id = ${id}`)
    },
  }
}

function written(count: number) {
  return { ...NO_COUNTS, read: count, written: count }
}

/** What of an event the tests look at. */
function told(event: ProgressEvent | undefined): unknown {
  return event?.__typename === 'RunProgress'
    ? [event.status, event.counters.written]
    : event?.__typename
}

interface EventStream {
  next(): Promise<ProgressEvent | undefined>
  rest(): Promise<ProgressEvent[]>
  leave(): Promise<void>
}

function toStream(
  results: AsyncIterator<RunProgressResult, unknown, undefined>,
  close: () => unknown = () => undefined,
): EventStream {
  const next = async () => {
    const result = await results.next()
    return result.done ? undefined : result.value.runProgress
  }
  return {
    next,
    rest: async () => {
      const events: ProgressEvent[] = []
      for (let event = await next(); event; event = await next()) {
        events.push(event)
      }
      return events
    },
    leave: async () => {
      await results.return?.()
      await close()
    },
  }
}

const TRANSPORTS = {
  'server-sent events': (_: TestApi, { workspace, runId }: WatchedRun) =>
    toStream(workspace.client.subscribe(RunProgressSubscription, { runId })),
  'a WebSocket': (api: TestApi, { workspace, runId }: WatchedRun) => {
    const socket = openSocket(api.address, `Bearer ${workspace.token}`)
    const results = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    return toStream(results, () => socket.dispose())
  },
}

describe.each(Object.entries(TRANSPORTS))('a run that is followed over %s', (_, follow) => {
  const api = useApi()

  it('tells where it stands, what changes, and once that it ended', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    expect(told(await stream.next())).toEqual(['RUNNING', 10])
    await run.publish({ sequence: { epoch: 1, n: 1 }, counters: written(20) })
    expect(told(await stream.next())).toEqual(['RUNNING', 20])
    await run.publish({ sequence: { epoch: 1, n: 2 }, status: 'succeeded', counters: written(30) })
    await run.publish({ sequence: { epoch: 1, n: 3 }, status: 'succeeded', counters: written(30) })
    expect((await stream.rest()).map(told)).toEqual([['SUCCEEDED', 30]])
    await api().bus.whenListeners(0)
  })

  it('drops what is late, doubled, of another run or no progress at all', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    await stream.next()
    await run.publish({ sequence: { epoch: 2, n: 0 }, counters: written(50) })
    expect(told(await stream.next())).toEqual(['RUNNING', 50])
    await run.publish({ sequence: { epoch: 1, n: 9 }, counters: written(40) })
    await run.publish({ sequence: { epoch: 2, n: 0 }, counters: written(45) })
    await run.publish({ runId: api().parts.ids.next(), sequence: { epoch: 9, n: 9 } })
    await api().bus.publish(runChannel(run.runId.slice('run_'.length)), { hello: 'world' })
    await run.publish({ sequence: { epoch: 2, n: 1 }, counters: written(60) })
    expect(told(await stream.next())).toEqual(['RUNNING', 60])
    await stream.leave()
    await api().bus.whenListeners(0)
  })

  it('of which messages were lost reads the database after the gap', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    await stream.next()
    api().bus.loseMessages()
    await run.endSilently()
    await run.publish({ sequence: { epoch: 1, n: 9 }, status: 'succeeded' })
    api().bus.recover()
    expect((await stream.rest()).map(told)).toEqual([['SUCCEEDED', 10]])
  })

  it('that has ended says so and completes at once', async () => {
    const run = await watchRun(api())
    await run.endSilently()
    expect((await follow(api(), run).rest()).map(told)).toEqual([['SUCCEEDED', 10]])
  })

  it('is forgotten when its watchers leave, however often', async () => {
    const run = await watchRun(api())
    for (let cycle = 0; cycle < 20; cycle += 1) {
      const streams = [follow(api(), run), follow(api(), run)]
      await Promise.all(streams.map((stream) => stream.next()))
      expect(api().bus.countListeners()).toBeGreaterThanOrEqual(2)
      await Promise.all(streams.map((stream) => stream.leave()))
      await api().bus.whenListeners(0)
    }
  })
})

describe.each(Object.entries(TRANSPORTS))('a quiet run over %s', (_, follow) => {
  const api = useApi({ settings: { keepAliveMs: 30 } })

  it('sends keep-alives', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    const events = [await stream.next(), await stream.next(), await stream.next()]
    expect(events.map(told)).toEqual([['RUNNING', 10], 'KeepAlive', 'KeepAlive'])
    await stream.leave()
    await api().bus.whenListeners(0)
  })

  it('says so when nothing has been reported for 2 minutes, until something is', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    const nextNote = async () => {
      const event = await stream.next()
      return event?.__typename === 'RunProgress' ? event.progressNote : event?.__typename
    }
    expect(await nextNote()).toBeNull()
    expect(await nextNote()).toBe('KeepAlive')
    await run.fallSilent(119_000)
    expect(await nextNote()).toBe('KeepAlive')
    await run.fallSilent(121_000)
    const notes = [await nextNote(), await nextNote()]
    expect(notes).toContain('Waiting for a fresh progress update')
    const late = follow(api(), run)
    expect(await late.next()).toMatchObject({ progressNote: 'Waiting for a fresh progress update' })
    await late.leave()
    await run.fallSilent(0)
    await run.publish({ sequence: { epoch: 1, n: 1 }, counters: written(20) })
    let event = await stream.next()
    while (event?.__typename === 'KeepAlive') {
      event = await stream.next()
    }
    expect(event).toMatchObject({ progressNote: null, counters: { written: 20 } })
    await stream.leave()
  })

  it('whose last message was lost is noticed to have ended', async () => {
    const run = await watchRun(api())
    const stream = follow(api(), run)
    await stream.next()
    await run.endSilently()
    const events = (await stream.rest()).map(told)
    expect(events.at(-1)).toEqual(['SUCCEEDED', 10])
    expect(events.slice(0, -1)).toEqual(Array(events.length - 1).fill('KeepAlive'))
  })
})

describe('the server that stops', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  it('ends open streams and sockets and answers nobody any more', async () => {
    const api = await openApi(database())
    const run = await watchRun(api)
    const streams = Object.values(TRANSPORTS).map((follow) => follow(api, run))
    await Promise.all(streams.map((stream) => stream.next()))
    const ended = Promise.allSettled(streams.map((stream) => stream.next()))
    await api.stop()
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(api.bus.countListeners()).toBe(0)
    await expect(fetch(`${api.address}/health`)).rejects.toThrow()
  })
})
