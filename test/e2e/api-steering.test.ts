/** Canceling, resetting and settling through the API, with what each answers. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { DeliverySettlement } from '../../src/client/gql/graphql.ts'
import { RunsQuery } from '../../src/client/list-documents.ts'
import {
  CancelRunMutation,
  CursorResetPreviewQuery,
  DeliveriesInDoubtQuery,
  ResetCursorMutation,
  RunDeliveriesInDoubtQuery,
  SettleDeliveryMutation,
} from '../../src/client/steering-documents.ts'
import { STOP_CHANNEL } from '../../src/coordination/bus.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { makePartitions } from '../../src/store/partitions.ts'
import { post } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { runSteps } from '../support/run-steps.ts'
import { type MadeSync, makeDraft, uuidOf, type Workspace } from '../support/sync-steps.ts'

const api = useApi()
const { makeActive, putRun, runSync, retryRun, pauseSync, getRun } = runSteps(api)

const REASON = 'The CRM moves.'

async function cancelRun({ client }: Workspace, runId: string, reason = REASON) {
  return (await client.request(CancelRunMutation, { runId, reason })).cancelRun
}

async function preview({ client }: Workspace, { syncId }: Pick<MadeSync, 'syncId'>) {
  return (await client.request(CursorResetPreviewQuery, { syncId })).cursorResetPreview
}

async function resetCursor({ client }: Workspace, { syncId }: MadeSync, reason = REASON) {
  return (await client.request(ResetCursorMutation, { syncId, reason })).resetCursor
}

async function settle(
  { client }: Workspace,
  given: { intentId: string; position?: number; outcome: DeliverySettlement; reason?: string },
) {
  const input = { reason: REASON, ...given }
  return (await client.request(SettleDeliveryMutation, { input })).settleDelivery
}

async function listDoubts({ client }: Workspace, { syncId }: MadeSync, first = 10, after?: string) {
  const variables = { syncId, first, after: after ?? null }
  const { sync } = await client.request(DeliveriesInDoubtQuery, variables)
  return sync?.deliveriesInDoubt
}

/** What a run left in doubt at the positions 4 and 6 of a page, whose quiet time ends in so many seconds. */
async function putDoubt(
  { uuid, destinationConnectionId }: MadeSync,
  runId: string,
  quietInS = -60,
) {
  await makePartitions(api().database)
  const intentId = api().parts.ids.next()
  const quietAt = new Date(Date.now() + quietInS * 1_000).toISOString()
  await api().database.rows(sql`
    insert into delivery_intent (id, sync_id, epoch, run_id, connection_id, delivery_class,
      page_digest, positions, record_digests, destination_identities, day, quiet_at, reserved_at)
    values (${intentId}, ${uuid}, 1, ${uuidOf(runId)}, ${uuidOf(destinationConnectionId)}, 'none',
      decode(${'aa'.repeat(16)}, 'hex'), '{4,6}', decode(${'bb'.repeat(24)}, 'hex'),
      decode(${'cc'.repeat(32)}, 'hex'), current_date, ${quietAt}::timestamptz,
      ${quietAt}::timestamptz - interval '30 seconds')`)
  return encodeGlobalId('Intent', intentId)
}

describe('canceling a run', () => {
  it('that is queued ends it at once, and says who did and why', async () => {
    const { workspace, sync } = await makeActive()
    const started = await runSync(workspace, sync)
    const runId = started.__typename === 'StartedRun' ? started.run.id : ''
    expect(await cancelRun(workspace, runId)).toMatchObject({
      done: 'DONE',
      willStopBy: null,
      run: { status: 'CANCELED', cancellation: { requestedBy: 'test', reason: REASON } },
    })
    expect(await cancelRun(workspace, runId)).toMatchObject({ done: 'NOOP' })
    expect(await getRun(workspace, runId)).toMatchObject({
      isTerminal: true,
      outcome: 'CANCELED',
      failure: null,
      owner: null,
    })
    const audits = await api().database.rows(sql`
      select actor, reason, before, after from audit_entry
      where subject_id = ${uuidOf(runId)} and action = 'cancelRun'`)
    expect(audits).toEqual([
      {
        actor: 'test',
        reason: REASON,
        before: { status: 'queued' },
        after: { status: 'canceled' },
      },
    ])
    expect(await runSync(workspace, sync)).toMatchObject({ __typename: 'StartedRun' })
  })

  it('that waits for its next attempt ends it at once', async () => {
    const { workspace, sync } = await makeActive()
    const dueAt = new Date(Date.now() + 60_000)
    const runId = await putRun(workspace, sync, { status: 'queued', claims: 1, dueAt })
    expect(await cancelRun(workspace, runId)).toMatchObject({ done: 'DONE' })
  })

  it('that is running asks it to stop, tells the workers, and says by when it has', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    const told = new Promise((resolve) => {
      void api().bus.subscribe(STOP_CHANNEL, resolve)
    })
    const result = await cancelRun(workspace, runId)
    expect(result).toMatchObject({ done: 'WILL_STOP_BY', run: { status: 'RUNNING' } })
    const stopBy = result.__typename === 'CanceledRun' ? Date.parse(result.willStopBy ?? '') : 0
    expect(stopBy - Date.now()).toBeGreaterThan(20_000)
    expect(stopBy - Date.now()).toBeLessThan(60_000)
    expect(await told).toEqual({})
    expect(await cancelRun(workspace, runId)).toMatchObject({ done: 'NOOP', willStopBy: null })
    expect(await runSync(workspace, sync)).toMatchObject({ __typename: 'AlreadyRunning', runId })
  })

  it.each(['succeeded', 'partial', 'failed', 'canceled'] as const)(
    'that has %s changes nothing',
    async (status) => {
      const { workspace, sync } = await makeActive()
      const runId = await putRun(workspace, sync, { status })
      expect(await cancelRun(workspace, runId)).toMatchObject({
        done: 'NOOP',
        run: { status: status.toUpperCase(), cancellation: null },
      })
    },
  )

  it('that retries another leaves that one to be retried again', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putRun(workspace, sync, { status: 'failed' })
    const retry = await retryRun(workspace, failed)
    await cancelRun(workspace, retry.__typename === 'StartedRun' ? retry.run.id : '')
    expect((await getRun(workspace, failed)).retriedBy).toBeNull()
    const again = await retryRun(workspace, failed)
    expect(again.__typename).toBe('StartedRun')
    const retryId = again.__typename === 'StartedRun' ? again.run.id : ''
    expect((await getRun(workspace, failed)).retriedBy).toEqual({ id: retryId, status: 'QUEUED' })
    const filter = { syncId: sync.syncId, statuses: ['CANCELED' as const] }
    const { runs } = await workspace.client.request(RunsQuery, { filter })
    expect(runs.edges).toHaveLength(1)
  })

  it('needs a reason, and a run', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    expect(await cancelRun(workspace, runId, ' ')).toMatchObject({
      problems: [{ field: 'reason', reason: 'It must not be empty.' }],
    })
    const missing = encodeGlobalId('Run', api().parts.ids.next())
    expect(await cancelRun(workspace, missing)).toMatchObject({
      __typename: 'NotFound',
      field: 'runId',
    })
  })
})

describe('pausing a sync whose run is running', () => {
  it('says by when that has stopped, and tells the workers', async () => {
    const { workspace, sync } = await makeActive()
    await putRun(workspace, sync, { status: 'running' })
    const told = new Promise((resolve) => {
      void api().bus.subscribe(STOP_CHANNEL, resolve)
    })
    const result = await pauseSync(workspace, sync)
    expect(result).toMatchObject({ done: 'WILL_STOP_BY', sync: { status: 'PAUSING' } })
    expect(result.__typename === 'ChangedSync' && result.willStopBy).toMatch(/^\d{4}-/)
    expect(await told).toEqual({})
  })
})

describe('resetting a cursor', () => {
  const setReached = ({ uuid }: MadeSync) =>
    api().database.rows(sql`update sync_fence set reached = 'x', saved_cursor = 'x'
      where sync_id = ${uuid}`)

  it('is foretold, done once, and audited', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'succeeded', written: 7 })
    await api().database.rows(sql`update run set total_records = 2055,
        publication_id = (select publication_id from sync where id = ${sync.uuid})
      where id = ${uuidOf(runId)}`)
    await setReached(sync)
    const foretold = await preview(workspace, sync)
    expect(foretold).toMatchObject({
      recordsToRead: 2055,
      protectionGaps: [],
      openPages: 0,
      heldRecords: 0,
      deliveriesInDoubt: 0,
      runInFlight: null,
    })
    const days = (Date.parse(foretold?.replayProtectedUntil ?? '') - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(6.9)
    expect(days).toBeLessThan(7)
    expect(await resetCursor(workspace, sync)).toMatchObject({ done: 'DONE' })
    expect(await resetCursor(workspace, sync)).toMatchObject({ done: 'NOOP' })
    const audits = await api().database.rows(sql`
      select reason, before, after from audit_entry
      where subject_id = ${sync.uuid} and action = 'resetCursor'`)
    expect(audits).toEqual([
      {
        reason: REASON,
        before: { reached: 'x' },
        after: { reached: null, openPages: 0, heldRecords: 0, quarantinedRecords: 0 },
      },
    ])
  })

  it('of a sync that has read nothing yet would read nothing again', async () => {
    const workspace = await api().makeWorkspace()
    const draft = await makeDraft(api(), workspace)
    expect(await preview(workspace, draft)).toMatchObject({
      recordsToRead: 0,
      replayProtectedUntil: null,
      protectionGaps: [],
    })
    expect(await resetCursor(workspace, draft)).toMatchObject({ done: 'NOOP' })
  })

  it('tells what the ledger has forgotten, and where no source told how many records it has', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'succeeded', written: 7 })
    await api().database.rows(sql`update run set started_at = now() - interval '9 days',
        finished_at = now() - interval '8 days' where id = ${uuidOf(runId)}`)
    await setReached(sync)
    expect(await preview(workspace, sync)).toMatchObject({
      recordsToRead: null,
      replayProtectedUntil: null,
      protectionGaps: ['EXPIRED'],
    })
  })

  it.each(['queued', 'running'] as const)(
    'while a run is %s is refused with its id',
    async (status) => {
      const { workspace, sync } = await makeActive()
      await setReached(sync)
      const runId = await putRun(workspace, sync, { status })
      expect(await preview(workspace, sync)).toMatchObject({ runInFlight: { id: runId } })
      expect(await resetCursor(workspace, sync)).toEqual({
        __typename: 'AlreadyRunning',
        message: 'This sync rule is already running.',
        runId,
      })
    },
  )

  it('needs a reason', async () => {
    const { workspace, sync } = await makeActive()
    expect(await resetCursor(workspace, sync, '')).toMatchObject({
      problems: [{ field: 'reason', reason: 'It must not be empty.' }],
    })
  })
})

describe('settling a delivery in doubt', () => {
  it('takes it off the list of its sync and its run, which are read forwards', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'partial', inDoubt: 2 })
    const intentId = await putDoubt(sync, runId)
    const page = await listDoubts(workspace, sync, 1)
    expect(page).toMatchObject({
      edges: [{ node: { intentId, position: 4, page: 'aa'.repeat(16), run: { id: runId } } }],
      pageInfo: { hasNextPage: true },
    })
    const rest = await listDoubts(workspace, sync, 1, page?.pageInfo.endCursor ?? '')
    expect(rest).toMatchObject({
      edges: [{ node: { position: 6 } }],
      pageInfo: { hasNextPage: false },
    })
    const settled = { __typename: 'SettledDelivery', done: 'DONE', settled: 1 }
    const first = { intentId, position: 4, outcome: 'DELIVERED' as const }
    expect(await settle(workspace, first)).toMatchObject({ ...settled, sync: { id: sync.syncId } })
    expect(await settle(workspace, first)).toMatchObject({ done: 'NOOP', settled: 0 })
    expect(await settle(workspace, { ...first, outcome: 'SEND_AGAIN' })).toEqual({
      __typename: 'AlreadySettled',
      message: 'This delivery was already settled as delivered.',
      outcome: 'DELIVERED',
    })
    const { run } = await workspace.client.request(RunDeliveriesInDoubtQuery, { runId })
    expect(run?.deliveriesInDoubt.edges.map(({ node }) => node.position)).toEqual([6])
    expect(await settle(workspace, { intentId, outcome: 'SEND_AGAIN' })).toMatchObject(settled)
    expect((await listDoubts(workspace, sync))?.edges).toEqual([])
    const audits = await api().database.rows(sql`
      select reason, after -> 'positions' as positions, after ->> 'settlement' as settlement
      from audit_entry where subject_id = ${uuidOf(intentId)} order by id`)
    expect(audits).toEqual([
      { reason: REASON, positions: [4], settlement: 'delivered' },
      { reason: REASON, positions: [6], settlement: 'send_again' },
    ])
  })

  it.each([
    [null, 'NO_ANSWER'],
    ['class_changed', 'CLASS_CHANGED'],
    ['import_out_of_reach', 'IMPORT_OUT_OF_REACH'],
    ['lookup_moved', 'LOOKUP_MOVED'],
  ])('is told why a person is asked: %s', async (stored, cause) => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'partial', inDoubt: 2 })
    const intentId = await putDoubt(sync, runId)
    await api().database.rows(sql`update delivery_intent set doubt_cause = ${stored}
      where id = ${uuidOf(intentId)}`)
    const shown = (await listDoubts(workspace, sync))?.edges.map(({ node }) => node.cause)
    expect(shown).toEqual([cause, cause])
  })

  it('whose call may still be under way is refused with the time from when it can be', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'running' })
    const intentId = await putDoubt(sync, runId, 3_600)
    const given = { intentId, position: 4, outcome: 'DELIVERED' as const }
    expect((await listDoubts(workspace, sync))?.edges).toEqual([])
    expect(await settle(workspace, given)).toMatchObject({
      __typename: 'DeliveryInFlight',
      message: expect.stringContaining('is still running'),
    })
    await api().database.rows(sql`update run set status = 'canceled', finished_at = now()
      where id = ${uuidOf(runId)}`)
    const [edge] = (await listDoubts(workspace, sync))?.edges ?? []
    const settleableAt = edge?.node.settleableAt
    expect(Date.parse(settleableAt ?? '')).toBeGreaterThan(Date.now() + 3_500_000)
    expect(await settle(workspace, given)).toEqual({
      __typename: 'DeliveryInFlight',
      message: `The destination may still apply this delivery: it can be settled from ${settleableAt} on.`,
      settleableAt,
    })
  })

  it('needs a reason, an intent and one of its positions', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'partial', inDoubt: 2 })
    const intentId = await putDoubt(sync, runId)
    const outcome = 'DELIVERED' as const
    expect(await settle(workspace, { intentId, outcome, reason: '' })).toMatchObject({
      problems: [{ field: 'reason' }],
    })
    expect(await settle(workspace, { intentId, outcome, position: 5 })).toMatchObject({
      problems: [
        { field: 'position', reason: 'The call has no delivery in doubt at this position.' },
      ],
    })
    expect(await settle(workspace, { intentId: runId, outcome })).toMatchObject({
      problems: [{ field: 'intentId' }],
    })
    const missing = encodeGlobalId('Intent', api().parts.ids.next())
    expect(await settle(workspace, { intentId: missing, outcome })).toMatchObject({
      __typename: 'NotFound',
      field: 'intentId',
      message: 'There is no delivery in doubt with the id that is given in intentId.',
    })
  })

  it('has an id by which no object can be asked for', async () => {
    const workspace = await api().makeWorkspace()
    const id = encodeGlobalId('Intent', api().parts.ids.next())
    const answer = await post(api().address, `{ node(id: "${id}") { id } }`, {
      authorization: `Bearer ${workspace.token}`,
    })
    expect(answer.body.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe('what belongs to another workspace', () => {
  it('is neither canceled, reset, settled nor foretold', async () => {
    const { workspace, sync } = await makeActive()
    const stranger = await api().makeWorkspace()
    const runId = await putRun(workspace, sync, { status: 'partial', inDoubt: 2 })
    const intentId = await putDoubt(sync, runId)
    const notFound = { __typename: 'NotFound' }
    expect(await cancelRun(stranger, runId)).toMatchObject(notFound)
    expect(await resetCursor(stranger, sync)).toMatchObject(notFound)
    expect(await settle(stranger, { intentId, outcome: 'DELIVERED' })).toMatchObject(notFound)
    expect(await preview(stranger, sync)).toBeNull()
    expect(await listDoubts(stranger, sync)).toBeUndefined()
    expect((await listDoubts(workspace, sync))?.edges).toHaveLength(2)
  })
})
