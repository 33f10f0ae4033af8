/** Retrying many runs by one request: each is answered by itself. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../src/client/api-client.ts'
import { RetryRunsMutation } from '../../src/client/steering-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import { holdOpen } from '../support/held-open.ts'
import { runSteps } from '../support/run-steps.ts'
import {
  type MadeSync,
  makeDraft,
  makePublishedSync,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()
const { makeActive, putRun, pauseSync, getRun } = runSteps(api)

async function retryRuns({ client }: Workspace, runIds: readonly string[], clientKey?: string) {
  const input = { runIds: [...runIds], ...(clientKey === undefined ? {} : { clientKey }) }
  return (await client.request(RetryRunsMutation, { input })).retryRuns
}

/** As a script does it: what it is told to send again, it sends again. */
async function retryPatiently(workspace: Workspace, runIds: readonly string[]): Promise<Answer> {
  for (;;) {
    try {
      return await retryRuns(workspace, runIds)
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'BUSY')) {
        throw error
      }
    }
  }
}

type Answer = Awaited<ReturnType<typeof retryRuns>>

/** Throws where the request was refused as a whole. */
function itemsOf(answer: Answer) {
  if (answer.__typename !== 'RetriedRuns') {
    throw new Error(answer.message)
  }
  return answer.items
}

const putFailed = (workspace: Workspace, sync: MadeSync) =>
  putRun(workspace, sync, { status: 'failed' })

/** An active sync with a failed run. */
async function makeFailed(workspace: Workspace) {
  const sync = await makePublishedSync(api(), workspace)
  return { sync, runId: await putFailed(workspace, sync) }
}

/** How many runs retry one of these. */
async function countRetries({ workspaceId }: Workspace): Promise<number> {
  const [row] = await api().database.rows<{ n: number }>(sql`
    select count(*)::int as n from run where workspace_id = ${workspaceId} and retry_of is not null`)
  return row?.n ?? 0
}

describe('retrying many runs', () => {
  it('starts those that can be retried, and says of each other one why not', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putFailed(workspace, sync)
    const partial = await putRun(workspace, await makePublishedSync(api(), workspace), {
      ...{ status: 'partial', rejected: 1 },
    })
    const succeeded = await putRun(workspace, await makePublishedSync(api(), workspace), {
      status: 'succeeded',
    })
    const paused = await makeFailed(workspace)
    await pauseSync(workspace, paused.sync)
    const draft = await putFailed(workspace, await makeDraft(api(), workspace))
    const unknown = encodeGlobalId('Run', api().parts.ids.next())
    const elsewhere = await makeFailed(await api().makeWorkspace())

    const answer = await retryRuns(workspace, [
      ...[unknown, succeeded, failed, elsewhere.runId, paused.runId, failed, draft, partial],
    ])
    expect(answer).toMatchObject({ __typename: 'RetriedRuns', done: 'STARTED', started: 2 })
    const notFound = { __typename: 'NotFound', field: 'runIds' }
    expect(itemsOf(answer)).toMatchObject([
      { runId: unknown, outcome: notFound },
      { runId: succeeded, outcome: { __typename: 'NothingToRetry', latestRetryId: null } },
      { runId: failed, outcome: { __typename: 'StartedRun', run: { status: 'QUEUED' } } },
      { runId: elsewhere.runId, outcome: notFound },
      { runId: paused.runId, outcome: { __typename: 'SyncPaused' } },
      { runId: draft, outcome: { __typename: 'NotPublished' } },
      { runId: partial, outcome: { __typename: 'StartedRun', run: { status: 'QUEUED' } } },
    ])
    const started = itemsOf(answer).flatMap(({ runId, outcome }) =>
      outcome.__typename === 'StartedRun' ? [{ runId, by: outcome.run.id }] : [],
    )
    for (const { runId, by } of started) {
      expect(await getRun(workspace, by)).toMatchObject({ retryOf: { id: runId }, cause: 'RETRY' })
    }
  })

  it('of one sync starts one run, for the one that is named first', async () => {
    const { workspace, sync } = await makeActive()
    const older = await putFailed(workspace, sync)
    const newer = await putFailed(workspace, sync)
    const items = itemsOf(await retryRuns(workspace, [newer, older]))
    const [first] = items
    const started = first?.outcome.__typename === 'StartedRun' ? first.outcome.run.id : ''
    expect(items).toMatchObject([
      { runId: newer, outcome: { __typename: 'StartedRun' } },
      { runId: older, outcome: { __typename: 'AlreadyRunning', runId: started } },
    ])
  })

  it('starts none where none can be retried, and says so', async () => {
    const { workspace, sync } = await makeActive()
    const succeeded = await putRun(workspace, sync, { status: 'succeeded' })
    expect(await retryRuns(workspace, [succeeded])).toMatchObject({ done: 'NOOP', started: 0 })
    expect(await countRetries(workspace)).toBe(0)
  })

  it('by twenty callers at once, in any order, starts one run for each', async () => {
    const workspace = await api().makeWorkspace()
    const failed = [await makeFailed(workspace), await makeFailed(workspace)]
    failed.push(await makeFailed(workspace))
    const runIds = failed.map(({ runId }) => runId)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        retryPatiently(workspace, n % 2 === 0 ? runIds : [...runIds].reverse()),
      ),
    )
    expect(await countRetries(workspace)).toBe(runIds.length)
    for (const runId of runIds) {
      const told = answers.flatMap(itemsOf).filter((item) => item.runId === runId)
      const ids = told.map(({ outcome }) => {
        if (outcome.__typename === 'StartedRun') {
          return outcome.run.id
        }
        return outcome.__typename === 'AlreadyRunning' ? outcome.runId : outcome.message
      })
      expect(new Set(ids).size).toBe(1)
    }
  })

  it('with a client key is answered alike the second time, also of what was refused', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putFailed(workspace, sync)
    const paused = await makeFailed(workspace)
    await pauseSync(workspace, paused.sync)
    const draft = await putFailed(workspace, await makeDraft(api(), workspace))
    const succeeded = await putRun(workspace, await makePublishedSync(api(), workspace), {
      status: 'succeeded',
    })
    const unknown = encodeGlobalId('Run', api().parts.ids.next())
    const runIds = [
      failed,
      paused.runId,
      draft,
      succeeded,
      unknown,
      await putFailed(workspace, sync),
    ]
    const first = await retryRuns(workspace, runIds, 'all')
    expect(itemsOf(first).map(({ outcome }) => outcome.__typename)).toEqual([
      'StartedRun',
      'SyncPaused',
      'NotPublished',
      'NothingToRetry',
      'NotFound',
      'AlreadyRunning',
    ])
    expect(await retryRuns(workspace, runIds, 'all')).toEqual(first)
    expect(await countRetries(workspace)).toBe(1)
  })

  it('that others hold for too long is answered BUSY, and nothing is retried', async () => {
    const workspace = await api().makeWorkspace()
    const [free, held] = [await makeFailed(workspace), await makeFailed(workspace)]
    const holder = await holdOpen(api().database, (tx) =>
      tx.rows(sql`select 1 from sync where id = ${held.sync.uuid} for no key update`),
    )
    await expect(retryRuns(workspace, [free.runId, held.runId], 'key')).rejects.toMatchObject({
      code: 'BUSY',
      message:
        'Others are changing the same at this moment, so nothing was done: send the request again.',
    })
    await holder.release()
    expect(await countRetries(workspace)).toBe(0)
    expect(await retryRuns(workspace, [free.runId, held.runId], 'key')).toMatchObject({
      started: 2,
    })
  })

  it.each([
    ['no run', 0],
    ['201 runs', 201],
  ])('of %s is refused, and nothing is retried', async (_, count) => {
    const { workspace, sync } = await makeActive()
    const failed = await putFailed(workspace, sync)
    const runIds = Array.from({ length: count }, () => failed)
    expect(await retryRuns(workspace, runIds)).toMatchObject({
      __typename: 'InvalidInput',
      problems: [
        { field: 'runIds', reason: `It must name 1 to 200 runs, and ${count} were given.` },
      ],
    })
    expect(await countRetries(workspace)).toBe(0)
  })

  it('names the id that is none by its place', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putFailed(workspace, sync)
    expect(await retryRuns(workspace, [failed, sync.syncId])).toMatchObject({
      __typename: 'InvalidInput',
      problems: [{ field: 'runIds.1' }],
    })
    expect(await countRetries(workspace)).toBe(0)
  })
})
