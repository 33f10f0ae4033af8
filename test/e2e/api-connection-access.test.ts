/** Tests of connections, and what the API shows of the access to a tool: on the connection and on each sync that uses it. */
import { sql } from 'drizzle-orm'
import { afterEach, describe, expect, it } from 'vitest'
import {
  DisconnectConnectionMutation,
  ReconnectConnectionMutation,
  RefusedSyncsQuery,
  TestConnectionMutation,
} from '../../src/client/connection-documents.ts'
import { CreateConnectionMutation } from '../../src/client/documents.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { findConnections, markRefused } from '../../src/store/connections.ts'
import { useApi } from '../support/app.ts'
import { createScriptedCrm, SCRIPTED_CRM } from '../support/scripted-destination.ts'
import { createSignal } from '../support/signal.ts'
import { makePublishedSync, newName, uuidOf, type Workspace } from '../support/sync-steps.ts'

const crm = createScriptedCrm()
const api = useApi({ destinations: [crm] })
const CREDENTIALS = { apiKey: 'Mrs-Havisham-1812' }

afterEach(() => crm.answerWith(null))

async function makeTool() {
  const workspace = await api().makeWorkspace()
  const input = { name: newName('CRM'), type: SCRIPTED_CRM, config: {}, credentials: CREDENTIALS }
  const { createConnection: result } = await workspace.client.request(CreateConnectionMutation, {
    input,
  })
  if (result.__typename !== 'CreateConnectionPayload') {
    throw new Error(result.message)
  }
  return { workspace, connectionId: result.connection.id }
}

async function test({ client }: Workspace, connectionId: string, clientKey?: string) {
  const input = { connectionId, ...(clientKey === undefined ? {} : { clientKey }) }
  return (await client.request(TestConnectionMutation, { input })).testConnection
}

const failing = (code: ConstructorParameters<typeof ConnectorError>[0], words: string) => () =>
  Promise.reject(new ConnectorError(code, words))

describe('a test of a connection', () => {
  it('makes one call with the credentials that are stored, and says that it works', async () => {
    const { workspace, connectionId } = await makeTool()
    const before = crm.asked.length
    const result = await test(workspace, connectionId)
    expect(result).toMatchObject({
      __typename: 'TestedConnection',
      result: { __typename: 'ConnectionWorks', detail: null },
      connection: { id: connectionId, access: { status: 'CONNECTED', since: null } },
    })
    const calls = crm.asked.slice(before)
    expect(calls.map(({ credentials }) => credentials)).toEqual([CREDENTIALS])
    expect(JSON.stringify(result)).not.toContain(CREDENTIALS.apiKey)
  })

  it.each([
    ['connection_unauthorized', 'ConnectionRefused', 'UNAUTHORIZED'],
    ['provider_unavailable', 'ConnectionOutOfReach', 'CONNECTED'],
    ['provider_rate_limited', 'ConnectionOutOfReach', 'CONNECTED'],
    ['node_failed', 'ConnectionMisconfigured', 'CONNECTED'],
  ] as const)('that ends in %s answers %s', async (code, __typename, status) => {
    const { workspace, connectionId } = await makeTool()
    crm.answerWith(failing(code, 'Seen by ada@example.com today.'))
    const result = await test(workspace, connectionId)
    expect(result).toMatchObject({
      result: {
        __typename,
        message: expect.stringMatching(/\.$/),
        detail: 'Seen by [e-mail] today.',
      },
      connection: { access: { status } },
    })
  })

  it('is refused where this process cannot open the credentials, and says which key it needs', async () => {
    const { workspace, connectionId } = await makeTool()
    const other = createSealer(Buffer.alloc(32, 9), systemRandom)
    const sealed = other.seal(JSON.stringify(CREDENTIALS), uuidOf(connectionId))
    await api().database.rows(sql`
      update connection set sealed_credentials = ${sealed} where id = ${uuidOf(connectionId)}`)
    const before = crm.asked.length
    await expect(test(workspace, connectionId)).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringMatching(
        `sealed with the key ${other.keyId}, .+ name that key in CREDENTIALS_OLD_KEYS`,
      ),
    })
    expect(crm.asked.length).toBe(before)
  })

  it('marks the connection when it is refused, until a test gets through', async () => {
    const { workspace, connectionId } = await makeTool()
    crm.answerWith(failing('connection_unauthorized', 'The key was revoked.'))
    await test(workspace, connectionId)
    crm.answerWith(failing('provider_unavailable', 'Away.'))
    expect(await test(workspace, connectionId)).toMatchObject({
      connection: {
        access: {
          ...{ status: 'UNAUTHORIZED', since: expect.any(String), detail: 'The key was revoked.' },
          whatToDo: expect.stringContaining('Reconnect'),
        },
      },
    })
    crm.answerWith(null)
    expect(await test(workspace, connectionId)).toMatchObject({
      connection: { access: { status: 'CONNECTED', since: null, detail: null, whatToDo: null } },
    })
  })

  it('that began before a fresh authorisation says nothing of it', async () => {
    const { workspace, connectionId } = await makeTool()
    const [asked, reconnected] = [createSignal(), createSignal()]
    crm.answerWith(async () => {
      asked.reach()
      await reconnected.reached
      throw new ConnectorError('connection_unauthorized', 'The key was revoked.')
    })
    const testing = test(workspace, connectionId)
    await asked.reached
    const input = { connectionId, credentials: CREDENTIALS }
    await workspace.client.request(ReconnectConnectionMutation, { input })
    reconnected.reach()
    expect(await testing).toMatchObject({
      result: { __typename: 'ConnectionRefused' },
      connection: { access: { status: 'CONNECTED' } },
    })
  })

  it('holds nothing in the database while it waits for the other system', async () => {
    const { workspace, connectionId } = await makeTool()
    const [asked, answered] = [createSignal(), createSignal()]
    crm.answerWith(async () => {
      asked.reach()
      await answered.reached
    })
    const testing = test(workspace, connectionId)
    await asked.reached
    const open = await api().database.rows(sql`
      select state from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and state like 'idle in transaction%'`)
    answered.reach()
    await testing
    expect(open).toEqual([])
  })

  it('that is repeated with its client key makes no other call', async () => {
    const { workspace, connectionId } = await makeTool()
    const first = await test(workspace, connectionId, 'the key')
    crm.answerWith(failing('connection_unauthorized', 'No.'))
    const before = crm.asked.length
    expect(await test(workspace, connectionId, 'the key')).toEqual(first)
    expect(crm.asked).toHaveLength(before)
  })

  it('is refused where the tool is not connected', async () => {
    const { workspace, connectionId } = await makeTool()
    const input = { connectionId, reason: 'It is sold.' }
    await workspace.client.request(DisconnectConnectionMutation, { input })
    expect(await test(workspace, connectionId)).toMatchObject({ __typename: 'NotConnected' })
  })
})

describe('a connection that is refused', () => {
  it('shows on each sync that uses it, and on no other, until it is reconnected', async () => {
    const { workspace, connectionId } = await makeTool()
    const { client, workspaceId } = workspace
    const user = await makePublishedSync(api(), workspace, {
      destinationConnectionId: connectionId,
    })
    const other = await makePublishedSync(api(), workspace)
    const [connection] = await findConnections(api().database, workspaceId, [uuidOf(connectionId)])
    if (connection) {
      await markRefused(api().database, connection, 'The key was revoked.')
    }
    const show = async () => {
      const { syncs } = await client.request(RefusedSyncsQuery, { first: 10 })
      return new Map(syncs.edges.map(({ node }) => [node.id, node]))
    }
    const shown = await show()
    expect(shown.get(user.syncId)).toMatchObject({
      health: { status: 'FAILING', why: expect.stringContaining(String(connection?.name)) },
      refusedConnections: [{ id: connectionId, access: { status: 'UNAUTHORIZED' } }],
    })
    expect(shown.get(other.syncId)).toMatchObject({
      health: { status: 'OK' },
      refusedConnections: [],
    })
    const input = { connectionId, credentials: CREDENTIALS }
    const { reconnectConnection } = await client.request(ReconnectConnectionMutation, { input })
    expect(reconnectConnection).toMatchObject({ connection: { access: { status: 'CONNECTED' } } })
    expect((await show()).get(user.syncId)).toMatchObject({
      health: { status: 'OK' },
      refusedConnections: [],
    })
  })

  it('is no more than disconnected once it is', async () => {
    const { workspace, connectionId } = await makeTool()
    crm.answerWith(failing('connection_unauthorized', 'No.'))
    await test(workspace, connectionId)
    const input = { connectionId, reason: 'It is sold.' }
    const { disconnectConnection } = await workspace.client.request(DisconnectConnectionMutation, {
      input,
    })
    expect(disconnectConnection).toMatchObject({
      connection: { access: { status: 'DISCONNECTED', detail: null } },
    })
  })
})
