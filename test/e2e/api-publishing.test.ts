/** Publishing with four eyes: one requests, another approves, and nothing else is published (I22). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { ApiClient } from '../../src/client/api-client.ts'
import {
  NodeQuery,
  PauseSyncMutation,
  ResumeSyncMutation,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import {
  PublicationRequestQuery,
  PublicationRequestsQuery,
  RequestPublicationMutation,
} from '../../src/client/publication-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import {
  approve,
  changeDraft,
  lastDeed,
  makePerson,
  makeTeam,
  publicationsOf,
  publish,
  refuse,
  requestPublication,
  statusOf,
  WHY,
  withdraw,
} from '../support/publication-steps.ts'
import { makeDraft, makePublishedSync } from '../support/sync-steps.ts'

const api = useApi()

describe('a request to publish', () => {
  it('is published as it was made once an admin approves, and says who did what', async () => {
    const { workspace, admin, operator } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const { requestPublication: requested } = await operator.request(RequestPublicationMutation, {
      ...{ syncId, reason: WHY },
    })
    expect(requested).toMatchObject({
      status: 'DONE',
      request: { status: 'OPEN', requestedBy: 'operator' },
    })
    const requestId =
      requested.__typename === 'ChangedPublicationRequest' ? requested.request.id : ''
    expect(await publicationsOf(workspace, syncId)).toMatchObject({
      ...{ status: 'DRAFT', publication: null, publications: [] },
      publicationRequest: { id: requestId, status: 'OPEN' },
    })

    const approved = await approve(admin, requestId)
    expect(approved).toMatchObject({
      status: 'DONE',
      request: { status: 'APPROVED', closedBy: 'test', sync: { status: 'ACTIVE' } },
    })
    const { publications, ...after } = await publicationsOf(workspace, syncId)
    const [publication] = publications ?? []
    expect(publications).toHaveLength(1)
    expect(publication).toMatchObject({
      ...{ publishedBy: 'operator', approvedBy: 'test' },
      request: { id: requestId, reason: WHY },
      versionDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(after).toMatchObject({
      ...{ status: 'ACTIVE', hasUnpublishedChanges: false, publicationRequest: null },
      publication: { id: publication?.id },
    })
    expect(await lastDeed(workspace)).toMatchObject({
      ...{ actor: 'test', action: 'approvePublication', subject: { id: syncId } },
      before: { status: 'draft', versionDigest: null, requestStatus: 'open' },
      after: {
        ...{ status: 'active', requestStatus: 'approved', publishedBy: 'operator' },
        ...{ versionDigest: publication?.versionDigest, requestReason: WHY },
      },
    })
  })

  it.each(['operator', 'admin'] as const)(
    'that was made as an %s is neither approved nor refused with the same token',
    async (role) => {
      const { workspace, secondAdmin } = await makeTeam(api())
      const { syncId } = await makeDraft(api(), workspace)
      const admin = await makePerson(api(), workspace.workspaceId, role, 'both')
      const requestId = await requestPublication(admin, syncId)
      // The token is what counts, also where it may more by now.
      await api().database.rows(sql`update access_token set role = 'admin' where name = 'both'`)
      const own = { __typename: 'OwnRequest', message: expect.stringMatching(/another token/) }
      expect(await approve(admin, requestId)).toMatchObject(own)
      expect(await refuse(admin, requestId)).toMatchObject(own)
      expect(await statusOf(admin, requestId)).toBe('OPEN')
      expect(await publicationsOf(workspace, syncId)).toMatchObject({ status: 'DRAFT' })
      expect(await approve(secondAdmin, requestId)).toMatchObject({ status: 'DONE' })
      expect(await approve(admin, requestId)).toMatchObject(own)
    },
  )

  it('is neither approved nor refused by less than an admin', async () => {
    const { workspace, operator, publisher } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const requestId = await requestPublication(operator, syncId)
    expect((await approve(publisher, requestId)).__typename).toBe('Forbidden')
    expect((await refuse(publisher, requestId)).__typename).toBe('Forbidden')
    expect(await statusOf(operator, requestId)).toBe('OPEN')
  })

  it('is over once the draft changes, and says so; the draft as it is now can be requested', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const stale = await requestPublication(operator, syncId)
    await changeDraft(publisher, syncId, 9)
    expect(await lastDeed(workspace)).toMatchObject({
      ...{ actor: 'publisher', action: 'updateSync' },
      after: { supersededRequestId: expect.any(String) },
    })
    expect(await approve(admin, stale)).toMatchObject({
      ...{ __typename: 'RequestClosed', requestStatus: 'SUPERSEDED' },
      message: expect.stringMatching(/draft was changed/),
    })
    expect(await publicationsOf(workspace, syncId)).toMatchObject({
      ...{ status: 'DRAFT', publicationRequest: null, publications: [] },
    })
    const fresh = await requestPublication(operator, syncId)
    expect(await approve(admin, fresh)).toMatchObject({ status: 'DONE' })
    const { publications } = await publicationsOf(workspace, syncId)
    expect(publications).toMatchObject([{ configuration: { pageSize: 9 }, request: { id: fresh } }])
    const { publicationRequests } = await admin.request(PublicationRequestsQuery, {})
    expect(publicationRequests.edges.map(({ node }) => node)).toMatchObject([
      { id: fresh, status: 'APPROVED', closedBy: 'test' },
      { id: stale, status: 'SUPERSEDED', closedBy: 'publisher', closingReason: null },
    ])
  })

  it('stays when only the name changes', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const requestId = await requestPublication(operator, syncId)
    await publisher.request(UpdateSyncMutation, { input: { syncId, name: 'Another name' } })
    expect(await approve(admin, requestId)).toMatchObject({ status: 'DONE' })
  })

  it('is not approved for a draft that a process changed that knows of no requests', async () => {
    const { workspace, admin, operator } = await makeTeam(api())
    const { syncId, uuid } = await makeDraft(api(), workspace)
    const stale = await requestPublication(operator, syncId)
    await api().database.rows(sql`
      update sync set draft = jsonb_set(draft, '{pageSize}', '7') where id = ${uuid}`)
    expect(await approve(admin, stale)).toMatchObject({
      ...{ __typename: 'RequestClosed', requestStatus: 'SUPERSEDED' },
    })
    expect(await publicationsOf(workspace, syncId)).toMatchObject({ publications: [] })
    const fresh = await requestPublication(operator, syncId)
    expect(await statusOf(operator, stale)).toBe('SUPERSEDED')
    expect(await approve(admin, fresh)).toMatchObject({ status: 'DONE' })
  })

  it('is over once its version is published, or resumed, without it', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const published = await requestPublication(operator, syncId)
    expect(await publish(publisher, syncId)).toMatchObject({ done: 'DONE' })
    expect(await approve(admin, published)).toMatchObject({ requestStatus: 'SUPERSEDED' })

    await operator.request(PauseSyncMutation, { syncId, reason: WHY })
    const resumed = await requestPublication(operator, syncId)
    await operator.request(ResumeSyncMutation, { syncId })
    expect(await approve(admin, resumed)).toMatchObject({ requestStatus: 'SUPERSEDED' })
    expect((await publicationsOf(workspace, syncId)).publications).toHaveLength(1)
  })

  it('stays when the version before it is resumed', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId } = await makePublishedSync(api(), workspace)
    await changeDraft(publisher, syncId, 9)
    const requestId = await requestPublication(operator, syncId)
    await operator.request(PauseSyncMutation, { syncId, reason: WHY })
    await operator.request(ResumeSyncMutation, { syncId })
    expect(await approve(admin, requestId)).toMatchObject({ status: 'DONE' })
  })

  it('is one a sync, whoever asks, and none for what runs', async () => {
    const { workspace, operator, publisher } = await makeTeam(api())
    const { syncId } = await makePublishedSync(api(), workspace)
    const ask = async (client: ApiClient, reason = WHY) =>
      (await client.request(RequestPublicationMutation, { syncId, reason })).requestPublication
    expect(await ask(operator)).toMatchObject({ __typename: 'NothingToPublish' })
    await changeDraft(publisher, syncId, 9)
    const first = await ask(operator)
    expect(first).toMatchObject({ status: 'DONE' })
    const request = first.__typename === 'ChangedPublicationRequest' ? first.request : null
    expect(await ask(publisher, 'Me too.')).toEqual({ ...first, status: 'NOOP', request })
    expect(await ask(operator, '')).toMatchObject({ problems: [{ field: 'reason' }] })
  })

  it('is not made of a draft that cannot be published, and not approved once it cannot', async () => {
    const { workspace, admin, operator } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const requestId = await requestPublication(operator, syncId)
    await api().writeFile('customers.csv', 'nothing\nof it\n')
    expect(await approve(admin, requestId)).toMatchObject({ __typename: 'InvalidInput' })
    expect(await withdraw(operator, requestId)).toMatchObject({ status: 'DONE' })
    const { requestPublication: again } = await operator.request(RequestPublicationMutation, {
      ...{ syncId, reason: WHY },
    })
    expect(again).toMatchObject({ __typename: 'InvalidInput' })
  })

  it('is refused with a reason, once, and can be made again', async () => {
    const { workspace, admin, operator, secondAdmin } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const requestId = await requestPublication(operator, syncId)
    expect(await refuse(admin, requestId)).toMatchObject({
      status: 'DONE',
      request: { status: 'REFUSED', closedBy: 'test', closingReason: WHY },
    })
    expect(await lastDeed(workspace)).toMatchObject({
      ...{ actor: 'test', action: 'refusePublication', reason: WHY },
      ...{ before: { requestStatus: 'open' }, after: { requestStatus: 'refused' } },
    })
    expect(await refuse(secondAdmin, requestId)).toMatchObject({
      ...{ status: 'NOOP', request: { closedBy: 'test' } },
    })
    expect(await approve(secondAdmin, requestId)).toMatchObject({
      ...{ __typename: 'RequestClosed', requestStatus: 'REFUSED' },
    })
    const again = await requestPublication(operator, syncId)
    expect(again).not.toBe(requestId)
    expect(await approve(admin, again)).toMatchObject({ status: 'DONE' })
    expect(await refuse(admin, again)).toMatchObject({ requestStatus: 'APPROVED' })
  })

  it('is withdrawn by whoever made it and by an admin, and by nobody else', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId } = await makeDraft(api(), workspace)
    const first = await requestPublication(operator, syncId)
    expect(await withdraw(publisher, first)).toMatchObject({
      ...{ __typename: 'Forbidden', neededRole: 'ADMIN' },
    })
    expect(await withdraw(operator, first)).toMatchObject({
      status: 'DONE',
      request: { status: 'WITHDRAWN', closedBy: 'operator', closingReason: WHY },
    })
    expect(await withdraw(admin, first)).toMatchObject({ status: 'NOOP' })
    const second = await requestPublication(admin, syncId)
    expect(await withdraw(operator, second)).toMatchObject({ __typename: 'Forbidden' })
    expect(await withdraw(admin, second)).toMatchObject({ status: 'DONE' })
    const third = await requestPublication(operator, syncId)
    expect(await withdraw(admin, third)).toMatchObject({ request: { closedBy: 'test' } })
    expect(await approve(admin, third)).toMatchObject({ requestStatus: 'WITHDRAWN' })
  })

  it('waits while the sync is still pausing', async () => {
    const { workspace, admin, operator, publisher } = await makeTeam(api())
    const { syncId, uuid } = await makePublishedSync(api(), workspace)
    await changeDraft(publisher, syncId, 9)
    await api().database.rows(sql`
      update sync set status = 'pausing', pause_cause = 'person' where id = ${uuid}`)
    const requestId = await requestPublication(operator, syncId)
    expect(await approve(admin, requestId)).toMatchObject({ __typename: 'SyncStillPausing' })
    await api().database.rows(sql`update sync set status = 'paused' where id = ${uuid}`)
    expect(await approve(admin, requestId)).toMatchObject({ status: 'DONE' })
  })

  it('is listed by sync and status, page by page, and found by its id', async () => {
    const { workspace, admin, operator } = await makeTeam(api())
    const [one, two] = [await makeDraft(api(), workspace), await makeDraft(api(), workspace)]
    const refused = await requestPublication(operator, one.syncId)
    await refuse(admin, refused)
    const open = await requestPublication(operator, one.syncId)
    const other = await requestPublication(admin, two.syncId)
    const list = async (given: object) =>
      (await operator.request(PublicationRequestsQuery, given)).publicationRequests
    const idsOf = async (filter: object) =>
      (await list({ filter })).edges.map(({ node }) => node.id)
    expect(await idsOf({})).toEqual([other, open, refused])
    expect(await idsOf({ status: 'OPEN' })).toEqual([other, open])
    expect(await idsOf({ syncId: one.syncId })).toEqual([open, refused])
    expect(await idsOf({ syncId: one.syncId, status: 'REFUSED' })).toEqual([refused])
    const first = await list({ first: 2 })
    expect(first.pageInfo.hasNextPage).toBe(true)
    const rest = await list({ first: 2, after: first.pageInfo.endCursor })
    expect(rest.edges.map(({ node }) => node.id)).toEqual([refused])
    expect((await list({ first: 2 })).edges.map(({ node }) => node.isOwn)).toEqual([false, true])
    const { node } = await operator.request(NodeQuery, { id: open })
    expect(node).toEqual({ __typename: 'PublicationRequest', id: open })
  })

  it('does not exist for another workspace, and neither does what came of it (I13)', async () => {
    const [{ workspace, admin, operator }, stranger] = [
      await makeTeam(api()),
      await makeTeam(api()),
    ]
    const { syncId } = await makeDraft(api(), workspace)
    const requestId = await requestPublication(operator, syncId)
    const missing = encodeGlobalId('PublicationRequest', api().parts.ids.next())
    const told = async (id: string) => [
      await approve(stranger.admin, id),
      await refuse(stranger.admin, id),
      await withdraw(stranger.admin, id),
      await stranger.admin.request(PublicationRequestQuery, { id }),
      await stranger.admin.request(NodeQuery, { id }),
    ]
    expect(await told(requestId)).toEqual(await told(missing))
    const filter = { syncId }
    const { publicationRequests } = await stranger.admin.request(PublicationRequestsQuery, {
      filter,
    })
    expect(publicationRequests.edges).toEqual([])
    expect(await statusOf(operator, requestId)).toBe('OPEN')
    await approve(admin, requestId)
    const { publication } = await publicationsOf(workspace, syncId)
    const { node } = await stranger.admin.request(NodeQuery, { id: publication?.id ?? '' })
    expect(node).toBeNull()
  })
})
