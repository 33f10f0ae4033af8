/** The runs of a sync and of a workspace as they are watched, over both transports. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { RunProgressSubscription, RunSyncMutation } from '../../src/client/documents.ts'
import type { TypedDocumentString, UpdateFragment } from '../../src/client/gql/graphql.ts'
import { CancelRunMutation } from '../../src/client/steering-documents.ts'
import {
  SyncRunsSubscription,
  WorkspaceRunsSubscription,
} from '../../src/client/stream-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { type TestApi, useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import { type MadeSync, makePublishedSync, type Workspace } from '../support/sync-steps.ts'

type Open = <Result extends Record<string, unknown>, Variables extends Record<string, unknown>>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
) => AsyncIterableIterator<Result>

const TRANSPORTS: Readonly<Record<string, (api: TestApi, workspace: Workspace) => Open>> = {
  'server-sent events':
    (_, { client }) =>
    (document, variables) =>
      client.subscribe(document, variables),
  'a WebSocket':
    (api, { token }) =>
    (document, variables) =>
      overSocket(api, token, (socket) => subscribeOverSocket(socket, document, variables)),
}

async function* overSocket<Result>(
  api: TestApi,
  token: string,
  open: (socket: ReturnType<typeof openSocket>) => AsyncIterable<Result>,
) {
  const socket = openSocket(api.address, `Bearer ${token}`)
  try {
    yield* open(socket)
  } finally {
    await socket.dispose()
  }
}

/** The events of a stream, as a test reads them: `QUEUED`, `keep-alive`. */
interface Watched {
  next(): Promise<string>
  /** The next one that is no keep-alive. */
  change(): Promise<string>
  /** Of the last event. */
  sequence(): string
  leave(): Promise<void>
}

type Event = UpdateFragment & { readonly __typename: 'RunUpdate' | 'RunsKeepAlive' }

function watched(events: AsyncIterableIterator<Event>): Watched {
  let sequence = ''
  const next = async () => {
    const { value, done } = await events.next()
    if (done) {
      throw new Error('The stream has ended.')
    }
    sequence = value.sequence
    return 'progress' in value ? `${value.run.id} ${value.progress.status}` : 'keep-alive'
  }
  return {
    next,
    change: async () => {
      let told = await next()
      while (told === 'keep-alive') {
        told = await next()
      }
      return told
    },
    sequence: () => sequence,
    leave: async () => {
      await events.return?.()
    },
  }
}

async function* only<Result, Key extends keyof Result>(
  events: AsyncIterable<Result>,
  field: Key,
): AsyncGenerator<Result[Key], void, undefined> {
  for await (const result of events) {
    yield result[field]
  }
}

const ofSync = (open: Open, { syncId }: MadeSync, after?: string) =>
  watched(only(open(SyncRunsSubscription, { syncId, after }), 'syncRuns'))
const ofWorkspace = (open: Open, after?: string) =>
  watched(only(open(WorkspaceRunsSubscription, { after }), 'workspaceRuns'))

/** As the engine would, without a word on the bus. */
async function endSilently(api: TestApi, runId: string, status = 'succeeded') {
  await api.database.rows(sql`
    update run
    set status = ${status}, finished_at = now(), event_n = event_n + 1
    where id = ${runId.slice('run_'.length)}`)
}

async function startRun({ client }: Workspace, { syncId }: MadeSync) {
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  if (runSync.__typename !== 'StartedRun') {
    throw new Error(runSync.__typename)
  }
  return runSync.run.id
}

describe.each(Object.entries(TRANSPORTS))('runs that are watched over %s', (_, transport) => {
  const api = useApi({ settings: { keepAliveMs: 400 } })

  async function enter() {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    return { workspace, sync, open: transport(api(), workspace) }
  }

  it('are told when they are in flight, when they come, and when they end', async () => {
    const { workspace, sync, open } = await enter()
    const other = await makePublishedSync(api(), workspace)
    const inFlight = await startRun(workspace, other)
    const streams = { sync: ofSync(open, sync), workspace: ofWorkspace(open) }
    expect(await streams.sync.next()).toBe('keep-alive')
    expect(await streams.workspace.next()).toBe(`${inFlight} QUEUED`)
    expect(await streams.workspace.next()).toBe('keep-alive')
    const runId = await startRun(workspace, sync)
    expect(await streams.sync.change()).toBe(`${runId} QUEUED`)
    expect(await streams.workspace.change()).toBe(`${runId} QUEUED`)
    await workspace.client.request(CancelRunMutation, { runId, reason: 'A mistake.' })
    expect(await streams.sync.change()).toBe(`${runId} CANCELED`)
    expect(await streams.workspace.change()).toBe(`${runId} CANCELED`)
    await streams.sync.leave()
    await streams.workspace.leave()
    await api().bus.whenListeners(0)
  })

  it('are told also when nobody heard a hint: after a gap, and with the next keep-alive', async () => {
    const { workspace, sync, open } = await enter()
    const stream = ofSync(open, sync)
    await stream.next()
    api().bus.loseMessages()
    const lost = await startRun(workspace, sync)
    await endSilently(api(), lost)
    api().bus.recover()
    expect(await stream.change()).toBe(`${lost} SUCCEEDED`)
    const { workspaceId } = workspace
    const made = { workspaceId, syncId: sync.uuid, status: 'failed' } as const
    const silent = encodeGlobalId('Run', await makeRun(api().database, made))
    expect(await stream.change()).toBe(`${silent} FAILED`)
    await stream.leave()
  })

  it('that have ended in between are told to who comes back with the sequence', async () => {
    const { workspace, sync, open } = await enter()
    const runId = await startRun(workspace, sync)
    const first = ofWorkspace(open)
    expect([await first.next(), await first.next()]).toEqual([`${runId} QUEUED`, 'keep-alive'])
    await first.leave()
    await endSilently(api(), runId, 'partial')
    const next = await startRun(workspace, sync)
    const fresh = ofWorkspace(open)
    expect([await fresh.next(), await fresh.next()]).toEqual([`${next} QUEUED`, 'keep-alive'])
    await fresh.leave()
    for (const resumed of [
      ofWorkspace(open, first.sequence()),
      ofSync(open, sync, first.sequence()),
    ]) {
      expect([await resumed.next(), await resumed.next(), await resumed.next()]).toEqual([
        ...[`${runId} PARTIAL`, `${next} QUEUED`, 'keep-alive'],
      ])
      await resumed.leave()
    }
  })

  it('are those of the own workspace, and refused with what is wrong', async () => {
    const [mine, theirs] = [await enter(), await enter()]
    const stream = ofWorkspace(mine.open)
    await stream.next()
    await startRun(theirs.workspace, theirs.sync)
    const own = await startRun(mine.workspace, mine.sync)
    expect(await stream.change()).toBe(`${own} QUEUED`)
    await stream.leave()
    const refused = (given: Watched) =>
      given.next().then(
        () => 'served',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
    expect(await refused(ofSync(mine.open, theirs.sync))).toBe(
      'There is no sync with the id that is given in syncId.',
    )
    expect(await refused(ofWorkspace(mine.open, 'yesterday'))).toMatch(/^after: .* such as 48213/)
    expect(await refused(ofSync(mine.open, { ...mine.sync, syncId: 'x' }))).toMatch(/^syncId: /)
  })
})

describe.each(Object.entries(TRANSPORTS))('a run that is gone on with over %s', (_, transport) => {
  const api = useApi({ settings: { keepAliveMs: 200 } })

  it('tells nothing that is not newer, but its end always', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const runId = await startRun(workspace, sync)
    const open = transport(api(), workspace)
    const follow = (after?: string) =>
      only(open(RunProgressSubscription, { runId, after }), 'runProgress')
    const told = async (events: AsyncIterator<{ __typename: string; sequence?: string }>) => {
      const { value } = await events.next()
      return value?.sequence ?? value?.__typename
    }
    const first = follow()
    expect(await told(first)).toBe('0.0')
    await first.return?.()
    const resumed = follow('0.0')
    expect(await told(resumed)).toBe('KeepAlive')
    await resumed.return?.()
    await endSilently(api(), runId)
    for (const after of ['0.0', '0.1', '9.9']) {
      const last = follow(after)
      expect([await told(last), await told(last)]).toEqual(['0.1', undefined])
    }
    await expect(follow('1').next()).rejects.toThrow(/^after: .* such as 3.17/)
  })
})
