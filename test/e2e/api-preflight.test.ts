/** Before a version is published, both systems are asked whether they would take it: through the API. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import {
  DisconnectConnectionMutation,
  TestConnectionMutation,
} from '../../src/client/connection-documents.ts'
import {
  CreateConnectionMutation,
  PublishSyncMutation,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import type { CreateSyncInput } from '../../src/client/gql/graphql.ts'
import {
  ApprovePublicationMutation,
  PublicationPreviewQuery,
  RequestPublicationMutation,
} from '../../src/client/publication-documents.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { DestinationField } from '../../src/connectors/destination.ts'
import type { SourceConnector } from '../../src/connectors/source.ts'
import { useApi } from '../support/app.ts'
import { makeToken } from '../support/factories.ts'
import { createScriptedCrm, SCRIPTED_CRM } from '../support/scripted-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import { makeDraft, newName, type Workspace } from '../support/sync-steps.ts'

const crm = createScriptedCrm()
const table = createScriptedSource(scriptedRows(3))
/** Its fields are known only to who opens it, as those of a database. */
const source: SourceConnector = {
  ...table,
  open: async (request) => ({
    ...(await table.open(request)),
    listFields: () => Promise.resolve(['email', 'note']),
  }),
}
const api = useApi({ sources: [source], destinations: [crm] })

const text = (name: string, isRequired = false): DestinationField => ({
  ...{ name, types: ['text'], isRequired },
})
const FIELDS: readonly DestinationField[] = [
  text('EMAIL', true),
  text('LASTNAME'),
  { name: 'AGE', types: ['number'], isRequired: false },
]
const GOOD = { EMAIL: { $path: 'email' } }

beforeEach(() => crm.setFields(FIELDS))
afterEach(() => {
  crm.answerWith(null)
  table.failWith(null)
})

async function connect({ client }: Workspace, type: string): Promise<string> {
  const input = { name: newName(type), type, config: {}, credentials: {} }
  const { createConnection: result } = await client.request(CreateConnectionMutation, { input })
  if (result.__typename !== 'CreateConnectionPayload') {
    throw new Error(result.message)
  }
  return result.connection.id
}

async function makeSync(given: Partial<CreateSyncInput> = {}) {
  const workspace = await api().makeWorkspace()
  const tools = {
    sourceConnectionId: await connect(workspace, 'scripted'),
    destinationConnectionId: await connect(workspace, SCRIPTED_CRM),
  }
  const { syncId } = await makeDraft(api(), workspace, { ...tools, mapping: GOOD, ...given })
  return { workspace, syncId, ...tools }
}

async function publish({ client }: Workspace, syncId: string, acceptsUnchecked?: boolean) {
  const given = acceptsUnchecked === undefined ? {} : { acceptsUnchecked }
  return (await client.request(PublishSyncMutation, { syncId, ...given })).publishSync
}

const away = (words = 'It is being serviced.') =>
  Promise.reject(new ConnectorError('provider_unavailable', words))

describe('a publication', () => {
  it('is done where both systems would take the version, and both were asked', async () => {
    const { workspace, syncId } = await makeSync()
    const [asked, reads] = [crm.asked.length, table.reads.length]
    expect(await publish(workspace, syncId)).toMatchObject({ __typename: 'ChangedSync' })
    expect([crm.asked.length - asked, table.reads.length - reads]).toEqual([1, 1])
  })

  it('is refused for all that is wrong at once, each by its field', async () => {
    const { workspace, syncId } = await makeSync({
      mapping: {
        LAST_NAME: { $path: 'nmae' },
        AGE: { $template: '{{ note }}' },
      },
      objectOptions: { identityField: 'EXT_ID' },
    })
    const problems = [
      { field: 'mapping.LAST_NAME', reason: 'The source has no field "nmae".' },
      {
        field: 'mapping.AGE',
        reason: 'The destination takes a number here, and the mapping gives a text.',
      },
      {
        field: 'mapping.LAST_NAME',
        reason: 'The destination has no field "LAST_NAME"; the nearest name is "LASTNAME".',
      },
      {
        field: 'mapping.EMAIL',
        reason: 'The destination requires this field, and the mapping gives it none.',
      },
      {
        field: 'mapping.EXT_ID',
        reason:
          'The destination knows a record by this field (identityField), and the mapping gives it none.',
      },
    ]
    const result = await publish(workspace, syncId, true)
    expect(result).toMatchObject({ __typename: 'InvalidInput' })
    const sorted = (given: unknown) =>
      [...(given as typeof problems)].sort((a, b) => (a.reason < b.reason ? -1 : 1))
    expect(sorted('problems' in result ? result.problems : [])).toEqual(sorted(problems))
    const { publicationPreview } = await workspace.client.request(PublicationPreviewQuery, {
      syncId,
    })
    expect(publicationPreview).toMatchObject({ isReady: false, unchecked: [] })
    expect(sorted(publicationPreview?.problems)).toEqual(sorted(problems))
  })

  it('passes where the destination cannot tell its fields', async () => {
    const { workspace, syncId } = await makeSync({ mapping: { ANYTHING: { $const: 1 } } })
    crm.setFields(null)
    expect(await publish(workspace, syncId)).toMatchObject({ __typename: 'ChangedSync' })
  })

  it('is refused where the source or the destination refuses access, and marks the connection', async () => {
    const { workspace, syncId, sourceConnectionId, destinationConnectionId } = await makeSync()
    table.failWith(new ConnectorError('connection_unauthorized', 'The token has expired.'))
    crm.answerWith(() =>
      Promise.reject(new ConnectorError('connection_unauthorized', 'The key was revoked.')),
    )
    expect(await publish(workspace, syncId, true)).toMatchObject({
      __typename: 'InvalidInput',
      problems: [
        { field: 'sourceConnectionId', reason: expect.stringContaining('The token has expired.') },
        { field: 'destinationConnectionId', reason: expect.stringContaining('was revoked.') },
      ],
    })
    crm.answerWith(() => away())
    for (const connectionId of [sourceConnectionId, destinationConnectionId]) {
      const input = { connectionId }
      const { testConnection } = await workspace.client.request(TestConnectionMutation, { input })
      const status = connectionId === destinationConnectionId ? 'UNAUTHORIZED' : 'CONNECTED'
      expect(testConnection).toMatchObject({ connection: { access: { status } } })
    }
  })

  it('is refused where the source cannot be read as it is set, or a tool is not connected', async () => {
    const { workspace, syncId, destinationConnectionId: connectionId } = await makeSync()
    table.failWith(new ConnectorError('node_failed', 'There is no such table.'))
    const input = { connectionId, reason: 'It is sold.' }
    await workspace.client.request(DisconnectConnectionMutation, { input })
    expect(await publish(workspace, syncId)).toMatchObject({
      problems: [
        { field: 'stream', reason: 'There is no such table.' },
        {
          field: 'destinationConnectionId',
          reason: expect.stringMatching(/^The tool .+ is not connected/),
        },
      ],
    })
  })

  it('is refused while a system is out of reach, and done then only where that is accepted', async () => {
    const { workspace, syncId } = await makeSync()
    crm.answerWith(() => away())
    const refused = await publish(workspace, syncId)
    expect(refused).toMatchObject({
      __typename: 'SystemOutOfReach',
      message: expect.stringContaining('It is being serviced.'),
    })
    const { publicationPreview } = await workspace.client.request(PublicationPreviewQuery, {
      syncId,
    })
    expect(publicationPreview).toEqual({
      ...{ isReady: true, problems: [] },
      unchecked: [{ field: 'destinationConnectionId', reason: 'It is being serviced.' }],
    })
    expect(await publish(workspace, syncId, true)).toMatchObject({ __typename: 'ChangedSync' })
    const filter = { action: 'publishSync' }
    const { auditEntries } = await workspace.client.request(AuditEntriesQuery, { filter })
    expect(auditEntries.edges.map(({ node }) => node.after)).toMatchObject([
      { unchecked: [{ field: 'destinationConnectionId', reason: 'It is being serviced.' }] },
    ])
  })

  it('asks nobody where the version runs already', async () => {
    const { workspace, syncId } = await makeSync()
    await publish(workspace, syncId)
    crm.answerWith(() => away())
    expect(await publish(workspace, syncId)).toMatchObject({
      ...{ __typename: 'ChangedSync', done: 'NOOP' },
    })
  })

  it('is of the draft that was checked: one that is changed meanwhile is checked again', async () => {
    const { workspace, syncId } = await makeSync()
    const [asked, changed] = [createSignal(), createSignal()]
    crm.answerWith(async () => {
      asked.reach()
      await changed.reached
    })
    const publishing = publish(workspace, syncId)
    await asked.reached
    const input = { syncId, mapping: { EMAIL: { $path: 'email' }, AGE: { $const: 'old' } } }
    await workspace.client.request(UpdateSyncMutation, { input })
    changed.reach()
    expect(await publishing).toMatchObject({ problems: [{ field: 'mapping.AGE' }] })
  })

  it('is checked when it is requested, and again when it is approved', async () => {
    const { workspace, syncId } = await makeSync({ mapping: { NAME: { $path: 'email' } } })
    const request = async () => {
      const variables = { syncId, reason: 'It is ready.' }
      return (await workspace.client.request(RequestPublicationMutation, variables))
        .requestPublication
    }
    expect(await request()).toMatchObject({ __typename: 'InvalidInput' })
    await workspace.client.request(UpdateSyncMutation, { input: { syncId, mapping: GOOD } })
    crm.answerWith(() => away())
    expect(await request()).toMatchObject({ __typename: 'SystemOutOfReach' })
    crm.answerWith(null)
    const requested = await request()
    const requestId = 'request' in requested ? requested.request.id : ''
    const { token } = await makeToken(api().database, workspace.workspaceId, { role: 'admin' })
    const approve = async () =>
      (await api().client(token).request(ApprovePublicationMutation, { requestId }))
        .approvePublication
    crm.setFields([text('EMAIL', true), text('CONSENT', true)])
    expect(await approve()).toMatchObject({ problems: [{ field: 'mapping.CONSENT' }] })
    crm.setFields(FIELDS)
    expect(await approve()).toMatchObject({ __typename: 'ChangedPublicationRequest' })
  })

  it('is previewed by an operator at least, as it calls other systems', async () => {
    const { workspace, syncId } = await makeSync()
    const { token } = await makeToken(api().database, workspace.workspaceId, { role: 'viewer' })
    const before = crm.asked.length
    await expect(
      api().client(token).request(PublicationPreviewQuery, { syncId }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(crm.asked).toHaveLength(before)
  })
})
