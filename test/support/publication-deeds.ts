/** The deeds of publishing with four eyes, for the tests of what holds for every mutation. */
import {
  ApprovePublicationMutation,
  RefusePublicationMutation,
  RequestPublicationMutation,
  SetPublishingPolicyMutation,
  WithdrawPublicationRequestMutation,
} from '../../src/client/publication-documents.ts'
import type { TestApi } from './app.ts'
import type { Prepare } from './deed.ts'
import { requestByAnother, requestPublication, WHY } from './publication-steps.ts'
import { makeDraft, type Workspace } from './sync-steps.ts'

export const publicationDeeds = (api: () => TestApi): Readonly<Record<string, Prepare>> => ({
  requestPublication: async ({ workspace, sync: { syncId: published } }) => {
    const { syncId } = await makeDraft(api(), workspace)
    const request = (id: string, reason = WHY) =>
      workspace.client.request(RequestPublicationMutation, { syncId: id, reason })
    return {
      before: () => Promise.all([request(published), request(syncId, '')]),
      changes: () => request(syncId),
      after: [() => request(syncId)],
    }
  },
  approvePublication: async ({ workspace }) => {
    const { requestId, own } = await requestTwo(api(), workspace)
    const approve = (id: string) =>
      workspace.client.request(ApprovePublicationMutation, { requestId: id })
    return {
      before: () => approve(own),
      changes: () => approve(requestId),
      after: [() => approve(requestId)],
    }
  },
  refusePublication: async ({ workspace }) => {
    const { requestId, own } = await requestTwo(api(), workspace)
    const refuse = (id: string) =>
      workspace.client.request(RefusePublicationMutation, { requestId: id, reason: WHY })
    return {
      before: () => refuse(own),
      changes: () => refuse(requestId),
      after: [() => refuse(requestId)],
    }
  },
  withdrawPublicationRequest: async ({ workspace }) => {
    const { own: requestId } = await requestTwo(api(), workspace)
    const withdraw = (reason: string) =>
      workspace.client.request(WithdrawPublicationRequestMutation, { requestId, reason })
    return {
      before: () => withdraw(''),
      changes: () => withdraw(WHY),
      after: [() => withdraw(WHY)],
    }
  },
  setPublishingPolicy: ({ workspace: { client } }) => {
    const set = (needsApproval: boolean) =>
      client.request(SetPublishingPolicyMutation, { needsApproval, reason: WHY })
    return { before: () => set(false), changes: () => set(true), after: [() => set(true)] }
  },
})

/** What each can be asked for, once. */
export const publicationInputs = (api: () => TestApi) => {
  const requested = async (workspace: Workspace) => ({
    requestId: await requestByAnother(api(), workspace),
  })
  const withReason = async (workspace: Workspace) => ({
    ...(await requested(workspace)),
    reason: WHY,
  })
  return {
    approvePublication: requested,
    refusePublication: withReason,
    requestPublication: async (workspace: Workspace) => ({
      syncId: (await makeDraft(api(), workspace)).syncId,
      reason: WHY,
    }),
    setPublishingPolicy: () => ({ needsApproval: true, reason: WHY }),
    withdrawPublicationRequest: withReason,
  }
}

/** Two drafts to be published: one requested with another token, one with this. */
async function requestTwo(api: TestApi, workspace: Workspace) {
  const requestId = await requestByAnother(api, workspace)
  const { syncId } = await makeDraft(api, workspace)
  return { requestId, own: await requestPublication(workspace.client, syncId) }
}
