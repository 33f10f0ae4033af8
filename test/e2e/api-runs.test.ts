import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { PublishSyncMutation, SyncQuery } from '../../src/client/documents.ts'
import { WAKE_CHANNEL } from '../../src/coordination/bus.ts'
import { useApi } from '../support/app.ts'
import { runSteps } from '../support/run-steps.ts'
import { makeDraft, uuidOf } from '../support/sync-steps.ts'

const api = useApi()

const { makeActive, putRun, runSync, retryRun, pauseSync, resumeSync, getRun } = runSteps(api)

describe('running a sync', () => {
  it('queues a run, wakes the workers and says that it started', async () => {
    const { workspace, sync } = await makeActive()
    const woken = new Promise((resolve) => {
      void api().bus.subscribe(WAKE_CHANNEL, resolve)
    })
    const result = await runSync(workspace, sync)
    expect(result).toMatchObject({
      __typename: 'StartedRun',
      started: 'STARTED',
      run: { status: 'QUEUED' },
    })
    expect(await woken).toEqual({})
    const run = result.__typename === 'StartedRun' ? await getRun(workspace, result.run.id) : null
    expect(run).toMatchObject({
      cause: 'RUN_NOW',
      requestedBy: 'test',
      attemptAllowance: 5,
      isTerminal: false,
      outcome: null,
      willRetry: false,
      sync: { id: sync.syncId },
    })
  })

  it('while a run is queued or running is refused with its id', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    expect(await runSync(workspace, sync)).toEqual({
      __typename: 'AlreadyRunning',
      message: 'This sync rule is already running.',
      runId,
    })
  })

  it('of a draft is refused', async () => {
    const workspace = await api().makeWorkspace()
    const draft = await makeDraft(api(), workspace)
    expect(await runSync(workspace, draft)).toEqual({
      __typename: 'NotPublished',
      message: 'This sync was never published: publish it first.',
    })
  })

  it('that is paused is refused', async () => {
    const { workspace, sync } = await makeActive()
    await pauseSync(workspace, sync)
    expect(await runSync(workspace, sync)).toEqual({
      __typename: 'SyncPaused',
      message: 'This sync is paused: resume it to run it.',
    })
  })
})

describe('retrying a run', () => {
  it.each(['failed', 'partial'] as const)(
    'that %s starts a linked run with one attempt',
    async (status) => {
      const { workspace, sync } = await makeActive()
      const failed = await putRun(workspace, sync, {
        status,
        rejected: status === 'partial' ? 1 : 0,
      })
      const result = await retryRun(workspace, failed)
      const retryId = result.__typename === 'StartedRun' ? result.run.id : ''
      expect(await getRun(workspace, retryId)).toMatchObject({
        cause: 'RETRY',
        attemptAllowance: 1,
        retryOf: { id: failed },
      })
      expect((await getRun(workspace, failed)).retriedBy).toEqual({ id: retryId, status: 'QUEUED' })
    },
  )

  it('twenty times at once starts one run, and all twenty learn its id', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putRun(workspace, sync, { status: 'failed' })
    const results = await Promise.all(Array.from({ length: 20 }, () => retryRun(workspace, failed)))
    const started = results.flatMap((result) =>
      result.__typename === 'StartedRun' ? [result.run.id] : [],
    )
    const told = results.flatMap((result) =>
      result.__typename === 'AlreadyRunning' ? [result.runId] : [],
    )
    expect(started).toHaveLength(1)
    expect(told).toEqual(Array(19).fill(started[0]))
    const [counted] = await api().database.rows(sql`
      select count(*)::int as retries from run where retry_of = ${uuidOf(failed)}`)
    expect(counted).toEqual({ retries: 1 })
  })

  it('whose retry failed as well names that one', async () => {
    const { workspace, sync } = await makeActive()
    const first = await putRun(workspace, sync, { status: 'failed' })
    const second = await putRun(workspace, sync, { status: 'failed', retryOf: uuidOf(first) })
    const third = await putRun(workspace, sync, { status: 'partial', retryOf: uuidOf(second) })
    expect(await retryRun(workspace, first)).toEqual({
      __typename: 'NothingToRetry',
      message:
        'This run was already retried, and its latest retry has ended: retry that one instead.',
      latestRetryId: third,
    })
    expect((await retryRun(workspace, third)).__typename).toBe('StartedRun')
  })

  it('that a retry has put right is refused with the retry', async () => {
    const { workspace, sync } = await makeActive()
    const retry = await putRun(workspace, sync, { status: 'succeeded' })
    const failed = await putRun(workspace, sync, {
      status: 'failed',
      resolvedByRunId: uuidOf(retry),
    })
    expect(await retryRun(workspace, failed)).toEqual({
      __typename: 'NothingToRetry',
      message: 'A retry of this run has already succeeded.',
      latestRetryId: retry,
    })
  })

  it.each(['succeeded', 'canceled'] as const)('that %s is refused', async (status) => {
    const { workspace, sync } = await makeActive()
    expect(await retryRun(workspace, await putRun(workspace, sync, { status }))).toEqual({
      __typename: 'NothingToRetry',
      message: 'This run cannot be retried: only a failed or partial run can.',
      latestRetryId: null,
    })
  })

  it('while another run of the sync is under way is refused with its id', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putRun(workspace, sync, { status: 'failed' })
    const runId = await putRun(workspace, sync, { status: 'running' })
    expect(await retryRun(workspace, failed)).toMatchObject({ __typename: 'AlreadyRunning', runId })
    expect(await retryRun(workspace, runId)).toMatchObject({ __typename: 'AlreadyRunning', runId })
  })

  it('of a paused sync is refused', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putRun(workspace, sync, { status: 'failed' })
    await pauseSync(workspace, sync)
    expect((await retryRun(workspace, failed)).__typename).toBe('SyncPaused')
  })
})

describe('pausing a sync', () => {
  it('keeps the reason, and repeating it changes nothing', async () => {
    const { workspace, sync } = await makeActive()
    expect(await pauseSync(workspace, sync, 'The CRM moves.')).toMatchObject({
      done: 'DONE',
      sync: { status: 'PAUSED' },
    })
    expect(await pauseSync(workspace, sync, 'Another reason.')).toMatchObject({ done: 'NOOP' })
    const { sync: shown } = await workspace.client.request(SyncQuery, { id: sync.syncId })
    expect(shown?.pause).toMatchObject({
      cause: 'PERSON',
      reason: 'The CRM moves.',
      pausedBy: 'test',
    })
    const audits = await api().database.rows(sql`
      select reason, before, after from audit_entry
      where subject_id = ${sync.uuid} and action = 'pauseSync'`)
    expect(audits).toEqual([
      {
        reason: 'The CRM moves.',
        before: { status: 'active' },
        after: { status: 'paused', failedRunId: null },
      },
    ])
  })

  it('closes a queued run', async () => {
    const { workspace, sync } = await makeActive()
    const started = await runSync(workspace, sync)
    const runId = started.__typename === 'StartedRun' ? started.run.id : ''
    expect(await pauseSync(workspace, sync)).toMatchObject({ sync: { status: 'PAUSED' } })
    expect(await getRun(workspace, runId)).toMatchObject({
      status: 'FAILED',
      owner: 'CUSTOMER',
      failure: { code: 'ATTESTATION_RULE_NOT_ACTIVE', whatHappened: 'This sync is paused.', runId },
    })
  })

  it('waits for a running run to stop', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    expect(await pauseSync(workspace, sync)).toMatchObject({ sync: { status: 'PAUSING' } })
    expect((await getRun(workspace, runId)).status).toBe('RUNNING')
    const { syncId } = sync
    const published = await workspace.client.request(PublishSyncMutation, { syncId })
    for (const result of [await resumeSync(workspace, sync), published.publishSync]) {
      expect(result).toEqual({
        __typename: 'SyncStillPausing',
        message:
          'This sync is still pausing, because its run has yet to stop: try again once it is paused.',
      })
    }
  })

  it('needs a reason', async () => {
    const { workspace, sync } = await makeActive()
    expect(await pauseSync(workspace, sync, ' ')).toMatchObject({
      problems: [{ field: 'reason', reason: 'It must not be empty.' }],
    })
  })

  it('of a draft is refused', async () => {
    const workspace = await api().makeWorkspace()
    const draft = await makeDraft(api(), workspace)
    expect((await pauseSync(workspace, draft)).__typename).toBe('NotPublished')
    expect((await resumeSync(workspace, draft)).__typename).toBe('NotPublished')
  })
})

describe('resuming a sync', () => {
  it('that a person paused makes it active, and repeating it changes nothing', async () => {
    const { workspace, sync } = await makeActive()
    await pauseSync(workspace, sync)
    expect(await resumeSync(workspace, sync)).toMatchObject({
      done: 'DONE',
      sync: { status: 'ACTIVE' },
    })
    expect(await resumeSync(workspace, sync)).toMatchObject({ done: 'NOOP' })
  })

  it('that the breaker paused is refused; publishing it again makes it active', async () => {
    const { workspace, sync } = await makeActive()
    await api().database.rows(sql`
      update sync set status = 'paused', pause_cause = 'breaker', paused_at = now()
      where id = ${sync.uuid}`)
    const { sync: shown } = await workspace.client.request(SyncQuery, { id: sync.syncId })
    expect(shown?.pause).toMatchObject({
      cause: 'BREAKER',
      reason: 'Paused automatically by the failure circuit breaker',
    })
    expect(await resumeSync(workspace, sync)).toEqual({
      __typename: 'SyncPaused',
      message: 'The failure circuit breaker paused this sync: mend the cause and publish it again.',
    })
    const { syncId } = sync
    const { publishSync: result } = await workspace.client.request(PublishSyncMutation, { syncId })
    expect(result).toMatchObject({ done: 'DONE', sync: { status: 'ACTIVE' } })
  })
})
