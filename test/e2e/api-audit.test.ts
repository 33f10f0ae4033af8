/** The audit trail: every mutation leaves an entry when it changed something, and none when it did not. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { AcknowledgeAlertMutation } from '../../src/client/alert-documents.ts'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import {
  DisconnectConnectionMutation,
  ReconnectConnectionMutation,
  TestConnectionMutation,
} from '../../src/client/connection-documents.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PauseSyncMutation,
  PublishSyncMutation,
  ResumeSyncMutation,
  RetryRunMutation,
  RunSyncMutation,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import type { AuditEntriesQueryVariables } from '../../src/client/gql/graphql.ts'
import {
  DiscardRecordsMutation,
  RedriveRecordsMutation,
} from '../../src/client/quarantine-documents.ts'
import {
  CancelRunMutation,
  ResetCursorMutation,
  RetryRunsMutation,
  SettleDeliveryMutation,
} from '../../src/client/steering-documents.ts'
import { TestSyncMutation } from '../../src/client/test-documents.ts'
import { CreateTokenMutation, RevokeTokenMutation } from '../../src/client/token-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { auditMachineDeed } from '../../src/store/audit.ts'
import { raise } from '../support/alerts.ts'
import { useApi } from '../support/app.ts'
import type { Prepare } from '../support/deed.ts'
import { makeToken } from '../support/factories.ts'
import { publicationDeeds } from '../support/publication-deeds.ts'
import { runSteps } from '../support/run-steps.ts'
import {
  connectTools,
  type MadeSync,
  makeDraft,
  makePublishedSync,
  newName,
  newSyncInput,
  uuidOf,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()
const { putAside, putDoubt, putRun } = runSteps(api)

const REASON = 'The CRM moves.'

async function list({ client }: Pick<Workspace, 'client'>, given: AuditEntriesQueryVariables = {}) {
  return (await client.request(AuditEntriesQuery, given)).auditEntries
}

async function entriesOf(workspace: Workspace, filter = {}) {
  return (await list(workspace, { first: 200, filter })).edges.map(({ node }) => node)
}

const DEEDS: Readonly<Record<string, Prepare>> = {
  ...publicationDeeds(api),
  acknowledgeAlert: async ({ workspace: { client, workspaceId } }) => {
    const alert = await raise(api().database, { workspaceId })
    const acknowledge = (id: string) =>
      client.request(AcknowledgeAlertMutation, { alertId: encodeGlobalId('Alert', id) })
    return {
      before: () => acknowledge(api().parts.ids.next()),
      changes: () => acknowledge(alert.id),
      after: [() => acknowledge(alert.id)],
    }
  },
  createToken: ({ workspace: { client } }) => {
    const create = (name: string) =>
      client.request(CreateTokenMutation, { input: { name, role: 'VIEWER' } })
    return { changes: () => create('script'), after: [() => create('')] }
  },
  revokeToken: async ({ workspace: { client, workspaceId } }) => {
    const { tokenId } = await makeToken(api().database, workspaceId)
    const revoke = (id: string) =>
      client.request(RevokeTokenMutation, {
        ...{ tokenId: encodeGlobalId('AccessToken', id), reason: REASON },
      })
    return { changes: () => revoke(tokenId), after: [() => revoke(tokenId)] }
  },
  disconnectConnection: ({ workspace: { client }, sync }) => {
    const input = { connectionId: sync.destinationConnectionId, reason: REASON }
    const disconnect = () => client.request(DisconnectConnectionMutation, { input })
    return { changes: disconnect, after: [disconnect] }
  },
  reconnectConnection: ({ workspace: { client }, sync }) => {
    const connectionId = sync.destinationConnectionId
    const reconnect = (credentials: object) =>
      client.request(ReconnectConnectionMutation, { input: { connectionId, credentials } })
    return { changes: () => reconnect({}), after: [() => reconnect({ nothing: 'known' })] }
  },
  testConnection: ({ workspace: { client }, sync }) => {
    const test = (connectionId: string) =>
      client.request(TestConnectionMutation, { input: { connectionId } })
    return {
      before: () => test(encodeGlobalId('Connection', api().parts.ids.next())),
      changes: () => test(sync.sourceConnectionId),
      after: [],
    }
  },
  createConnection: ({ workspace: { client } }) => {
    const input = { name: newName('tool'), type: 'file', config: {} }
    const create = () => client.request(CreateConnectionMutation, { input })
    return { changes: create, after: [create] }
  },
  createSync: async ({ workspace }) => {
    const input = newSyncInput(await connectTools(workspace))
    const create = () => workspace.client.request(CreateSyncMutation, { input })
    return { changes: create, after: [create] }
  },
  updateSync: ({ workspace: { client }, sync: { syncId } }) => {
    const update = (pageSize: number) =>
      client.request(UpdateSyncMutation, { input: { syncId, pageSize } })
    return { changes: () => update(9), after: [() => update(9), () => update(0)] }
  },
  publishSync: async ({ workspace }) => {
    const { syncId } = await makeDraft(api(), workspace)
    const publish = (id: string) => workspace.client.request(PublishSyncMutation, { syncId: id })
    return {
      before: () => publish(encodeGlobalId('Sync', api().parts.ids.next())),
      changes: () => publish(syncId),
      after: [() => publish(syncId)],
    }
  },
  pauseSync: ({ workspace: { client }, sync: { syncId } }) => {
    const pause = (reason: string) => client.request(PauseSyncMutation, { syncId, reason })
    return {
      before: () => pause(''),
      changes: () => pause(REASON),
      after: [() => pause(REASON)],
    }
  },
  resumeSync: async ({ workspace, sync }) => {
    const resume = ({ syncId }: MadeSync) =>
      workspace.client.request(ResumeSyncMutation, { syncId })
    const draft = await makeDraft(api(), workspace)
    const { syncId } = sync
    await workspace.client.request(PauseSyncMutation, { syncId, reason: REASON })
    return {
      before: () => resume(draft),
      changes: () => resume(sync),
      after: [() => resume(sync)],
    }
  },
  runSync: ({ workspace: { client }, sync: { syncId } }) => {
    const run = () => client.request(RunSyncMutation, { syncId })
    return { changes: run, after: [run] }
  },
  testSync: ({ workspace: { client }, sync: { syncId } }) => {
    const test = (limit: number) => client.request(TestSyncMutation, { syncId, limit })
    return { before: () => test(0), changes: () => test(3), after: [() => test(3)] }
  },
  retryRun: async ({ workspace, sync }) => {
    const runId = await putRun(workspace, sync, { status: 'failed' })
    const retry = () => workspace.client.request(RetryRunMutation, { runId })
    return { changes: retry, after: [retry] }
  },
  retryRuns: async ({ workspace, sync }) => {
    const runId = await putRun(workspace, sync, { status: 'failed' })
    const retry = () => workspace.client.request(RetryRunsMutation, { input: { runIds: [runId] } })
    return { changes: retry, after: [retry] }
  },
  cancelRun: async ({ workspace, sync }) => {
    const runId = await putRun(workspace, sync, { status: 'queued' })
    const cancel = (reason: string) =>
      workspace.client.request(CancelRunMutation, { runId, reason })
    return {
      before: () => cancel(''),
      changes: () => cancel(REASON),
      after: [() => cancel(REASON)],
    }
  },
  resetCursor: ({ workspace: { client }, sync: { syncId, uuid } }) => {
    const reset = (reason: string) => client.request(ResetCursorMutation, { syncId, reason })
    return {
      before: async () => {
        await reset(REASON)
        await api().database.rows(sql`
          update sync_fence set reached = 'x', saved_cursor = 'x' where sync_id = ${uuid}`)
        await reset('')
      },
      changes: () => reset(REASON),
      after: [() => reset(REASON)],
    }
  },
  redriveRecords: ({ workspace, sync }) => {
    const { syncId } = sync
    const redrive = () => workspace.client.request(RedriveRecordsMutation, { syncId })
    return {
      before: async () => {
        await redrive()
        await putAside(workspace, sync)
      },
      changes: redrive,
      after: [redrive],
    }
  },
  discardRecords: async ({ workspace, sync }) => {
    const recordIds = await putAside(workspace, sync)
    const { syncId } = sync
    const discard = (reason: string) =>
      workspace.client.request(DiscardRecordsMutation, { syncId, recordIds, reason })
    return {
      before: () => discard(''),
      changes: () => discard(REASON),
      after: [() => discard(REASON)],
    }
  },
  settleDelivery: async ({ workspace, sync }) => {
    const intentId = await putDoubt(workspace, sync)
    const settle = (outcome: 'DELIVERED' | 'SEND_AGAIN', reason = REASON) =>
      workspace.client.request(SettleDeliveryMutation, { input: { intentId, outcome, reason } })
    return {
      before: () => settle('DELIVERED', ''),
      changes: () => settle('DELIVERED'),
      after: [() => settle('DELIVERED'), () => settle('SEND_AGAIN')],
    }
  },
}

const MUTATIONS = Object.keys(apiSchema.getMutationType()?.getFields() ?? {})

describe('the audit trail', () => {
  it('is told of by this file for every mutation', () => {
    expect(Object.keys(DEEDS).sort()).toEqual([...MUTATIONS].sort())
  })

  it.each(MUTATIONS)(
    'has an entry of %s when it was done, and none when nothing was',
    async (name) => {
      const workspace = await api().makeWorkspace()
      const sync = await makePublishedSync(api(), workspace)
      const deed = await DEEDS[name]?.({ workspace, sync })
      const start = (await entriesOf(workspace)).length
      await deed?.before?.()
      expect(await entriesOf(workspace)).toHaveLength(start)
      await deed?.changes()
      const entries = await entriesOf(workspace)
      expect(entries).toHaveLength(start + 1)
      expect(entries[0]).toMatchObject({ action: name, actor: 'test' })
      for (const again of deed?.after ?? []) {
        await again()
      }
      expect(await entriesOf(workspace)).toEqual(entries)
    },
  )

  it('says who did what to what, why, and what it was before and after', async () => {
    const workspace = await api().makeWorkspace()
    const { client } = workspace
    const { syncId } = await makePublishedSync(api(), workspace)
    await client.request(PauseSyncMutation, { syncId, reason: REASON })
    const [entry] = await entriesOf(workspace)
    expect(entry).toMatchObject({
      actor: 'test',
      action: 'pauseSync',
      reason: REASON,
      subjectType: 'SYNC',
      subjectId: syncId,
      subject: { __typename: 'Sync', id: syncId },
      before: { status: 'active' },
      after: { status: 'paused', failedRunId: null },
    })
    expect(Date.now() - new Date(String(entry?.at)).getTime()).toBeLessThan(60_000)
  })

  it('has what machines did, beside what people did', async () => {
    const workspace = await api().makeWorkspace()
    const { workspaceId } = workspace
    const sync = await makePublishedSync(api(), workspace)
    const runId = await putRun(workspace, sync, { status: 'failed' })
    await api().database.transaction('test.audit', (tx) =>
      auditMachineDeed(tx, {
        id: api().parts.ids.next(),
        workspaceId,
        action: 'sweep',
        subjectType: 'run',
        subjectId: uuidOf(runId),
        reason: 'stale_job_swept',
        before: { status: 'running' },
        after: { status: 'failed' },
      }),
    )
    expect(await entriesOf(workspace, { actor: 'tajo' })).toMatchObject([
      { action: 'sweep', subject: { __typename: 'Run', id: runId }, reason: 'stale_job_swept' },
      {
        action: 'createToken',
        subjectType: 'ACCESS_TOKEN',
        subject: { __typename: 'AccessToken' },
      },
    ])
  })

  it('is filtered by subject, actor, action and time, and paged from both ends', async () => {
    const workspace = await api().makeWorkspace()
    const { client } = workspace
    const sync = await makePublishedSync(api(), workspace)
    const { syncId } = sync
    for (let n = 0; n < 2; n += 1) {
      await client.request(PauseSyncMutation, { syncId, reason: REASON })
      await client.request(ResumeSyncMutation, { syncId })
    }
    const actions = async (filter: object) =>
      (await entriesOf(workspace, filter)).map(({ action }) => action)
    const told = ['resumeSync', 'pauseSync', 'resumeSync', 'pauseSync', 'publishSync', 'createSync']
    expect(await actions({ subjectId: syncId })).toEqual(told)
    expect(await actions({ subjectType: 'SYNC' })).toEqual(told)
    expect(await actions({ subjectId: sync.sourceConnectionId })).toEqual(['createConnection'])
    expect(await actions({ action: 'pauseSync' })).toEqual(['pauseSync', 'pauseSync'])
    expect(await actions({ actor: 'nobody' })).toEqual([])
    expect(await actions({ subjectId: syncId, action: 'createSync', actor: 'test' })).toHaveLength(
      1,
    )

    const entries = await entriesOf(workspace, { subjectId: syncId })
    const at = String(entries[2]?.at)
    const split = [
      await actions({ subjectId: syncId, from: at }),
      await actions({ subjectId: syncId, to: at }),
    ]
    expect(split.flat()).toEqual(told)
    expect(split[0]?.length).toBeGreaterThanOrEqual(3)

    const filter = { subjectId: syncId }
    const first = await list(workspace, { first: 4, filter })
    const rest = await list(workspace, { first: 4, after: first.pageInfo.endCursor, filter })
    const seen = [...first.edges, ...rest.edges].map(({ node }) => node.action)
    expect([seen, rest.pageInfo.hasNextPage]).toEqual([told, false])
    const last = await list(workspace, { last: 1, filter })
    expect(last.edges.map(({ node }) => node.action)).toEqual(['createSync'])
  })

  it('names the field of a malformed id', async () => {
    const workspace = await api().makeWorkspace()
    await expect(list(workspace, { filter: { subjectId: 'nonsense' } })).rejects.toThrow(
      'filter.subjectId: It must be the id of something that can be changed, such as a sync.',
    )
  })
})
