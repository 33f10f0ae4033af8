import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { FailureCatalogueQuery } from '../../src/client/documents.ts'
import { FailuresQuery, RunsQuery, SyncsQuery } from '../../src/client/list-documents.ts'
import { FAILURE_CATALOGUE, FAILURE_CODES } from '../../src/domain/failure.ts'
import { firstIdAt } from '../../src/domain/ids.ts'
import { useApi } from '../support/app.ts'
import { makeAttempt, makeHeldRecords } from '../support/factories.ts'
import { runSteps } from '../support/run-steps.ts'
import { makeDraft, makePublishedSync, uuidOf } from '../support/sync-steps.ts'

const api = useApi()

const { makeActive, putRun, retryRun, pauseSync, getRun, failRun, idsOf } = runSteps(api)

const RETRIED = { NEXT_ATTEMPT: 'yes', NEW_RUN: 'new_run', NOTHING: 'no' } as const

describe('the history', () => {
  it('is paged from both ends, each run once', async () => {
    const { workspace, sync } = await makeActive()
    const made: string[] = []
    for (let n = 0; n < 5; n += 1) {
      made.unshift(await putRun(workspace, sync, { status: 'succeeded' }))
    }
    const read = async (args: object) => (await workspace.client.request(RunsQuery, args)).runs
    const first = await read({ first: 2 })
    expect([idsOf(first), first.pageInfo.hasNextPage]).toEqual([made.slice(0, 2), true])
    const second = await read({ first: 2, after: first.pageInfo.endCursor })
    expect(idsOf(second)).toEqual(made.slice(2, 4))
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true })
    const third = await read({ first: 2, after: second.pageInfo.endCursor })
    expect([idsOf(third), third.pageInfo.hasNextPage]).toEqual([made.slice(4), false])
    const last = await read({ last: 2 })
    expect([idsOf(last), last.pageInfo.hasPreviousPage]).toEqual([made.slice(3), true])
    const back = await read({ last: 2, before: last.pageInfo.startCursor })
    expect(idsOf(back)).toEqual(made.slice(1, 3))
  })

  it('is filtered by sync and status', async () => {
    const { workspace, sync } = await makeActive()
    const other = await makePublishedSync(api(), workspace)
    const succeeded = await putRun(workspace, sync, { status: 'succeeded' })
    const failed = await putRun(workspace, sync, { status: 'failed' })
    await putRun(workspace, other, { status: 'failed' })
    const read = async (filter: object) =>
      idsOf((await workspace.client.request(RunsQuery, { filter })).runs)
    expect(await read({ syncId: sync.syncId })).toEqual([failed, succeeded])
    expect(await read({ syncId: sync.syncId, statuses: ['FAILED'] })).toEqual([failed])
    expect(await read({ statuses: ['QUEUED'] })).toEqual([])
  })

  it('of syncs is filtered by state and by a part of the name', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await makePublishedSync(api(), workspace, { name: 'Customers to CRM 100%' })
    const mail = await makeDraft(api(), workspace, { name: 'Orders to mail' })
    const read = async (filter: object) =>
      idsOf((await workspace.client.request(SyncsQuery, { filter })).syncs)
    expect(await read({})).toEqual([mail.syncId, crm.syncId])
    expect(await read({ name: 'crm' })).toEqual([crm.syncId])
    expect(await read({ name: 'ORDERS' })).toEqual([mail.syncId])
    expect(await read({ name: '0%' })).toEqual([crm.syncId])
    expect(await read({ name: 'C%M' })).toEqual([])
    expect(await read({ statuses: ['DRAFT', 'PAUSED'] })).toEqual([mail.syncId])
    expect(await read({ statuses: ['DRAFT'], name: 'crm' })).toEqual([])
    for (const name of ['', '\u0000']) {
      await expect(read({ name })).rejects.toMatchObject({
        ...{ code: 'INVALID_INPUT', message: expect.stringMatching(/^filter\.name: /) },
      })
    }
  })

  it('is filtered by failure, by whose turn it is, and by why runs were started', async () => {
    const { workspace, sync } = await makeActive()
    const lost = await putRun(workspace, sync, { status: 'failed', failureCode: 'lease_lost' })
    const node = await putRun(workspace, sync, { status: 'failed', failureCode: 'node_failed' })
    const refused = await putRun(workspace, sync, { status: 'partial', rejected: 1, inDoubt: 1 })
    const doubtful = await putRun(workspace, sync, { status: 'partial', inDoubt: 1 })
    const retry = await putRun(workspace, sync, { status: 'succeeded', retryOf: uuidOf(lost) })
    const read = async (filter: object) =>
      idsOf((await workspace.client.request(RunsQuery, { filter })).runs)
    expect(await read({ codes: ['LEASE_LOST', 'NODE_FAILED'] })).toEqual([node, lost])
    expect(await read({ codes: ['LEASE_LOST'], statuses: ['PARTIAL'] })).toEqual([])
    expect(await read({ owner: 'TAJO' })).toEqual([doubtful, lost])
    expect(await read({ owner: 'CUSTOMER', statuses: ['PARTIAL'] })).toEqual([refused])
    expect(await read({ causes: ['RETRY'] })).toEqual([retry])
    expect(await read({ causes: ['RETRY', 'RETRY'], codes: [] })).toEqual([retry])
    expect(await read({ causes: ['RUN_NOW'], statuses: ['FAILED', 'PARTIAL'] })).toEqual([
      ...[doubtful, refused, node, lost],
    ])
    const syncId = sync.syncId
    expect(await read({ syncId, codes: ['NODE_FAILED'], causes: ['RUN_NOW'] })).toEqual([node])
    expect(await read({ codes: [], causes: [], statuses: [] })).toHaveLength(5)
  })

  it('is paged from both ends also where it is filtered, and so is the DLQ', async () => {
    const { workspace, sync } = await makeActive()
    const wanted: string[] = []
    for (const failureCode of ['lease_lost', 'node_failed', 'lease_lost', 'node_failed'] as const) {
      await putRun(workspace, sync, { status: 'succeeded' })
      wanted.unshift(await putRun(workspace, sync, { status: 'failed', failureCode }))
    }
    const filter = { codes: ['LEASE_LOST', 'NODE_FAILED'], causes: ['RUN_NOW'] }
    const lists = {
      runs: async (args: object) =>
        (await workspace.client.request(RunsQuery, { ...args, filter } as object)).runs,
      failures: async (args: object) =>
        (await workspace.client.request(FailuresQuery, args)).failures,
    }
    for (const read of Object.values(lists)) {
      const forwards: string[] = []
      let after: string | null = null
      do {
        const page: Awaited<ReturnType<typeof read>> = await read({ first: 1, after })
        forwards.push(...idsOf(page))
        after = page.pageInfo.hasNextPage ? (page.pageInfo.endCursor ?? null) : null
      } while (after !== null)
      expect(forwards).toEqual(wanted)
      const last = await read({ last: 3 })
      expect([idsOf(last), last.pageInfo.hasPreviousPage]).toEqual([wanted.slice(1), true])
      const before = await read({ last: 1, before: last.pageInfo.startCursor })
      expect([idsOf(before), before.pageInfo.hasPreviousPage]).toEqual([[wanted[0]], false])
    }
  })

  it('is filtered by when runs were asked for, the end not included', async () => {
    const { workspace, sync } = await makeActive()
    const made: string[] = []
    const at = (n: number) => new Date(Date.UTC(2026, 2, 1 + n)).toISOString()
    for (let n = 0; n < 3; n += 1) {
      const runId = await putRun(workspace, sync, { status: 'failed' })
      made.push(await ageRun(runId, at(n)))
    }
    const read = async (filter: object) =>
      idsOf((await workspace.client.request(RunsQuery, { filter })).runs)
    expect(await read({ createdFrom: at(1) })).toEqual([made[2], made[1]])
    expect(await read({ createdTo: at(1) })).toEqual([made[0]])
    expect(await read({ createdFrom: at(1), createdTo: at(2), statuses: ['FAILED'] })).toEqual([
      made[1],
    ])
    const { failures } = await workspace.client.request(FailuresQuery, {
      filter: { createdFrom: at(2) },
    })
    expect(idsOf(failures)).toEqual([made[2]])
  })

  it('shows attempts, and that another one is coming', async () => {
    const { workspace, sync } = await makeActive()
    const dueAt = new Date(Date.now() + 60_000)
    const runId = await putRun(workspace, sync, { status: 'queued', claims: 1, dueAt })
    await makeAttempt(api().database, {
      runId: uuidOf(runId),
      number: 1,
      failureCode: 'provider_unavailable',
    })
    expect(await getRun(workspace, runId)).toMatchObject({
      status: 'QUEUED',
      willRetry: true,
      nextAttemptAt: dueAt.toISOString(),
      failure: null,
      attempts: [
        {
          number: 1,
          outcome: 'POSTPONED',
          failure: { code: 'PROVIDER_UNAVAILABLE', step: 'WRITING' },
        },
      ],
    })
  })

  it('says that a quiet run waits for a fresh progress update, after 2 minutes', async () => {
    const { workspace, sync } = await makeActive()
    const fresh = await putRun(workspace, sync, { status: 'running', silentMs: 100_000 })
    const stale = await putRun(workspace, await makePublishedSync(api(), workspace), {
      status: 'running',
      silentMs: 121_000,
    })
    expect((await getRun(workspace, fresh)).progressNote).toBeNull()
    expect((await getRun(workspace, stale)).progressNote).toBe(
      'Waiting for a fresh progress update',
    )
  })

  it('shows the records that a run could not write', async () => {
    const { workspace, sync } = await makeActive()
    const runId = await putRun(workspace, sync, { status: 'partial', written: 5, rejected: 120 })
    await makeHeldRecords(api().database, { syncId: sync.uuid, runId: uuidOf(runId), count: 120 })
    const { rejectedRecords, counters } = await getRun(workspace, runId)
    expect(counters).toMatchObject({ read: 125, written: 5, rejected: 120 })
    expect(rejectedRecords.edges.map(({ node }) => node.position)).toEqual([...Array(100).keys()])
    expect(rejectedRecords.pageInfo.hasNextPage).toBe(true)
    expect(rejectedRecords.edges[0]?.node).toMatchObject({
      reason: 'The email of record 0 is not an address.',
      runs: 1,
    })
  })
})

/** Makes it a run of that time, and its id one that was made then. */
async function ageRun(runId: string, at: string): Promise<string> {
  const uuid = `${firstIdAt(Date.parse(at)).slice(0, 13)}${uuidOf(runId).slice(13)}`
  await api().database.rows(sql`
    update run set id = ${uuid}, created_at = ${at} where id = ${uuidOf(runId)}`)
  return `run_${uuid}`
}

describe('the failures', () => {
  it('are the failed and partial runs that no retry has put right', async () => {
    const { workspace, sync } = await makeActive()
    const retry = await putRun(workspace, sync, { status: 'succeeded' })
    await putRun(workspace, sync, { status: 'failed', resolvedByRunId: uuidOf(retry) })
    const failed = await putRun(workspace, sync, { status: 'failed' })
    const partial = await putRun(workspace, sync, { status: 'partial', inDoubt: 1 })
    await putRun(workspace, sync, { status: 'canceled' })
    const { failures } = await workspace.client.request(FailuresQuery, {})
    expect(idsOf(failures)).toEqual([partial, failed])
  })

  it('are filtered by who has to act, as each run shows it', async () => {
    const { workspace, sync } = await makeActive()
    for (const failureCode of FAILURE_CODES) {
      await putRun(workspace, sync, { status: 'failed', failureCode })
    }
    const rejected = await putRun(workspace, sync, { status: 'partial', rejected: 1, inDoubt: 1 })
    const doubtful = await putRun(workspace, sync, { status: 'partial', inDoubt: 1 })
    const all = (await workspace.client.request(FailuresQuery, {})).failures.edges
    for (const owner of ['CUSTOMER', 'TAJO'] as const) {
      const { failures } = await workspace.client.request(FailuresQuery, { filter: { owner } })
      const expected = all.filter(({ node }) => node.owner === owner)
      expect(failures.edges).toEqual(expected)
      expect(idsOf(failures)[0]).toBe(owner === 'TAJO' ? doubtful : rejected)
    }
    expect(all).toHaveLength(FAILURE_CODES.length + 2)
  })

  it('are filtered by code and sync', async () => {
    const { workspace, sync } = await makeActive()
    const other = await makePublishedSync(api(), workspace)
    const lost = await putRun(workspace, sync, { status: 'failed', failureCode: 'lease_lost' })
    await putRun(workspace, sync, { status: 'failed', failureCode: 'node_failed' })
    await putRun(workspace, other, { status: 'failed', failureCode: 'lease_lost' })
    const filter = { syncId: sync.syncId, code: 'LEASE_LOST' as const }
    const { failures } = await workspace.client.request(FailuresQuery, { filter })
    expect(idsOf(failures)).toEqual([lost])
    expect(failures.edges[0]?.node.failure).toMatchObject({
      whatHappened: 'The run lost its slot part-way through and stopped to avoid writing twice.',
      whatToDo: 'Run the sync again.',
      owner: 'TAJO',
      runId: lost,
    })
  })

  it('are explained by the catalogue, every code of it', async () => {
    const { client } = await api().makeWorkspace()
    const { failureCatalogue } = await client.request(FailureCatalogueQuery, {})
    const shown = failureCatalogue.map(({ retried, nextMutation, ...entry }) => ({
      ...entry,
      code: entry.code.toLowerCase(),
      retried: RETRIED[retried],
      next: nextMutation?.split('_')[0]?.toLowerCase() ?? null,
    }))
    const known = Object.entries(FAILURE_CATALOGUE).map(([code, entry]) => {
      const { happened: whatHappened, todo: whatToDo, owner, retried, next, causes } = entry
      return { code, whatHappened, whatToDo, owner, retried, next, causes }
    })
    expect(shown).toEqual(known)
  })

  it('name the mutation that follows, after a pause as the sync stands now', async () => {
    const { workspace, sync } = await makeActive()
    const failureCode = 'attestation_rule_not_active'
    const runId = await putRun(workspace, sync, { status: 'failed', failureCode })
    const nextMutation = async () => (await getRun(workspace, runId)).failure?.nextMutation
    expect(await nextMutation()).toBe('RETRY_RUN')
    await pauseSync(workspace, sync)
    expect(await nextMutation()).toBe('RESUME_SYNC')
    await api().database.rows(sql`
      update sync set pause_cause = 'breaker' where id = ${sync.uuid}`)
    expect(await nextMutation()).toBe('PUBLISH_SYNC')
  })

  it('stay when their retry fails, which joins them', async () => {
    const { workspace, sync } = await makeActive()
    const failed = await putRun(workspace, sync, { status: 'failed' })
    const retry = await retryRun(workspace, failed)
    const retryId = retry.__typename === 'StartedRun' ? retry.run.id : ''
    await failRun(retryId)
    const { failures } = await workspace.client.request(FailuresQuery, {})
    expect(idsOf(failures)).toEqual([retryId, failed])
  })
})
