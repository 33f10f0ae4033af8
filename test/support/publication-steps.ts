/** The steps by which people publish with four eyes, through the API. Each throws when the API refuses. */
import type { ApiClient } from '../../src/client/api-client.ts'
import { AuditEntriesQuery } from '../../src/client/audit-documents.ts'
import { PublishSyncMutation, UpdateSyncMutation } from '../../src/client/documents.ts'
import {
  ApprovePublicationMutation,
  PublicationRequestQuery,
  RefusePublicationMutation,
  RequestPublicationMutation,
  SetPublishingPolicyMutation,
  SyncPublicationsQuery,
  WithdrawPublicationRequestMutation,
} from '../../src/client/publication-documents.ts'
import type { Role } from '../../src/domain/role.ts'
import type { TestApi } from './app.ts'
import { makeToken } from './factories.ts'
import { makeDraft, type Workspace } from './sync-steps.ts'

/** The reason that each of these steps gives. */
export const WHY = 'The auditors want it.'

/** A client with a token of its own in the workspace; its name is what the API shows of it. */
export async function makePerson(
  api: TestApi,
  workspaceId: string,
  role: Role,
  name: string = role,
): Promise<ApiClient> {
  return api.client((await makeToken(api.database, workspaceId, { name, role })).token)
}

/** The id of the request. */
export async function requestPublication(client: ApiClient, syncId: string): Promise<string> {
  const given = { syncId, reason: WHY }
  const { requestPublication: result } = await client.request(RequestPublicationMutation, given)
  if (result.__typename !== 'ChangedPublicationRequest') {
    throw new Error(result.message)
  }
  return result.request.id
}

export async function changeDraft(
  client: ApiClient,
  syncId: string,
  pageSize: number,
): Promise<void> {
  const input = { syncId, pageSize }
  const { updateSync: result } = await client.request(UpdateSyncMutation, { input })
  if (result.__typename !== 'ChangedSync') {
    throw new Error(result.message)
  }
}

/** A workspace with one of each who takes part; `client` is an admin of the name `test`. */
export async function makeTeam(api: TestApi) {
  const workspace = await api.makeWorkspace()
  const { workspaceId } = workspace
  return {
    workspace,
    admin: workspace.client,
    operator: await makePerson(api, workspaceId, 'operator'),
    publisher: await makePerson(api, workspaceId, 'publisher'),
    secondAdmin: await makePerson(api, workspaceId, 'admin', 'second admin'),
  }
}

export const approve = async (client: ApiClient, requestId: string) =>
  (await client.request(ApprovePublicationMutation, { requestId })).approvePublication

export const refuse = async (client: ApiClient, requestId: string) =>
  (await client.request(RefusePublicationMutation, { requestId, reason: WHY })).refusePublication

export const withdraw = async (client: ApiClient, requestId: string) =>
  (await client.request(WithdrawPublicationRequestMutation, { requestId, reason: WHY }))
    .withdrawPublicationRequest

export const publish = async (client: ApiClient, syncId: string) =>
  (await client.request(PublishSyncMutation, { syncId })).publishSync

export const setPolicy = async (client: ApiClient, needsApproval: boolean) =>
  (await client.request(SetPublishingPolicyMutation, { needsApproval, reason: WHY }))
    .setPublishingPolicy

export async function statusOf(client: ApiClient, id: string) {
  return (await client.request(PublicationRequestQuery, { id })).publicationRequest?.status
}

export async function publicationsOf({ client }: Pick<Workspace, 'client'>, syncId: string) {
  const { sync } = await client.request(SyncPublicationsQuery, { syncId })
  return { ...sync, publications: sync?.publications.edges.map(({ node }) => node) }
}

export async function lastDeed({ client }: Pick<Workspace, 'client'>) {
  const { auditEntries } = await client.request(AuditEntriesQuery, { first: 1 })
  return auditEntries.edges[0]?.node
}

/** That a draft be published: requested with a token of an operator, for another one to answer. */
export async function requestByAnother(api: TestApi, workspace: Workspace): Promise<string> {
  const { syncId } = await makeDraft(api, workspace)
  const operator = await makePerson(api, workspace.workspaceId, 'operator')
  return await requestPublication(operator, syncId)
}
