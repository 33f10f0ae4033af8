/**
 * Streams and what they cannot hear: Redis that is gone for a while, and a run that ends just before somebody
 * watches it. No keep-alive comes in time to help: the gap itself must be noticed.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import {
  SyncRunsSubscription,
  WorkspaceRunsSubscription,
} from '../../src/client/stream-documents.ts'
import { runChannel } from '../../src/coordination/bus.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { progressToMessage } from '../../src/domain/progress.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openSocket, post, subscribeOverSocket } from '../support/api-client.ts'
import { openApi, type TestApi, useApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun } from '../support/factories.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS } from '../support/redis.ts'
import { startRedis, type TestService } from '../support/services.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

describe.runIf(HAS_REDIS)('Redis that is gone for a while', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let server: TestService
  let redis: RedisCoordination
  let api: TestApi

  beforeAll(async () => {
    server = await startRedis({ isOwn: true })
    const logger = createRecordingLogger()
    redis = await connectRedis({ url: server.url, logger, clock: systemClock })
    api = await openApi(database(), { bus: redis.bus })
  })
  afterAll(async () => {
    await api.stop()
    await redis.close()
    await server.stop()
  })

  it('leaves every open stream with full state and the end', async () => {
    const workspace = await api.makeWorkspace()
    const { workspaceId, token, client } = workspace
    const sync = await makePublishedSync(api, workspace)
    const made = { workspaceId, syncId: sync.uuid, status: 'running' } as const
    const id = await makeRun(database(), made)
    const runId = encodeGlobalId('Run', id)
    const socket = openSocket(api.address, `Bearer ${token}`)
    const { syncId } = sync
    const ofRun = [
      client.subscribe(RunProgressSubscription, { runId }),
      subscribeOverSocket(socket, RunProgressSubscription, { runId }),
    ]
    const ofSync = [
      client.subscribe(SyncRunsSubscription, { syncId }),
      subscribeOverSocket(socket, SyncRunsSubscription, { syncId }),
    ]
    const ofWorkspace = [
      client.subscribe(WorkspaceRunsSubscription, {}),
      subscribeOverSocket(socket, WorkspaceRunsSubscription, {}),
    ]
    const streams = [
      ...ofRun.map((stream) => toldBy(stream, ({ runProgress }) => runProgress)),
      ...ofSync.map((stream) => toldBy(stream, ({ syncRuns }) => syncRuns)),
      ...ofWorkspace.map((stream) => toldBy(stream, ({ workspaceRuns }) => workspaceRuns)),
    ]
    await Promise.all(streams.map((stream) => stream.until(`${runId} RUNNING 0`)))

    await server.kill('SIGKILL')
    await database().rows(sql`
      update run
      set status = 'partial', finished_at = now(), event_n = 7, "read" = 5, written = 4, rejected = 1
      where id = ${id}`)
    const brief = encodeGlobalId('Run', await makeRun(database(), { ...made, status: 'failed' }))
    const next = encodeGlobalId('Run', await makeRun(database(), { ...made, status: 'queued' }))
    await api.bus.publish(runChannel(id), {}) // nobody hears it, and nobody fails by it
    await server.restart()

    const [one, two, ...others] = streams
    for (const stream of [one, two]) {
      await stream?.until(`${runId} PARTIAL 4`)
      expect(await stream?.rest()).toEqual([])
    }
    for (const stream of others) {
      const told = await stream.until(`${next} QUEUED 0`)
      expect(told).toEqual(expect.arrayContaining([`${runId} PARTIAL 4`, `${brief} FAILED 0`]))
      await stream.leave()
    }
    await socket.dispose()
    await api.bus.whenListeners(0)
  })
})

interface Shown {
  readonly runId: string
  readonly status: string
  readonly counters: { readonly written: number }
}
type Event = { readonly __typename: string } & (Shown | { readonly progress: Shown } | object)

/** What a stream tells of runs, as one line each: its id, status and written records. */
function toldBy<Result>(results: AsyncIterator<Result>, pick: (result: Result) => Event) {
  const next = async (): Promise<string | null> => {
    for (;;) {
      const { value, done } = await results.next()
      if (done) {
        return null
      }
      const event = pick(value)
      const shown = 'progress' in event ? event.progress : event
      if ('runId' in shown) {
        return `${shown.runId} ${shown.status} ${shown.counters.written}`
      }
    }
  }
  return {
    until: async (wanted: string): Promise<readonly string[]> => {
      const told: (string | null)[] = []
      while (told.at(-1) !== wanted) {
        told.push(await next())
        if (told.at(-1) === null) {
          throw new Error(`The stream ended without "${wanted}": ${told.join(', ')}`)
        }
      }
      return told.map(String)
    },
    rest: async (): Promise<readonly string[]> => {
      const told: string[] = []
      for (let line = await next(); line !== null; line = await next()) {
        told.push(line)
      }
      return told
    },
    leave: async () => {
      await results.return?.()
    },
  }
}

/** `npm run test:exhaustive` has all of them. */
const TIMES = inject('isExhaustive') ? 1_000 : 300
/** Each with a sync of its own, of which one run is in flight at a time. */
const LANES = 10

describe('a run that ends between the query and the subscription', () => {
  const api = useApi()

  it(`shows its end each of ${TIMES} times`, { timeout: 120_000 }, async () => {
    const workspace = await api().makeWorkspace()
    const ends: string[] = []
    const follow = async (runId: string) => {
      for await (const { runProgress } of workspace.client.subscribe(RunProgressSubscription, {
        runId,
      })) {
        if (runProgress.__typename === 'RunProgress' && runProgress.isTerminal) {
          ends.push(runId)
        }
      }
    }
    const runInLane = async () => {
      const { uuid: syncId } = await makePublishedSync(api(), workspace)
      for (let n = 0; n < TIMES / LANES; n += 1) {
        const run = await startRun(api(), { workspaceId: workspace.workspaceId, syncId })
        expect(await readStatus(api(), workspace.token, run.runId)).toBe('RUNNING')
        if (n % 2 === 0) {
          await run.end()
          await follow(run.runId)
        } else {
          await Promise.all([follow(run.runId), run.end()])
        }
      }
    }
    await Promise.all(Array.from({ length: LANES }, runInLane))
    expect(ends).toHaveLength(TIMES)
    expect(new Set(ends).size).toBe(TIMES)
    await api().bus.whenListeners(0)
  })
})

async function startRun(
  api: TestApi,
  { workspaceId, syncId }: { readonly workspaceId: string; readonly syncId: string },
) {
  const id = await makeRun(api.database, { workspaceId, syncId, status: 'running' })
  return {
    runId: encodeGlobalId('Run', id),
    /** As its attempt does: first in the database, then on the bus, and never again. */
    end: async () => {
      await api.database.rows(sql`
        update run set status = 'succeeded', finished_at = now(), event_n = 1 where id = ${id}`)
      const message = progressToMessage({
        ...{ runId: id, syncId, workspaceId, status: 'succeeded', counters: NO_COUNTS },
        ...{ sequence: { epoch: 1, n: 1 }, totalRecords: null, failureCode: null },
      })
      await api.bus.publish(runChannel(id), message)
    },
  }
}

async function readStatus(api: TestApi, token: string, runId: string): Promise<unknown> {
  const query = 'query ($id: ID!) { node(id: $id) { ... on Run { status } } }'
  const options = { authorization: `Bearer ${token}`, variables: { id: runId } }
  const { body } = await post(api.address, query, options)
  const { node } = body.data as { readonly node: { readonly status: string } | null }
  return node?.status
}
