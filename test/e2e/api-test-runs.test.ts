/** Test runs through the API: who may see what came of them, and where they are not counted (I23). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { SyncQuery } from '../../src/client/documents.ts'
import { FailuresQuery, RunsQuery } from '../../src/client/list-documents.ts'
import { TestRunQuery, TestSyncMutation } from '../../src/client/test-documents.ts'
import type { RunCause } from '../../src/domain/run.ts'
import { sealedFor, tellProblem, tellRecord } from '../../src/domain/test-run.ts'
import { post } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makePerson } from '../support/publication-steps.ts'
import { runSteps } from '../support/run-steps.ts'
import {
  type MadeSync,
  makeDraft,
  makePublishedSync,
  uuidOf,
  type Workspace,
} from '../support/sync-steps.ts'
import { createWatchmen, silencesOf } from '../support/watchmen.ts'

const api = useApi()
const { putRun, retryRun, runSync } = runSteps(api)

async function test({ client }: Pick<Workspace, 'client'>, syncId: string, limit?: number) {
  const given = { syncId, ...(limit === undefined ? {} : { limit }) }
  return (await client.request(TestSyncMutation, given)).testSync
}

async function start(workspace: Workspace, syncId: string): Promise<string> {
  const started = await test(workspace, syncId)
  if (started.__typename !== 'StartedRun') {
    throw new Error(started.message)
  }
  return started.run.id
}

/** As a worker ends it. */
async function end(runId: string): Promise<void> {
  const uuid = uuidOf(runId)
  const records = [
    tellRecord(0, { email: 'ada@example.com' }, '{"email":"ada@example.com"}'),
    tellProblem(1, { field: 'email', reason: 'It has no value.' }),
  ]
  const sealed = api().parts.sealer.seal(JSON.stringify(records), sealedFor(uuid))
  await api().database.rows(sql`
    update run set status = 'succeeded', finished_at = now(), "read" = 2, skipped = 2
    where id = ${uuid}`)
  await api().database.rows(sql`
    update test_run set sealed_records = ${sealed}, records_with_problems = 1, ended_at = now()
    where run_id = ${uuid}`)
}

describe('a test run', () => {
  it('is queued for the draft as it is, also of a sync that was never published, once', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    const started = await test(workspace, syncId)
    expect(started).toMatchObject({
      status: 'STARTED',
      run: {
        ...{ status: 'QUEUED', cause: 'TEST', attemptAllowance: 1 },
        test: { limit: 10, recordsWithProblems: null, versionDigest: expect.any(String) },
      },
    })
    const runId = started.__typename === 'StartedRun' ? started.run.id : ''
    expect(await test(workspace, syncId)).toEqual({
      ...{ __typename: 'AlreadyRunning', message: 'This sync rule is already running.', runId },
    })
  })

  it.each([0, 101, -1])('of %i records is refused', async (limit) => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    expect(await test(workspace, syncId, limit)).toMatchObject({ problems: [{ field: 'limit' }] })
  })

  it('shows what came of its records to an operator, and to nobody below or elsewhere', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId } = workspace
    const { syncId } = await makeDraft(api(), workspace)
    const id = await start(workspace, syncId)
    const look = async (client: Workspace['client']) =>
      (await client.request(TestRunQuery, { id })).run
    expect(await look(workspace.client)).toMatchObject({ testRecords: null })
    await end(id)
    expect(await look(await makePerson(api(), workspaceId, 'operator'))).toMatchObject({
      test: { recordsWithProblems: 1 },
      testRecords: [
        { position: 0, record: { email: 'ada@example.com' }, isTooLarge: false, problem: null },
        { position: 1, record: null, problem: { field: 'email', reason: 'It has no value.' } },
      ],
    })
    expect(await look(await makePerson(api(), workspaceId, 'viewer'))).toMatchObject({
      ...{ test: { recordsWithProblems: 1 }, testRecords: null },
    })
    expect(await look((await api().makeWorkspace()).client)).toBeNull()
  })

  it('is told as such among the runs, and others as none', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const id = await start(workspace, sync.syncId)
    await end(id)
    await runSync(workspace, sync)
    const { runs } = await workspace.client.request(RunsQuery, {})
    expect(runs.edges.map(({ node }) => node.cause)).toEqual(['RUN_NOW', 'TEST'])
    const other = await workspace.client.request(TestRunQuery, { id: runs.edges[0]?.node.id ?? '' })
    expect(other.run).toMatchObject({ cause: 'RUN_NOW', test: null, testRecords: null })
  })
})

describe('a run that counts as none where it tested a draft, and as one otherwise (the control)', () => {
  const asked = async ({ client }: Workspace, { syncId }: MadeSync) => {
    const { sync } = await client.request(SyncQuery, { id: syncId })
    const { failures } = await client.request(FailuresQuery, {})
    return {
      lastRun: sync?.lastRun?.status ?? null,
      lastFailure: sync?.lastFailure?.code ?? null,
      health: sync?.health?.status ?? null,
      failures: failures.edges.length,
    }
  }

  /** What follows an attempt of the run that was refused. */
  async function nextOfAttempt({ token }: Workspace, runId: string) {
    await api().database.rows(sql`
      insert into attempt (run_id, number, worker_id, epoch, finished_at, outcome, failure_code)
      values (${uuidOf(runId)}, 1, ${api().parts.ids.next()}, 1, now(), 'failed',
        'connection_unauthorized')`)
    const query = `query ($id: ID!) { run(id: $id) { attempts { failure { nextMutation } } } }`
    const { body } = await post(api().address, query, {
      ...{ authorization: `Bearer ${token}`, variables: { id: runId } },
    })
    const { run } = body.data as {
      run: { attempts: readonly { failure: { nextMutation: unknown } }[] }
    }
    return run.attempts[0]?.failure.nextMutation
  }

  it.each(['test', 'run_now'] as const)('that failed: %s', async (cause: RunCause) => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const runId = await putRun(workspace, sync, { status: 'failed', cause })
    const isTest = cause === 'test'
    expect(await asked(workspace, sync)).toEqual(
      isTest
        ? { lastRun: null, lastFailure: null, health: 'OK', failures: 0 }
        : {
            ...{ lastRun: 'FAILED', lastFailure: 'PROVIDER_UNAVAILABLE' },
            ...{ health: 'FAILING', failures: 1 },
          },
    )
    const { run } = await workspace.client.request(TestRunQuery, { id: runId })
    const failure = { code: 'PROVIDER_UNAVAILABLE', nextMutation: isTest ? null : 'RETRY_RUN' }
    expect(run?.failure).toMatchObject(isTest ? failure : { code: failure.code })
    expect(await nextOfAttempt(workspace, runId)).toBe(isTest ? null : 'RECONNECT_CONNECTION')
    expect(await retryRun(workspace, runId)).toMatchObject(
      isTest
        ? { __typename: 'NothingToRetry', message: expect.stringMatching(/testSync/) }
        : { __typename: 'StartedRun' },
    )
  })

  it.each(['test', 'run_now'] as const)(
    'that succeeded in a silent workspace: %s',
    async (cause) => {
      const workspace = await api().makeWorkspace()
      const sync = await makePublishedSync(api(), workspace)
      const { database, logger } = api()
      await database.rows(sql`
      update sync set activated_at = activated_at - interval '40 hours' where id = ${sync.uuid}`)
      await putRun(workspace, sync, { status: 'succeeded', cause })
      await createWatchmen({ database, logger }).deadMan.runOnce()
      const silences = await silencesOf(database, workspace.workspaceId)
      expect(silences.map(({ silence }) => silence)).toEqual(cause === 'test' ? ['no_run'] : [])
    },
  )

  it.each(['test', 'run_now'] as const)('that waits for a worker: %s', async (cause) => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const dueAt = new Date(Date.now() - 3_600_000)
    await putRun(workspace, sync, { status: 'queued', cause, dueAt })
    const { database, logger } = api()
    const { queueWatch } = createWatchmen({ database, logger })
    // It compares what it sees with its look before.
    await queueWatch.runOnce()
    await queueWatch.runOnce()
    const silences = await silencesOf(database, workspace.workspaceId)
    expect(silences).toHaveLength(cause === 'test' ? 0 : 1)
    expect((await asked(workspace, sync)).health).toBe(cause === 'test' ? 'OK' : 'LATE')
  })
})
