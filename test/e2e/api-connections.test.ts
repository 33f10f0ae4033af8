/** Tools that are disconnected and connected again, and a sync that the breaker paused for it, through the API. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import {
  DisconnectConnectionMutation,
  ReconnectConnectionMutation,
} from '../../src/client/connection-documents.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  SyncQuery,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import { ConnectionsQuery } from '../../src/client/list-documents.ts'
import { failure } from '../../src/domain/failure.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { applyBreaker } from '../../src/store/breaker.ts'
import { refuseSlot } from '../../src/store/schedules.ts'
import { useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import { BREAKER_PARTS } from '../support/store-seed.ts'
import {
  type MadeSync,
  makePublishedSync,
  newName,
  newSyncInput,
  uuidOf,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()
const CONFIG = { baseUrl: 'https://crm.example.com' }

async function connectCrm({ client }: Workspace) {
  const credentials = { bearerToken: 'first-secret' }
  const input = { name: newName('CRM'), type: 'http', config: CONFIG, credentials }
  const { createConnection: result } = await client.request(CreateConnectionMutation, { input })
  if (result.__typename !== 'CreateConnectionPayload') {
    throw new Error(result.message)
  }
  return result.connection.id
}

async function disconnect({ client }: Workspace, connectionId: string, reason = 'We have moved.') {
  const input = { connectionId, reason }
  return (await client.request(DisconnectConnectionMutation, { input })).disconnectConnection
}

async function reconnect({ client }: Workspace, connectionId: string, given: object = {}) {
  const input = { connectionId, ...given }
  return (await client.request(ReconnectConnectionMutation, { input })).reconnectConnection
}

async function getSync({ client }: Workspace, { syncId }: MadeSync) {
  const { sync } = await client.request(SyncQuery, { id: syncId })
  if (!sync) {
    throw new Error(`There is no sync ${syncId}.`)
  }
  return sync
}

/** What is stored of its credentials, opened; null: nothing is. */
async function unseal(connectionId: string): Promise<unknown> {
  const id = uuidOf(connectionId)
  const [row] = await api().database.rows<{ sealed: string | null }>(sql`
    select sealed_credentials as sealed from connection where id = ${id}`)
  return row?.sealed ? JSON.parse(api().parts.sealer.unseal(row.sealed, id)) : null
}

async function deedsOf(connectionId: string) {
  return await api().database.rows(sql`
    select action, reason, before, after from audit_entry
    where subject_id = ${uuidOf(connectionId)} order by id`)
}

describe('disconnecting a tool', () => {
  it('removes its credentials, keeps the rest, and says which syncs use it', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await connectCrm(workspace)
    const sync = await makePublishedSync(api(), workspace, { destinationConnectionId: crm })
    const result = await disconnect(workspace, crm)
    expect(result).toMatchObject({
      done: 'DONE',
      connection: {
        ...{ id: crm, isConnected: false, hasCredentials: false, config: CONFIG },
        disconnectedAt: expect.any(String),
        syncs: { edges: [{ node: { id: sync.syncId, status: 'ACTIVE' } }] },
      },
    })
    expect(await unseal(crm)).toBeNull()
    const { connections } = await workspace.client.request(ConnectionsQuery, {})
    const shown = connections.edges.map(({ node }) => [node.id, node.isConnected])
    expect(new Map(shown as [string, boolean][]).get(crm)).toBe(false)
    expect(await deedsOf(crm)).toMatchObject([
      { action: 'createConnection' },
      {
        ...{ action: 'disconnectConnection', reason: 'We have moved.' },
        before: { isConnected: true, hasCredentials: true },
        after: { isConnected: false, hasCredentials: false },
      },
    ])
    expect(JSON.stringify(await deedsOf(crm))).not.toContain('secret')
  })

  it('again changes nothing', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await connectCrm(workspace)
    const first = await disconnect(workspace, crm)
    expect(await disconnect(workspace, crm)).toEqual({ ...first, done: 'NOOP' })
    expect(await deedsOf(crm)).toHaveLength(2)
  })

  it('names the syncs whose published version uses it, whatever their draft says', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const other = await makePublishedSync(api(), workspace)
    const { sourceConnectionId } = other
    await workspace.client.request(UpdateSyncMutation, {
      input: { syncId: sync.syncId, sourceConnectionId },
    })
    const idsOf = (result: Awaited<ReturnType<typeof disconnect>>) =>
      result.__typename === 'ChangedConnection'
        ? result.connection.syncs.edges.map(({ node }) => node.id)
        : []
    expect(idsOf(await disconnect(workspace, sync.sourceConnectionId))).toEqual([sync.syncId])
    const both = [other.syncId, sync.syncId]
    expect(idsOf(await disconnect(workspace, sourceConnectionId))).toEqual(both)
  })

  it('takes a reason', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await connectCrm(workspace)
    expect(await disconnect(workspace, crm, ' ')).toMatchObject({
      __typename: 'InvalidInput',
      problems: [{ field: 'reason', reason: 'It must not be empty.' }],
    })
    expect(await unseal(crm)).toEqual({ bearerToken: 'first-secret' })
  })
})

describe('connecting a tool again', () => {
  it('takes new credentials, and keeps its settings', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await connectCrm(workspace)
    await disconnect(workspace, crm)
    const credentials = { bearerToken: 'second-secret' }
    expect(await reconnect(workspace, crm, { credentials })).toMatchObject({
      done: 'DONE',
      connection: {
        ...{ isConnected: true, disconnectedAt: null, hasCredentials: true, config: CONFIG },
      },
    })
    expect(await unseal(crm)).toEqual(credentials)
    expect(await reconnect(workspace, crm, { credentials })).toMatchObject({ done: 'DONE' })
    expect((await deedsOf(crm)).slice(2)).toMatchObject([
      {
        action: 'reconnectConnection',
        before: { isConnected: false },
        after: { isConnected: true, hasCredentials: true },
      },
      { before: { isConnected: true } },
    ])
    expect(JSON.stringify(await deedsOf(crm))).not.toContain('secret')
  })

  it('tells all problems at once, as its connector sees them, and changes nothing', async () => {
    const workspace = await api().makeWorkspace()
    const crm = await connectCrm(workspace)
    await disconnect(workspace, crm)
    const given = { credentials: { password: 'x', user: 'y' } }
    const result = await reconnect(workspace, crm, given)
    expect(result).toMatchObject({ __typename: 'InvalidInput' })
    const fields = 'problems' in result ? result.problems.map(({ field }) => field) : []
    expect(fields).toEqual(['credentials.password', 'credentials.user'])
    const node = await disconnect(workspace, crm)
    expect(node).toMatchObject({ done: 'NOOP', connection: { isConnected: false, config: CONFIG } })
    expect(await unseal(crm)).toBeNull()
  })
})

describe('a sync that the breaker has paused', () => {
  it('shows why, the run, and the last error, until it is published again', async () => {
    const workspace = await api().makeWorkspace()
    const schedule = { everyMs: 60_000 }
    const sync = await makePublishedSync(api(), workspace, { schedule, breakerThreshold: 1 })
    expect(await getSync(workspace, sync)).toMatchObject({ lastFailure: null, pause: null })
    const runId = api().parts.ids.next()
    await api().database.transaction('test.refuse', async (tx) => {
      const told = failure('connection_missing', { subject: 'CRM' })
      const slot = { syncId: sync.uuid, slotMs: 0, nextSlotMs: null, isCatchingUp: false }
      await refuseSlot(tx, { ...slot, runId, failure: told })
      await applyBreaker(tx, BREAKER_PARTS, sync.uuid)
    })
    const run = encodeGlobalId('Run', runId)
    expect(await getSync(workspace, sync)).toMatchObject({
      status: 'PAUSED',
      nextFires: [],
      pause: {
        cause: 'BREAKER',
        reason: 'Paused automatically by the failure circuit breaker',
        pausedBy: 'tajo',
        pausedAt: expect.any(String),
        run: { id: run, status: 'FAILED' },
      },
      lastFailure: {
        code: 'CONNECTION_MISSING',
        whatHappened: 'A tool that the sync uses (CRM) is not connected in this workspace.',
        whatToDo: 'Connect it, then run the sync again.',
        owner: 'CUSTOMER',
        runId: run,
      },
    })
    await workspace.client.request(PublishSyncMutation, { syncId: sync.syncId })
    expect(await getSync(workspace, sync)).toMatchObject({
      ...{ status: 'ACTIVE', pause: null },
      lastFailure: { code: 'CONNECTION_MISSING' },
    })
    await makeRun(api().database, { ...workspace, syncId: sync.uuid, status: 'canceled' })
    expect((await getSync(workspace, sync)).lastFailure).not.toBeNull()
    await makeRun(api().database, { ...workspace, syncId: sync.uuid, status: 'succeeded' })
    expect((await getSync(workspace, sync)).lastFailure).toBeNull()
  })
})

describe("the breaker's threshold", () => {
  const change = async (
    { client }: Workspace,
    input: { syncId: string; breakerThreshold: number | null },
  ) => (await client.request(UpdateSyncMutation, { input })).updateSync

  it('is a part of the version, and null takes it away', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const { syncId } = sync
    expect((await getSync(workspace, sync)).draft.breakerThreshold).toBeNull()
    await change(workspace, { syncId, breakerThreshold: 3 })
    expect(await getSync(workspace, sync)).toMatchObject({
      draft: { breakerThreshold: 3 },
      hasUnpublishedChanges: true,
      publication: { configuration: { breakerThreshold: null } },
    })
    await change(workspace, { syncId, breakerThreshold: null })
    expect(await getSync(workspace, sync)).toMatchObject({
      draft: { breakerThreshold: null },
      hasUnpublishedChanges: false,
    })
  })

  it.each([0, 101, -1])('of %i is refused', async (breakerThreshold) => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const reason = `It must be a whole number from 1 to 100, and ${breakerThreshold} was given.`
    const problems = [{ field: 'breakerThreshold', reason }]
    expect(await change(workspace, { syncId: sync.syncId, breakerThreshold })).toMatchObject({
      problems,
    })
    const { sourceConnectionId, destinationConnectionId } = sync
    const tools = { sourceConnectionId, destinationConnectionId }
    const input = { ...newSyncInput(tools), breakerThreshold }
    const { createSync } = await workspace.client.request(CreateSyncMutation, { input })
    expect(createSync).toMatchObject({ problems })
  })
})
