/** What belongs to another workspace does not exist, for every query and mutation (I13). */
import { describe, expect, it } from 'vitest'
import {
  AcknowledgeAlertMutation,
  AlertsQuery,
  AlertsSubscription,
} from '../../src/client/alert-documents.ts'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import {
  DisconnectConnectionMutation,
  ReconnectConnectionMutation,
} from '../../src/client/connection-documents.ts'
import {
  CreateSyncMutation,
  NodeQuery,
  PauseSyncMutation,
  PublishSyncMutation,
  ResumeSyncMutation,
  RetryRunMutation,
  RunProgressSubscription,
  RunQuery,
  RunSyncMutation,
  SyncQuery,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import {
  ConnectionsQuery,
  FailuresQuery,
  RunsQuery,
  SyncsQuery,
} from '../../src/client/list-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { raise } from '../support/alerts.ts'
import { useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import {
  connectTools,
  makePublishedSync,
  newSyncInput,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()

/** Everything that takes an id, asked with one; what each answers, an error as its message. */
async function askEverything(
  { client }: Workspace,
  ids: { syncId: string; runId: string; connectionId: string; alertId: string },
) {
  const { syncId, runId, connectionId, alertId } = ids
  const told = (answer: Promise<unknown>) => answer.catch((error: Error) => error.message)
  return {
    sync: await told(client.request(SyncQuery, { id: syncId })),
    run: await told(client.request(RunQuery, { id: runId })),
    nodeSync: await told(client.request(NodeQuery, { id: syncId })),
    nodeRun: await told(client.request(NodeQuery, { id: runId })),
    nodeConnection: await told(client.request(NodeQuery, { id: connectionId })),
    runs: await told(client.request(RunsQuery, { filter: { syncId } })),
    failures: await told(client.request(FailuresQuery, { filter: { syncId } })),
    audit: await told(client.request(AuditEntriesQuery, { filter: { subjectId: syncId } })),
    updateSync: await told(client.request(UpdateSyncMutation, { input: { syncId, pageSize: 9 } })),
    publishSync: await told(client.request(PublishSyncMutation, { syncId })),
    pauseSync: await told(client.request(PauseSyncMutation, { syncId, reason: 'Mine now.' })),
    resumeSync: await told(client.request(ResumeSyncMutation, { syncId })),
    runSync: await told(client.request(RunSyncMutation, { syncId })),
    retryRun: await told(client.request(RetryRunMutation, { runId })),
    disconnectConnection: await told(
      client.request(DisconnectConnectionMutation, { input: { connectionId, reason: 'Mine.' } }),
    ),
    reconnectConnection: await told(
      client.request(ReconnectConnectionMutation, { input: { connectionId } }),
    ),
    runProgress: await told(client.subscribe(RunProgressSubscription, { runId }).next()),
    nodeAlert: await told(client.request(NodeQuery, { id: alertId })),
    alerts: await told(client.request(AlertsQuery, {})),
    acknowledgeAlert: await told(client.request(AcknowledgeAlertMutation, { alertId })),
    watchedAlerts: await told(firstAlertEvent(client)),
  }
}

/** The stream begins with what is open; a keep-alive says that nothing is. */
async function firstAlertEvent(client: Workspace['client']): Promise<string | undefined> {
  const { value } = await client.subscribe(AlertsSubscription, {}).next()
  return value?.alerts.__typename
}

describe('what belongs to another workspace', () => {
  it('is answered for like what does not exist, and stays as it was', async () => {
    const [owner, stranger] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const sync = await makePublishedSync(api(), owner)
    const run = { workspaceId: owner.workspaceId, syncId: sync.uuid, status: 'failed' as const }
    const runId = encodeGlobalId('Run', await makeRun(api().database, run))
    const { workspaceId } = owner
    const alert = await raise(api().database, { workspaceId, syncId: sync.uuid })
    await raise(api().database, { workspaceId, audience: 'tajo' })
    const alertId = encodeGlobalId('Alert', alert.id)
    const missing = {
      alertId: encodeGlobalId('Alert', api().parts.ids.next()),
      syncId: encodeGlobalId('Sync', api().parts.ids.next()),
      runId: encodeGlobalId('Run', api().parts.ids.next()),
      connectionId: encodeGlobalId('Connection', api().parts.ids.next()),
    }
    const { syncId, destinationConnectionId: connectionId } = sync
    const answers = await askEverything(stranger, { syncId, runId, connectionId, alertId })
    expect(answers).toEqual(await askEverything(stranger, missing))
    expect(answers).toMatchObject({
      sync: { sync: null },
      run: { run: null },
      nodeSync: { node: null },
      nodeRun: { node: null },
      nodeConnection: { node: null },
      runs: { runs: { edges: [] } },
      failures: { failures: { edges: [] } },
      audit: { auditEntries: { edges: [] } },
      updateSync: { updateSync: { __typename: 'NotFound', field: 'syncId' } },
      publishSync: { publishSync: { __typename: 'NotFound', field: 'syncId' } },
      pauseSync: { pauseSync: { __typename: 'NotFound', field: 'syncId' } },
      resumeSync: { resumeSync: { __typename: 'NotFound', field: 'syncId' } },
      runSync: { runSync: { __typename: 'NotFound', field: 'syncId' } },
      retryRun: { retryRun: { __typename: 'NotFound', field: 'runId' } },
      disconnectConnection: {
        disconnectConnection: { __typename: 'NotFound', field: 'connectionId' },
      },
      reconnectConnection: {
        reconnectConnection: { __typename: 'NotFound', field: 'connectionId' },
      },
      runProgress: 'There is no run with the id that is given in runId.',
      nodeAlert: { node: null },
      alerts: { alerts: { edges: [] } },
      acknowledgeAlert: { acknowledgeAlert: { __typename: 'NotFound', field: 'alertId' } },
      watchedAlerts: 'KeepAlive',
    })
    const { alerts } = await owner.client.request(AlertsQuery, {})
    expect(alerts.edges).toMatchObject([{ node: { id: alertId, acknowledgedAt: null } }])
    expect(await firstAlertEvent(owner.client)).toBe('AlertUpdate')
    const { sync: kept } = await owner.client.request(SyncQuery, { id: sync.syncId })
    expect(kept).toMatchObject({
      status: 'ACTIVE',
      hasUnpublishedChanges: false,
      lastRun: { id: runId, status: 'FAILED' },
    })
    const { syncs } = await stranger.client.request(SyncsQuery, {})
    expect(syncs.edges).toEqual([])
    const { connections } = await owner.client.request(ConnectionsQuery, {})
    expect(connections.edges.map(({ node }) => node.isConnected)).toEqual([true, true])
  })

  it('cannot be used in a sync', async () => {
    const [owner, stranger] = [await api().makeWorkspace(), await api().makeWorkspace()]
    await api().writeFile('customers.csv', 'email\na@example.com\n')
    const input = newSyncInput(await connectTools(owner))
    const { createSync } = await stranger.client.request(CreateSyncMutation, { input })
    const reason = 'There is no connection with this id.'
    expect(createSync).toMatchObject({
      __typename: 'InvalidInput',
      problems: [
        { field: 'sourceConnectionId', reason },
        { field: 'destinationConnectionId', reason },
      ],
    })
    const sync = await makePublishedSync(api(), stranger)
    const { sourceConnectionId } = input
    const { updateSync } = await stranger.client.request(UpdateSyncMutation, {
      input: { syncId: sync.syncId, sourceConnectionId },
    })
    expect(updateSync).toMatchObject({ problems: [{ field: 'sourceConnectionId', reason }] })
  })
})

describe('a malformed id', () => {
  const uuid = '0198c0de-0000-7000-8000-000000000000'
  it.each(['', 'nonsense', uuid, 'sync_', `sync_${uuid}0`, `SYNC_${uuid}`, `user_${uuid}`])(
    '%j is one clear error that names the argument',
    async (id) => {
      const workspace = await api().makeWorkspace()
      const ids = { syncId: id, runId: id, connectionId: id, alertId: id }
      const answers = await askEverything(workspace, ids)
      const sync = `It must be the id of a sync, such as sync_${uuid}.`
      const run = `It must be the id of a run, such as run_${uuid}.`
      const connection = `It must be the id of a connection, such as connection_${uuid}.`
      const problem = (field: string, reason: string) => ({
        __typename: 'InvalidInput',
        problems: [{ field, reason }],
      })
      expect(answers).toMatchObject({
        sync: `id: ${sync}`,
        run: `id: ${run}`,
        nodeSync: `id: It must be an id of this API, such as run_${uuid}.`,
        runs: `filter.syncId: ${sync}`,
        failures: `filter.syncId: ${sync}`,
        audit:
          'filter.subjectId: It must be the id of something that can be changed, such as a sync.',
        updateSync: { updateSync: problem('syncId', sync) },
        publishSync: { publishSync: problem('syncId', sync) },
        pauseSync: { pauseSync: problem('syncId', sync) },
        resumeSync: { resumeSync: problem('syncId', sync) },
        runSync: { runSync: problem('syncId', sync) },
        retryRun: { retryRun: problem('runId', run) },
        disconnectConnection: { disconnectConnection: problem('connectionId', connection) },
        reconnectConnection: { reconnectConnection: problem('connectionId', connection) },
        runProgress: `runId: ${run}`,
        nodeAlert: `id: It must be an id of this API, such as run_${uuid}.`,
        acknowledgeAlert: {
          acknowledgeAlert: problem(
            'alertId',
            `It must be the id of an alert, such as alert_${uuid}.`,
          ),
        },
      })
    },
  )

  it('is also one of another type', async () => {
    const { client } = await api().makeWorkspace()
    await expect(client.request(SyncQuery, { id: `run_${uuid}` })).rejects.toThrow(
      `id: It must be the id of a sync, such as sync_${uuid}.`,
    )
    await expect(client.request(RunQuery, { id: `sync_${uuid}` })).rejects.toThrow(
      `id: It must be the id of a run, such as run_${uuid}.`,
    )
  })

  it('of a connection is named where a sync is saved', async () => {
    const workspace = await api().makeWorkspace()
    const tools = await connectTools(workspace)
    const input = { ...newSyncInput(tools), sourceConnectionId: 'nonsense' }
    const { createSync } = await workspace.client.request(CreateSyncMutation, { input })
    expect(createSync).toMatchObject({ problems: [{ field: 'sourceConnectionId' }] })
  })
})
