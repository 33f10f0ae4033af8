/** What a token may do depends on its role: for every mutation of the schema, and for what only an admin sees. */
import {
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import { NodeQuery, ViewerQuery } from '../../src/client/documents.ts'
import { TokensQuery } from '../../src/client/token-documents.ts'
import { includesRole, ROLES, type Role } from '../../src/domain/role.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { post } from '../support/api-client.ts'
import { useApi } from '../support/app.ts'
import { makeToken } from '../support/factories.ts'

const api = useApi()

/** The least role that may. */
const NEEDED: Readonly<Record<string, Role>> = {
  acknowledgeAlert: 'operator',
  approvePublication: 'admin',
  cancelRun: 'operator',
  createConnection: 'publisher',
  createSync: 'publisher',
  createToken: 'admin',
  discardRecords: 'operator',
  disconnectConnection: 'publisher',
  pauseSync: 'operator',
  publishSync: 'publisher',
  reconnectConnection: 'publisher',
  redriveRecords: 'operator',
  refusePublication: 'admin',
  requestPublication: 'operator',
  resetCursor: 'publisher',
  resumeSync: 'operator',
  retryRun: 'operator',
  retryRuns: 'operator',
  revokeToken: 'admin',
  runSync: 'operator',
  setPublishingPolicy: 'admin',
  settleDelivery: 'operator',
  testConnection: 'publisher',
  testSync: 'operator',
  updateSync: 'publisher',
  withdrawPublicationRequest: 'operator',
}

/** Of which type the id in an input's field is. */
const ID_TYPES: Readonly<Record<string, string>> = {
  alertId: 'Alert',
  connectionId: 'Connection',
  destinationConnectionId: 'Connection',
  intentId: 'Intent',
  recordIds: 'Record',
  requestId: 'PublicationRequest',
  runId: 'Run',
  runIds: 'Run',
  sourceConnectionId: 'Connection',
  syncId: 'Sync',
  tokenId: 'AccessToken',
}
const SCALARS: Readonly<Record<string, unknown>> = { String: 'x', Int: 1, Boolean: true, JSON: {} }

/** An input that can be read, of things that do not exist. */
function exampleOf(type: GraphQLInputType, field: string): unknown {
  if (isNonNullType(type)) {
    return exampleOf(type.ofType, field)
  }
  if (isListType(type)) {
    return [exampleOf(type.ofType, field)]
  }
  if (isInputObjectType(type)) {
    return Object.fromEntries(
      Object.values(type.getFields())
        .filter((each) => isNonNullType(each.type) || each.name === 'recordIds')
        .map((each) => [each.name, exampleOf(each.type, each.name)]),
    )
  }
  if (isEnumType(type)) {
    return type.getValues()[0]?.name
  }
  return type.name === 'ID'
    ? encodeGlobalId(ID_TYPES[field] ?? field, api().parts.ids.next())
    : SCALARS[type.name]
}

async function ask(token: string, mutation: string) {
  const field = apiSchema.getMutationType()?.getFields()[mutation]
  const [input] = field?.args ?? []
  if (!input) {
    throw new Error(`${mutation} takes no input.`)
  }
  const query = `mutation ($input: ${String(input.type)}) {
    result: ${mutation}(input: $input) {
      __typename ... on Forbidden { message neededRole }
    }
  }`
  const { body } = await post(api().address, query, {
    authorization: `Bearer ${token}`,
    variables: { input: exampleOf(input.type, 'input') },
  })
  const { result } = body.data as { result: { readonly __typename: string } }
  return result
}

const mutations = Object.keys(apiSchema.getMutationType()?.getFields() ?? {})

describe('a role', () => {
  it('is known for every mutation', () => {
    expect(mutations.sort()).toEqual(Object.keys(NEEDED))
  })

  it.each(ROLES)('of %s may do what it includes, and nothing else', async (role) => {
    const { workspaceId } = await api().makeWorkspace()
    const { token } = await makeToken(api().database, workspaceId, { name: 'it', role })
    for (const mutation of mutations) {
      const needed = NEEDED[mutation] ?? 'admin'
      const result = await ask(token, mutation)
      if (includesRole(role, needed)) {
        expect([mutation, result.__typename]).not.toEqual([mutation, 'Forbidden'])
      } else {
        const [has, needs] = [role.toUpperCase(), needed.toUpperCase()]
        const message = `The token "it" has the role ${has}, and this needs ${needs}${needed === 'admin' ? '' : ' or more'}. An ADMIN of the workspace can make a token that may do it.`
        expect([mutation, result]).toEqual([
          mutation,
          { __typename: 'Forbidden', message, neededRole: needs },
        ])
      }
    }
  })

  it.each(ROLES)('of %s reads everything but the tokens, which are an admin’s', async (role) => {
    const { workspaceId, tokenId } = await api().makeWorkspace()
    const { token } = await makeToken(api().database, workspaceId, { role })
    const client = api().client(token)
    expect((await client.request(ViewerQuery, {})).viewer.role).toBe(role.toUpperCase())
    const listed = await client.request(TokensQuery, {}).catch((error: unknown) => error)
    const id = encodeGlobalId('AccessToken', tokenId)
    const { auditEntries } = await client.request(AuditEntriesQuery, { filter: { subjectId: id } })
    const [made] = auditEntries.edges.map((edge) => edge.node)
    expect(made).toMatchObject({ action: 'createToken', before: null })
    expect(made?.after === null).toBe(role !== 'admin')
    const { node } = await client.request(NodeQuery, { id })
    if (role === 'admin') {
      expect(listed).toMatchObject({ tokens: { edges: [{}, {}] } })
      expect(node).toEqual({ __typename: 'AccessToken', id })
    } else {
      expect(listed).toMatchObject({ code: 'FORBIDDEN', message: expect.stringMatching(/ADMIN/) })
      expect(node).toBeNull()
    }
  })
})
