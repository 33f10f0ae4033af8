/** A mutation that is repeated with its client key is done once, and answered as the first time (I21). */
import { sql } from 'drizzle-orm'
import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isObjectType,
  isUnionType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { raise } from '../support/alerts.ts'
import { post } from '../support/api-client.ts'
import { openApi, type TestApi, useApi } from '../support/app.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { makeToken } from '../support/factories.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import { publicationInputs } from '../support/publication-deeds.ts'
import { runSteps } from '../support/run-steps.ts'
import {
  connectTools,
  type MadeSync,
  makeDraft,
  makePublishedSync,
  newName,
  newSyncInput,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()
const { putAside, putDoubt, putRun } = runSteps(api)

const REASON = 'The CRM moves.'
const PARALLEL = 20

type Input = Readonly<Record<string, unknown>>
type Answer = Readonly<Record<string, unknown>> & {
  readonly __typename: string
  readonly status?: unknown
  readonly secret?: unknown
}
type Prepare = (workspace: Workspace, sync: MadeSync) => Promise<Input> | Input

/** For each mutation what it can be asked for, once. */
const INPUTS: Readonly<Record<string, Prepare>> = {
  ...publicationInputs(api),
  acknowledgeAlert: async ({ workspaceId }) => {
    const { id } = await raise(api().database, { workspaceId })
    return { alertId: encodeGlobalId('Alert', id) }
  },
  cancelRun: async (workspace, sync) => {
    const runId = await putRun(workspace, sync, { status: 'queued' })
    return { runId, reason: REASON }
  },
  createConnection: () => ({ name: newName('tool'), type: 'file', config: {} }),
  createSync: async (workspace) => ({ ...newSyncInput(await connectTools(workspace)) }),
  createToken: () => ({ name: 'script', role: 'VIEWER' }),
  discardRecords: async (workspace, sync) => {
    const recordIds = await putAside(workspace, sync)
    return { syncId: sync.syncId, recordIds, reason: REASON }
  },
  disconnectConnection: (_, { destinationConnectionId: connectionId }) => ({
    ...{ connectionId, reason: REASON },
  }),
  pauseSync: (_, { syncId }) => ({ syncId, reason: REASON }),
  publishSync: async (workspace) => ({ syncId: (await makeDraft(api(), workspace)).syncId }),
  reconnectConnection: (_, { destinationConnectionId: connectionId }) => ({
    ...{ connectionId, credentials: {} },
  }),
  redriveRecords: async (workspace, sync) => {
    const recordIds = await putAside(workspace, sync)
    return { syncId: sync.syncId, recordIds }
  },
  resetCursor: async (_, { syncId, uuid }) => {
    await api().database.rows(sql`
      update sync_fence set reached = 'x', saved_cursor = 'x' where sync_id = ${uuid}`)
    return { syncId, reason: REASON }
  },
  resumeSync: async (workspace, { syncId }) => {
    await ask(workspace, 'pauseSync', { syncId, reason: REASON })
    return { syncId }
  },
  retryRun: async (workspace, sync) => ({
    runId: await putRun(workspace, sync, { status: 'failed' }),
  }),
  retryRuns: async (workspace, sync) => ({
    runIds: [await putRun(workspace, sync, { status: 'failed' })],
  }),
  revokeToken: async ({ workspaceId }) => {
    const { tokenId } = await makeToken(api().database, workspaceId)
    return { tokenId: encodeGlobalId('AccessToken', tokenId), reason: REASON }
  },
  runSync: (_, { syncId }) => ({ syncId }),
  settleDelivery: async (workspace, sync) => ({
    ...{ intentId: await putDoubt(workspace, sync), outcome: 'DELIVERED', reason: REASON },
  }),
  testConnection: (_, { destinationConnectionId: connectionId }) => ({ connectionId }),
  testSync: (_, { syncId }) => ({ syncId, limit: 3 }),
  updateSync: (_, { syncId }) => ({ syncId, pageSize: 9 }),
}

/** Of something that does not exist, or without a name or a reason. */
function otherOf(input: Input): Input {
  if ('runIds' in input) {
    return { ...input, runIds: [] }
  }
  const idField = Object.keys(input).find((field) => field.endsWith('Id') && !('name' in input))
  if (idField === undefined) {
    return { ...input, ['name' in input ? 'name' : 'reason']: '' }
  }
  const [type = ''] = String(input[idField]).split('_')
  return { ...input, [idField]: encodeGlobalId(type, api().parts.ids.next()) }
}

const mutations = apiSchema.getMutationType()?.getFields() ?? {}
const MUTATIONS = Object.keys(mutations)

function fieldOf(mutation: string): GraphQLField<unknown, unknown> {
  const field = mutations[mutation]
  if (!field) {
    throw new Error(`There is no mutation ${mutation}.`)
  }
  return field
}

/** What the mutation answers with when it is not refused. */
function payloadOf(mutation: string): GraphQLObjectType {
  const type = getNamedType(fieldOf(mutation).type)
  const members = isUnionType(type) ? type.getTypes() : []
  const [payload] = members.filter((member) => member.getInterfaces().length === 0)
  if (!payload) {
    throw new Error(`${mutation} has no payload.`)
  }
  return payload
}

/** All that the payload itself says, and the ids of what it is about. */
function selectionOf(payload: GraphQLObjectType): string {
  return Object.values(payload.getFields())
    .map(({ name, type }) => {
      const named = getNamedType(type)
      if (isLeafType(named) || !isObjectType(named)) {
        return isUnionType(named) ? `${name} { __typename }` : name
      }
      const fields = Object.values(named.getFields())
      const leaves = fields.filter((field) => isLeafType(getNamedType(field.type)))
      const names = leaves.map((field) => field.name)
      return `${name} { ${names.includes('id') ? 'id' : names.join(' ')} }`
    })
    .join(' ')
}

async function ask(
  given: { readonly token: string; readonly address?: string },
  mutation: string,
  input: Input,
): Promise<Answer> {
  const [argument] = fieldOf(mutation).args
  const payload = payloadOf(mutation)
  const query = `mutation ($input: ${String(argument?.type)}) {
    result: ${mutation}(input: $input) {
      __typename
      ... on ${payload.name} { ${selectionOf(payload)} }
      ... on InvalidInput { problems { field reason } }
      ... on Refusal { message }
    }
  }`
  const { body } = await post(given.address ?? api().address, query, {
    authorization: `Bearer ${given.token}`,
    variables: { input },
  })
  if (body.errors) {
    throw new Error(body.errors.map(({ message }) => message).join(' '))
  }
  return (body.data as { result: Answer }).result
}

/** How often the mutation stands in the audit trail. */
async function countDeeds({ client }: Workspace, action: string): Promise<number> {
  const filter = { action }
  return (await client.request(AuditEntriesQuery, { first: 100, filter })).auditEntries.edges.length
}

async function prepare(mutation: string) {
  const workspace = await api().makeWorkspace()
  const sync = await makePublishedSync(api(), workspace)
  const input = (await INPUTS[mutation]?.(workspace, sync)) ?? {}
  return { workspace, sync, input, before: await countDeeds(workspace, mutation) }
}

async function makeActive() {
  const workspace = await api().makeWorkspace()
  return { workspace, sync: await makePublishedSync(api(), workspace) }
}

const toolsOf = ({ sourceConnectionId, destinationConnectionId }: MadeSync) => ({
  ...{ sourceConnectionId, destinationConnectionId },
})

const USED = {
  __typename: 'InvalidInput',
  problems: [{ field: 'clientKey', reason: 'This key was used before for another request.' }],
}

describe('a client key', () => {
  it('is taken by every mutation, and this file knows what to ask of each', () => {
    expect(Object.keys(INPUTS).sort()).toEqual([...MUTATIONS].sort())
    const without = MUTATIONS.filter((mutation) => {
      const type = getNamedType(fieldOf(mutation).args[0]?.type)
      return !isInputObjectType(type) || !('clientKey' in type.getFields())
    })
    expect(without).toEqual([])
  })

  it.each(MUTATIONS)(
    'of %s is free after a refusal; then it is done once, answered alike, and no other input has it',
    async (mutation) => {
      const { workspace, input, before } = await prepare(mutation)
      const clientKey = newName('key')
      const send = (given: Input) => ask(workspace, mutation, { ...given, clientKey })
      expect((await send(otherOf(input))).__typename).toMatch(/^(NotFound|InvalidInput)$/)
      const first = await send(input)
      expect(first.__typename).toBe(payloadOf(mutation).name)
      expect(first.status).not.toBe('NOOP')
      const secret = mutation === 'createToken' ? { secret: null } : {}
      expect(await send(input)).toEqual({ ...first, ...secret })
      expect(await send(otherOf(input))).toMatchObject(USED)
      expect(await send(input)).toEqual({ ...first, ...secret })
      expect(await countDeeds(workspace, mutation)).toBe(before + 1)
    },
  )

  it.each(MUTATIONS)(
    'of %s in many requests at once is used by one of them, and all are answered alike',
    async (mutation) => {
      const { workspace, input, before } = await prepare(mutation)
      const clientKey = newName('key')
      const answers = await Promise.all(
        Array.from({ length: PARALLEL }, () => ask(workspace, mutation, { ...input, clientKey })),
      )
      const told = answers.map(({ secret, ...answer }) => answer)
      expect(told).toEqual(Array(PARALLEL).fill(told[0]))
      expect(told[0]?.__typename).toBe(payloadOf(mutation).name)
      expect(await countDeeds(workspace, mutation)).toBe(before + 1)
      const secrets = answers.filter(({ secret }) => typeof secret === 'string')
      expect(secrets).toHaveLength(mutation === 'createToken' ? 1 : 0)
    },
  )

  it('is answered alike whatever has become of what was done since', async () => {
    const { workspace, sync } = await makeActive()
    const runSync = () => ask(workspace, 'runSync', { syncId: sync.syncId, clientKey: 'run' })
    const started = await runSync()
    await ask(workspace, 'pauseSync', { syncId: sync.syncId, reason: REASON })
    expect(await runSync()).toEqual(started)
    expect(await ask(workspace, 'runSync', { syncId: sync.syncId })).toMatchObject({
      __typename: 'SyncPaused',
    })

    const stream = `${newName('file')}.csv`
    await api().writeFile(stream, 'email\nada@example.com\n')
    const input = { ...newSyncInput(toolsOf(sync)), stream, clientKey: 'create' }
    const created = await ask(workspace, 'createSync', input)
    await api().writeFile(stream, 'nothing\nof it\n')
    expect(await ask(workspace, 'createSync', input)).toEqual(created)
    const { clientKey, ...again } = { ...input, name: newName('sync') }
    expect(await ask(workspace, 'createSync', again)).toMatchObject({ __typename: 'InvalidInput' })
  })

  it.each(['pauseSync', 'cancelRun'])(
    'of %s answers the time by which the run stops as it was told first',
    async (mutation) => {
      const { workspace, sync } = await makeActive()
      const { syncId } = sync
      const runId = await putRun(workspace, sync, { status: 'running' })
      const of = mutation === 'pauseSync' ? { syncId } : { runId }
      const send = () => ask(workspace, mutation, { ...of, reason: REASON, clientKey: 'stop' })
      const first = await send()
      expect(first).toMatchObject({ status: 'WILL_STOP_BY', willStopBy: expect.any(String) })
      expect(await send()).toEqual(first)
    },
  )

  it('stands for one mutation only, and for another request in another workspace', async () => {
    const [mine, other] = [await makeActive(), await makeActive()]
    const send = ({ workspace, sync }: typeof mine, mutation: string) =>
      ask(workspace, mutation, { syncId: sync.syncId, clientKey: 'the key' })
    const run = await send(mine, 'runSync')
    expect(await send(mine, 'resumeSync')).toMatchObject(USED)
    const elsewhere = await send(other, 'runSync')
    expect(elsewhere).toMatchObject({ __typename: 'StartedRun' })
    expect(elsewhere).not.toEqual(run)
  })

  it('is for those who may do what it stands for', async () => {
    const { workspace, sync } = await makeActive()
    const input = { syncId: sync.syncId, clientKey: 'the key' }
    await ask(workspace, 'runSync', input)
    const viewer = await makeToken(api().database, workspace.workspaceId, { role: 'viewer' })
    expect(await ask(viewer, 'runSync', input)).toMatchObject({ __typename: 'Forbidden' })
  })

  it('is of the same request however that is written', async () => {
    const { workspace, sync } = await makeActive()
    const [name, clientKey] = [newName('sync'), 'the key']
    const mapping = { email: { $path: 'email' }, name: { $path: 'name' } }
    const input = { ...newSyncInput(toolsOf(sync)), name, clientKey, mapping }
    const { email, ...rest } = mapping
    const first = await ask(workspace, 'createSync', input)
    const written = { ...input, mapping: { ...rest, email }, onRejected: 'HOLD', schedule: null }
    expect(await ask(workspace, 'createSync', written)).toEqual(first)
    expect(
      await ask(workspace, 'createSync', { ...input, onRejected: 'QUARANTINE' }),
    ).toMatchObject(USED)
  })

  it('tells inputs apart that are nested as deep as is allowed', async () => {
    const { workspace, sync } = await makeActive()
    const input = { ...newSyncInput(toolsOf(sync)), clientKey: 'the key' }
    const nest = (leaf: number) =>
      JSON.parse(`${'['.repeat(61)}${leaf}${']'.repeat(61)}`) as unknown
    const send = (leaf: number) => {
      const mapping = { email: { $path: 'email' }, deep: { $const: nest(leaf) } }
      return ask(workspace, 'createSync', { ...input, mapping })
    }
    expect(await send(1)).toMatchObject({ __typename: 'ChangedSync' })
    expect(await send(2)).toMatchObject(USED)
  })

  it.each([
    ['is empty', '', /must not be empty/],
    ['is too long', 'x'.repeat(201), /at most 200/],
    ['the database cannot hold', 'a\u0000', /NUL/],
  ])('that %s is refused', async (_, clientKey, reason) => {
    const { workspace, sync } = await makeActive()
    expect(await ask(workspace, 'runSync', { syncId: sync.syncId, clientKey })).toMatchObject({
      __typename: 'InvalidInput',
      problems: [{ field: 'clientKey', reason: expect.stringMatching(reason) }],
    })
    const longest = { syncId: sync.syncId, clientKey: 'x'.repeat(200) }
    expect(await ask(workspace, 'runSync', longest)).toMatchObject({ __typename: 'StartedRun' })
  })

  it('keeps neither a secret nor credentials, and nothing of input that is nested too deep', async () => {
    const { workspace } = await makeActive()
    const made = await ask(workspace, 'createToken', {
      ...{ name: 'script', role: 'ADMIN', clientKey: 'token' },
    })
    const tool = { name: newName('tool'), type: 'http', config: { baseUrl: 'http://127.0.0.1:9' } }
    const credentials = { bearerToken: 'Mrs-Havisham-1812' }
    await ask(workspace, 'createConnection', { ...tool, credentials, clientKey: 'tool' })
    const deep = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) as unknown
    const deepTool = { ...tool, name: newName('tool'), config: deep, clientKey: 'deep' }
    expect(await ask(workspace, 'createConnection', deepTool)).toMatchObject({
      problems: [{ field: 'config' }],
    })
    const kept = await api().database.rows(sql`
      select client_key, row_to_json(command_key)::text as text from command_key
      where workspace_id = ${workspace.workspaceId} order by client_key`)
    expect(kept.map(({ client_key }) => client_key)).toEqual(['token', 'tool'])
    const text = JSON.stringify(kept)
    expect(text).not.toContain(credentials.bearerToken)
    expect(text).not.toContain(String(made.secret).slice('tajo_'.length))
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a repetition that is refused', () => {
  let test: TestDatabase
  let mine: TestApi

  beforeAll(async () => {
    test = await createTestDatabase()
    mine = await openApi(await test.open())
  })
  afterAll(async () => {
    await mine.stop()
    await test.drop()
  })

  it('by its checks, while the first is being done, waits for that and is answered alike', async () => {
    const workspace = { ...(await mine.makeWorkspace()), address: mine.address }
    const { syncId, uuid } = await makePublishedSync(mine, workspace)
    const send = () => ask(workspace, 'updateSync', { syncId, pageSize: 9, clientKey: 'the key' })
    const held = await holdOpen(mine.database, (tx) =>
      tx.rows(sql`select 1 from sync where id = ${uuid} for update`),
    )
    const first = send()
    await waitUntilBlocked(mine.database, 1)
    await mine.writeFile('customers.csv', 'nothing\nof it\n')
    const second = send()
    await waitUntilBlocked(mine.database, 2)
    await held.release()
    expect(await first).toMatchObject({ __typename: 'ChangedSync', status: 'DONE' })
    expect(await second).toEqual(await first)
  })
})
