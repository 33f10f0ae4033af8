/** A workspace may want four eyes for whatever is published in it (I22). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { PauseSyncMutation, ResumeSyncMutation, SyncQuery } from '../../src/client/documents.ts'
import { PublishingPolicyQuery } from '../../src/client/publication-documents.ts'
import { useApi } from '../support/app.ts'
import {
  approve,
  lastDeed,
  makeTeam,
  publicationsOf,
  publish,
  requestPublication,
  setPolicy,
  WHY,
} from '../support/publication-steps.ts'
import { makeDraft, makePublishedSync } from '../support/sync-steps.ts'

const api = useApi()

describe('a workspace that wants four eyes', () => {
  it('refuses to publish to everybody, also what runs, and says the way', async () => {
    const { workspace, admin, operator, publisher, secondAdmin } = await makeTeam(api())
    const [active, draft] = [
      await makePublishedSync(api(), workspace),
      await makeDraft(api(), workspace),
    ]
    expect(await setPolicy(admin, true)).toEqual({
      ...{ __typename: 'PublishingPolicy', status: 'DONE', needsApproval: true },
    })
    expect(await operator.request(PublishingPolicyQuery, {})).toEqual({
      viewer: { publishingNeedsApproval: true },
    })
    const refused = {
      __typename: 'ApprovalNeeded',
      message: expect.stringMatching(/requestPublication/),
    }
    for (const client of [admin, publisher]) {
      expect(await publish(client, draft.syncId)).toMatchObject(refused)
      expect(await publish(client, active.syncId)).toMatchObject(refused)
    }
    const requestId = await requestPublication(admin, draft.syncId)
    expect(await approve(admin, requestId)).toMatchObject({ __typename: 'OwnRequest' })
    expect(await approve(secondAdmin, requestId)).toMatchObject({ status: 'DONE' })
    expect((await publicationsOf(workspace, draft.syncId)).publications).toMatchObject([
      { publishedBy: 'test', approvedBy: 'second admin' },
    ])
  })

  it('is one by a deed of an admin, with why, before and after, and of this workspace only', async () => {
    const [{ workspace, admin, publisher }, other] = [await makeTeam(api()), await makeTeam(api())]
    expect((await setPolicy(publisher, true)).__typename).toBe('Forbidden')
    await setPolicy(admin, true)
    expect(await lastDeed(workspace)).toMatchObject({
      ...{ actor: 'test', action: 'setPublishingPolicy', reason: WHY },
      ...{ subjectType: 'WORKSPACE', before: { needsApproval: false } },
      after: { needsApproval: true },
    })
    expect(await setPolicy(admin, true)).toMatchObject({ status: 'NOOP' })
    const draft = await makeDraft(api(), other.workspace)
    expect(await publish(other.publisher, draft.syncId)).toMatchObject({ done: 'DONE' })
    expect(await setPolicy(admin, false)).toMatchObject({ status: 'DONE', needsApproval: false })
    const mine = await makeDraft(api(), workspace)
    expect(await publish(publisher, mine.syncId)).toMatchObject({ done: 'DONE' })
  })

  it('wants them too after the breaker has paused, and not for a pause by a person', async () => {
    const { workspace, admin, operator, secondAdmin } = await makeTeam(api())
    const { syncId, uuid } = await makePublishedSync(api(), workspace)
    await setPolicy(admin, true)
    await operator.request(PauseSyncMutation, { syncId, reason: WHY })
    const { resumeSync } = await operator.request(ResumeSyncMutation, { syncId })
    expect(resumeSync).toMatchObject({ done: 'DONE' })
    await api().database.rows(sql`
      update sync set status = 'paused', pause_cause = 'breaker', paused_by = 'tajo'
      where id = ${uuid}`)
    expect(await publish(admin, syncId)).toMatchObject({ __typename: 'ApprovalNeeded' })
    const requestId = await requestPublication(operator, syncId)
    expect(await approve(secondAdmin, requestId)).toMatchObject({ status: 'DONE' })
    const { sync } = await admin.request(SyncQuery, { id: syncId })
    expect(sync).toMatchObject({ status: 'ACTIVE', pause: null })
    expect((await publicationsOf(workspace, syncId)).publications).toHaveLength(2)
  })
})
