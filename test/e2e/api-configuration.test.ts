import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  SyncQuery,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import type { CreateSyncInput, UpdateSyncInput } from '../../src/client/gql/graphql.ts'
import { ConnectionsQuery, SyncsQuery } from '../../src/client/list-documents.ts'
import { useApi } from '../support/app.ts'
import {
  connectTools,
  makeDraft,
  makePublishedSync,
  newName,
  newSyncInput,
  uuidOf,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()

async function createConnection({ client }: Workspace, input: object) {
  const filled = { name: newName('tool'), type: 'http', config: {}, ...input }
  const result = await client.request(CreateConnectionMutation, { input: filled })
  return result.createConnection
}

async function createSync({ client }: Workspace, input: CreateSyncInput) {
  return (await client.request(CreateSyncMutation, { input })).createSync
}

async function updateSync({ client }: Workspace, input: UpdateSyncInput) {
  return (await client.request(UpdateSyncMutation, { input })).updateSync
}

async function publishSync({ client }: Workspace, syncId: string) {
  return (await client.request(PublishSyncMutation, { syncId })).publishSync
}

async function getSync({ client }: Workspace, id: string) {
  const { sync } = await client.request(SyncQuery, { id })
  if (!sync) {
    throw new Error(`There is no sync ${id}.`)
  }
  return sync
}

async function countAudits(workspaceId: string): Promise<Readonly<Record<string, number>>> {
  const rows = await api().database.rows<{ action: string; times: number }>(sql`
    select action, count(*)::int as times
    from audit_entry
    where workspace_id = ${workspaceId}
    group by action`)
  return Object.fromEntries(rows.map(({ action, times }) => [action, times]))
}

describe('connecting a tool', () => {
  it('stores its settings and seals its credentials for this connection', async () => {
    const workspace = await api().makeWorkspace()
    const result = await createConnection(workspace, {
      config: { baseUrl: 'https://crm.example.com' },
      credentials: { bearerToken: 'very-secret' },
    })
    expect(result).toMatchObject({
      __typename: 'CreateConnectionPayload',
      connection: {
        type: 'http',
        config: { baseUrl: 'https://crm.example.com' },
        hasCredentials: true,
      },
    })
    const rows = await api().database.rows<{ id: string; sealed_credentials: string }>(sql`
      select * from connection where workspace_id = ${workspace.workspaceId}`)
    const audit = await api().database.rows(sql`
      select * from audit_entry where workspace_id = ${workspace.workspaceId}`)
    expect(JSON.stringify([result, rows, audit])).not.toContain('very-secret')
    const { sealer } = api().parts
    const [row] = rows
    expect(sealer.unseal(row?.sealed_credentials ?? '', row?.id ?? '')).toBe(
      '{"bearerToken":"very-secret"}',
    )
    expect(await countAudits(workspace.workspaceId)).toMatchObject({ createConnection: 1 })
  })

  it('is shown in the list with what it can be used for', async () => {
    const workspace = await api().makeWorkspace()
    await connectTools(workspace)
    const { connections } = await workspace.client.request(ConnectionsQuery, {})
    const roles = connections.edges.map(({ node }) => [node.type, node.roles])
    expect(Object.fromEntries(roles)).toEqual({ file: ['SOURCE'], http: ['DESTINATION'] })
  })

  it.each([
    [{ type: 'fax' }, 'type', 'There is no such type of connection; there are: file, http.'],
    [{ config: { baseUrl: 'ftp://x' } }, 'config.baseUrl', /http:\/\/ or https:\/\//],
    [{ config: {} }, 'config.baseUrl', /baseUrl/],
    [{ config: { baseUrl: 'http://x', colour: 1 } }, 'config.colour', /Unknown field colour/],
    [{ config: ['http://x'] }, 'config', 'It must be an object.'],
    [
      { config: { baseUrl: 'http://x' }, credentials: { bearerToken: 5 } },
      'credentials.bearerToken',
      /bearerToken must be a text/,
    ],
    [{ config: { baseUrl: 'http://x' }, name: ' ' }, 'name', 'It must not be empty.'],
    [{ config: { baseUrl: 'http://x' }, name: 'a\u0000b' }, 'name', 'It contains a NUL character.'],
    [
      { config: { baseUrl: 'http://x' }, name: 'n'.repeat(201) },
      'name',
      'It has 201 characters, and at most 200 are allowed.',
    ],
    [{ config: { baseUrl: 'http://x\u0000' } }, 'config', 'It contains a NUL character.'],
  ])('with %j names the field and the reason, and stores nothing', async (input, field, reason) => {
    const workspace = await api().makeWorkspace()
    const result = await createConnection(workspace, input)
    expect(result).toMatchObject({
      __typename: 'InvalidInput',
      problems: [
        { field, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
      ],
    })
    const { connections } = await workspace.client.request(ConnectionsQuery, {})
    expect(connections.edges).toEqual([])
    expect(await countAudits(workspace.workspaceId)).toEqual({ createToken: 1 })
  })

  it('under a name that another one has is refused, and allowed in another workspace', async () => {
    const [mine, other] = [await api().makeWorkspace(), await api().makeWorkspace()]
    const input = { name: 'CRM', config: { baseUrl: 'http://x' } }
    await createConnection(mine, input)
    expect(await createConnection(mine, input)).toMatchObject({
      problems: [{ field: 'name', reason: 'Another connection of this workspace has this name.' }],
    })
    expect((await createConnection(other, input)).__typename).toBe('CreateConnectionPayload')
  })
})

describe('saving a sync', () => {
  it('makes a draft with every setting filled in', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId, sourceConnectionId } = await makeDraft(api(), workspace)
    expect(await getSync(workspace, syncId)).toMatchObject({
      status: 'DRAFT',
      pause: null,
      publication: null,
      hasUnpublishedChanges: true,
      lastRun: null,
      draft: {
        sourceConnection: { id: sourceConnectionId },
        stream: 'customers.csv',
        mapping: { email: { $path: 'email' } },
        onRejected: 'HOLD',
        onBrokenRecord: 'REJECT',
        pageSize: 500,
      },
    })
    const [fence] = await api().database.rows(sql`
      select epoch, reached from sync_fence where sync_id = ${uuidOf(syncId)}`)
    expect(fence).toEqual({ epoch: 0, reached: null })
  })

  it.each<[string, Partial<CreateSyncInput>, string, string | RegExp]>([
    ['an unknown directive', { mapping: { a: { $run: 'x' } } }, 'mapping.a', /\$run/],
    [
      'a field that the file does not have',
      { mapping: { a: { $path: 'emial' } } },
      'mapping.a',
      /The source has no field "emial"/,
    ],
    ['a bare constant', { mapping: { a: { b: 'x' } } }, 'mapping.a.b', /bare constant/],
    ['an empty mapping', { mapping: {} }, 'mapping', /empty/],
    ['a mapping that is a list', { mapping: [1] }, 'mapping', /object/],
    ['a file outside the root', { stream: '../secret.csv' }, 'stream', /./],
    ['an absolute path', { stream: '/etc/passwd' }, 'stream', /./],
    ['a missing file', { stream: 'missing.csv' }, 'stream', /missing\.csv/],
    ['an empty file', { stream: 'empty.csv' }, 'stream', /no header line/],
    ['a header twice', { stream: 'twice.csv' }, 'stream', /email/],
    ['an unknown option', { streamOptions: { sheet: 1 } }, 'streamOptions.sheet', /sheet/],
    ['an object that is no path', { object: 'contacts' }, 'object', /path/],
    [
      'an unknown object option',
      { objectOptions: { path: 'FAX' } },
      'objectOptions.path',
      /RECORD/,
    ],
    ['a page size of 0', { pageSize: 0 }, 'pageSize', /from 1 to 10000, and 0 was given/],
    ['a page size of 10,001', { pageSize: 10_001 }, 'pageSize', /10001 was given/],
    ['no name', { name: '' }, 'name', 'It must not be empty.'],
  ])(
    'with %s names the field and the reason, and stores nothing',
    async (_, given, field, reason) => {
      const workspace = await api().makeWorkspace()
      await api().writeFile('customers.csv', 'email\na@example.com\n')
      await api().writeFile('empty.csv', '')
      await api().writeFile('twice.csv', 'email,email\na,b\n')
      const input = { ...newSyncInput(await connectTools(workspace)), ...given }
      expect(await createSync(workspace, input)).toMatchObject({
        __typename: 'InvalidInput',
        problems: [
          { field, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
        ],
      })
      const { syncs } = await workspace.client.request(SyncsQuery, {})
      expect(syncs.edges).toEqual([])
    },
  )

  it('tells all problems at once', async () => {
    const workspace = await api().makeWorkspace()
    const tools = await connectTools(workspace)
    const swapped = {
      sourceConnectionId: tools.destinationConnectionId,
      destinationConnectionId: tools.sourceConnectionId,
    }
    const input = { ...newSyncInput(tools), ...swapped, mapping: {}, pageSize: 0 }
    const result = await createSync(workspace, input)
    expect(result).toMatchObject({
      problems: [
        { field: 'sourceConnectionId', reason: 'A connection of type http cannot be read from.' },
        {
          field: 'destinationConnectionId',
          reason: 'A connection of type file cannot be written to.',
        },
        { field: 'mapping' },
        { field: 'pageSize' },
      ],
    })
  })

  it('under a name that another one has is refused', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace, { name: 'Customers' })
    const other = await makeDraft(api(), workspace)
    const problems = [{ field: 'name', reason: 'Another sync of this workspace has this name.' }]
    const input = { ...newSyncInput(await connectTools(workspace)), name: 'Customers' }
    expect(await createSync(workspace, input)).toMatchObject({ problems })
    expect(await updateSync(workspace, { syncId: other.syncId, name: 'Customers' })).toMatchObject({
      problems,
    })
    expect(await updateSync(workspace, { syncId, name: 'Customers' })).toMatchObject({
      done: 'NOOP',
    })
  })
})

describe('changing a sync', () => {
  it('changes what is given and nothing else', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace, { onBrokenRecord: 'FAIL' })
    const before = await getSync(workspace, syncId)
    expect(await updateSync(workspace, { syncId, pageSize: 100 })).toMatchObject({ done: 'DONE' })
    expect((await getSync(workspace, syncId)).draft).toEqual({ ...before.draft, pageSize: 100 })
    expect(await updateSync(workspace, { syncId, pageSize: 100 })).toMatchObject({ done: 'NOOP' })
    expect(await countAudits(workspace.workspaceId)).toMatchObject({ updateSync: 1 })
  })

  it('does not touch what runs', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makePublishedSync(api(), workspace)
    await updateSync(workspace, { syncId, pageSize: 7 })
    expect(await getSync(workspace, syncId)).toMatchObject({
      hasUnpublishedChanges: true,
      draft: { pageSize: 7 },
      publication: { configuration: { pageSize: 500 } },
    })
  })

  it('cannot change its destination after the first publication', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makePublishedSync(api(), workspace)
    const { destinationConnectionId } = await connectTools(workspace)
    const reason = 'It is fixed since the first publication: create another sync instead.'
    const result = await updateSync(workspace, {
      syncId,
      destinationConnectionId,
      object: '/people',
    })
    expect(result).toMatchObject({
      __typename: 'InvalidInput',
      problems: [
        { field: 'destinationConnectionId', reason },
        { field: 'object', reason },
      ],
    })
    expect((await getSync(workspace, syncId)).hasUnpublishedChanges).toBe(false)
  })

  it('can change its destination before', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    const { destinationConnectionId } = await connectTools(workspace)
    const result = await updateSync(workspace, {
      syncId,
      destinationConnectionId,
      object: '/people',
    })
    expect(result).toMatchObject({ done: 'DONE' })
    expect((await getSync(workspace, syncId)).draft.destinationConnection.id).toBe(
      destinationConnectionId,
    )
  })

  it('loses none of many changes at the same time', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    const results = await Promise.all([
      updateSync(workspace, { syncId, pageSize: 11 }),
      updateSync(workspace, { syncId, object: '/people' }),
      updateSync(workspace, { syncId, onBrokenRecord: 'FAIL' }),
    ])
    expect(results.map((result) => result.__typename)).toEqual(Array(3).fill('ChangedSync'))
    expect((await getSync(workspace, syncId)).draft).toMatchObject({
      pageSize: 11,
      object: '/people',
      onBrokenRecord: 'FAIL',
    })
  })
})

describe('publishing a sync', () => {
  it('makes the draft the version that runs', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId } = await makeDraft(api(), workspace)
    expect(await publishSync(workspace, syncId)).toMatchObject({
      done: 'DONE',
      sync: { status: 'ACTIVE', hasUnpublishedChanges: false },
    })
    expect(await getSync(workspace, syncId)).toMatchObject({
      publication: { publishedBy: 'test', approvedBy: null },
    })
  })

  it('of the same version again changes nothing', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId, uuid } = await makePublishedSync(api(), workspace)
    expect(await publishSync(workspace, syncId)).toMatchObject({ done: 'NOOP' })
    const rows = await api().database.rows(sql`select id from publication where sync_id = ${uuid}`)
    expect(rows).toHaveLength(1)
    expect(await countAudits(workspace.workspaceId)).toMatchObject({ publishSync: 1 })
  })

  it('of a version that was published before shares its snapshot', async () => {
    const workspace = await api().makeWorkspace()
    const { syncId, uuid } = await makePublishedSync(api(), workspace)
    for (const pageSize of [10, 500]) {
      await updateSync(workspace, { syncId, pageSize })
      expect(await publishSync(workspace, syncId)).toMatchObject({ done: 'DONE' })
    }
    const [counted] = await api().database.rows(sql`
      select (select count(*)::int from publication where sync_id = ${uuid}) as publications,
        (select count(*)::int from sync_version where sync_id = ${uuid}) as versions`)
    expect(counted).toEqual({ publications: 3, versions: 2 })
  })

  it('is refused when its file has gone since', async () => {
    const workspace = await api().makeWorkspace()
    await api().writeFile('short-lived.csv', 'email\na@example.com\n')
    const { syncId } = await makeDraft(api(), workspace, { stream: 'short-lived.csv' })
    await api().writeFile('short-lived.csv', '')
    expect(await publishSync(workspace, syncId)).toMatchObject({
      __typename: 'InvalidInput',
      problems: [{ field: 'stream' }],
    })
    expect((await getSync(workspace, syncId)).status).toBe('DRAFT')
  })
})
