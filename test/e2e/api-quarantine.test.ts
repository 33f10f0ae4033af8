/** The list of rejected records through the API, and what each of its mutations answers. No engine: what is queued stays queued. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { RejectedRecordsQueryVariables } from '../../src/client/gql/graphql.ts'
import {
  DiscardRecordsMutation,
  RedriveRecordsMutation,
  RejectedRecordsQuery,
} from '../../src/client/quarantine-documents.ts'
import { CursorResetPreviewQuery } from '../../src/client/steering-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import { makeHeldRecords } from '../support/factories.ts'
import { runSteps } from '../support/run-steps.ts'
import { type MadeSync, makePublishedSync, uuidOf, type Workspace } from '../support/sync-steps.ts'

const api = useApi()
const { putRun, pauseSync, getRun, runSync } = runSteps(api)

const REASON = 'The customer has left.'

/** A sync with so many records set aside, and one that is held. */
async function makeSetAside(count = 3) {
  const workspace = await api().makeWorkspace()
  const sync = await makePublishedSync(api(), workspace, { onRejected: 'QUARANTINE' })
  const runId = await putRun(workspace, sync, { status: 'partial', written: 5, rejected: count })
  const wanted = { syncId: sync.uuid, runId: uuidOf(runId) }
  const aside = {
    ...{ state: 'quarantined' as const, ordinal: 1, setAsideAt: new Date(), runs: 3 },
    sealedPayload: 'sealed',
  }
  await makeHeldRecords(api().database, { ...wanted, count }, aside)
  await makeHeldRecords(api().database, { ...wanted, count: 1 }, { runs: 2 })
  return { workspace, sync, runId }
}

async function list(
  { client }: Workspace,
  { syncId }: MadeSync,
  given: Omit<RejectedRecordsQueryVariables, 'syncId'> = {},
) {
  const { sync } = await client.request(RejectedRecordsQuery, { syncId, ...given })
  return sync?.rejectedRecords.edges.map(({ node }) => node) ?? []
}

async function redrive({ client }: Workspace, syncId: string, recordIds?: readonly string[]) {
  const variables = recordIds ? { syncId, recordIds: [...recordIds] } : { syncId }
  return (await client.request(RedriveRecordsMutation, variables)).redriveRecords
}

async function discard(
  { client }: Workspace,
  syncId: string,
  recordIds: readonly string[],
  reason = REASON,
) {
  const variables = { syncId, recordIds: [...recordIds], reason }
  return (await client.request(DiscardRecordsMutation, variables)).discardRecords
}

async function cancelQueued(sync: MadeSync): Promise<void> {
  await api().database.rows(sql`
    update run set status = 'canceled', finished_at = now()
    where sync_id = ${sync.uuid} and status = 'queued'`)
}

describe('the rejected records of a sync', () => {
  it('tell where they stand, why, and since when; never what they hold', async () => {
    const { workspace, sync, runId } = await makeSetAside(1)
    const shared = { sync: { id: sync.syncId }, firstRun: { id: runId }, lastRun: { id: runId } }
    const reason = 'The email of record 0 is not an address.'
    expect(await list(workspace, sync)).toEqual([
      {
        id: expect.stringMatching(/^record_/),
        ...{ state: 'QUARANTINED', position: 0, runs: 3, canBeRedriven: true, reason },
        page: expect.stringMatching(/^[0-9a-f]{32}$/),
        firstRejectedAt: expect.any(String),
        rejectedAt: expect.any(String),
        quarantinedAt: expect.any(String),
        endedAt: null,
        ...shared,
      },
      expect.objectContaining({
        ...{ state: 'HELD', runs: 2, canBeRedriven: false, quarantinedAt: null },
        ...shared,
      }),
    ])
    const { rejectedRecords } = await getRun(workspace, runId)
    expect(rejectedRecords.edges.map(({ node }) => node.state)).toEqual(['QUARANTINED', 'HELD'])
  })

  it('are read page by page, in the states that are asked for', async () => {
    const { workspace, sync } = await makeSetAside(5)
    const seen: number[] = []
    let after: string | null = null
    do {
      const variables: RejectedRecordsQueryVariables = {
        ...{ syncId: sync.syncId, states: ['QUARANTINED'], first: 2, after },
      }
      const page = await workspace.client.request(RejectedRecordsQuery, variables)
      const records = page.sync?.rejectedRecords
      seen.push(...(records?.edges ?? []).map(({ node }) => node.position))
      after = records?.pageInfo.hasNextPage ? (records.pageInfo.endCursor ?? null) : null
    } while (after !== null)
    expect(seen).toEqual([0, 1, 2, 3, 4])
    expect(await list(workspace, sync, { states: ['HELD'] })).toHaveLength(1)
    expect(await list(workspace, sync, { states: ['DELIVERED', 'SUPERSEDED'] })).toEqual([])
    const asked = list(workspace, sync, { after: 'nonsense' })
    await expect(asked).rejects.toThrow('after: It is not a cursor of this list.')
  })

  it('are told of before a cursor is reset', async () => {
    const { workspace, sync } = await makeSetAside(3)
    const asked = await workspace.client.request(CursorResetPreviewQuery, { syncId: sync.syncId })
    expect(asked.cursorResetPreview).toMatchObject({ heldRecords: 1, quarantinedRecords: 3 })
  })
})

describe('bringing records back', () => {
  it('queues a run for those that are named, and says of each what was done', async () => {
    const { workspace, sync } = await makeSetAside()
    const [first, second, , held] = await list(workspace, sync)
    const unknown = encodeGlobalId('Record', api().parts.ids.next())
    const named = [first?.id ?? '', held?.id ?? '', unknown]
    const answer = await redrive(workspace, sync.syncId, named)
    expect(answer).toMatchObject({
      done: 'STARTED',
      redriven: 1,
      run: { status: 'QUEUED', cause: 'REDRIVE' },
      records: [
        { recordId: named[0], status: 'STARTED' },
        { recordId: named[1], status: 'NOOP' },
        { recordId: named[2], status: 'NOT_FOUND' },
      ],
      sync: { id: sync.syncId },
    })
    const states = (await list(workspace, sync)).map(({ state }) => state)
    expect(states).toEqual(['REDRIVING', 'QUARANTINED', 'QUARANTINED', 'HELD'])
    // Asked again it is on its way, in the same run; for another one there is that run in the way.
    const run = answer.__typename === 'RedrivenRecords' ? answer.run : null
    expect(await redrive(workspace, sync.syncId, named)).toMatchObject({
      ...{ done: 'NOOP', redriven: 0, run: { id: run?.id } },
      records: [{ status: 'NOOP' }, { status: 'NOOP' }, { status: 'NOT_FOUND' }],
    })
    expect(await redrive(workspace, sync.syncId, [second?.id ?? ''])).toMatchObject({
      __typename: 'AlreadyRunning',
      runId: run?.id,
      message: 'This sync rule is already running.',
    })
  })

  it('takes all that are set aside where none is named, once', async () => {
    const { workspace, sync } = await makeSetAside(4)
    const started = { done: 'STARTED', redriven: 4, records: [] }
    expect(await redrive(workspace, sync.syncId)).toMatchObject(started)
    expect(await redrive(workspace, sync.syncId)).toMatchObject({ done: 'NOOP', redriven: 0 })
    await cancelQueued(sync)
    // The run is over and did not send them: they are brought back again.
    expect(await redrive(workspace, sync.syncId)).toMatchObject(started)
  })

  it('is refused while the sync runs or is paused, and changes nothing', async () => {
    const { workspace, sync } = await makeSetAside()
    await runSync(workspace, sync)
    expect(await redrive(workspace, sync.syncId)).toMatchObject({ __typename: 'AlreadyRunning' })
    await pauseSync(workspace, sync)
    expect(await redrive(workspace, sync.syncId)).toMatchObject({ __typename: 'SyncPaused' })
    const states = new Set((await list(workspace, sync)).map(({ state }) => state))
    expect(states).toEqual(new Set(['QUARANTINED', 'HELD']))
  })

  it('says which records were not kept', async () => {
    const { workspace, sync } = await makeSetAside(1)
    await api().database.rows(sql`update held_record set sealed_payload = null
      where sync_id = ${sync.uuid}`)
    const [first] = await list(workspace, sync)
    expect(first).toMatchObject({ state: 'QUARANTINED', canBeRedriven: false })
    expect(await redrive(workspace, sync.syncId, [first?.id ?? ''])).toMatchObject({
      ...{ done: 'NOOP', run: null },
      records: [{ status: 'NOT_KEPT' }],
    })
  })

  it('names what is wrong with its input', async () => {
    const { workspace, sync } = await makeSetAside(1)
    const many = Array.from({ length: 1_001 }, () => encodeGlobalId('Record', sync.uuid))
    for (const [recordIds, field, reason] of [
      [[], 'recordIds', 'It must name 1 to 1000 records, and 0 were given.'],
      [many, 'recordIds', 'It must name 1 to 1000 records, and 1001 were given.'],
      [[many[0] ?? '', sync.syncId], 'recordIds.1', expect.stringContaining('id of a record')],
    ] as const) {
      const problem = { __typename: 'InvalidInput', problems: [{ field, reason }] }
      expect(await redrive(workspace, sync.syncId, recordIds)).toMatchObject(problem)
      expect(await discard(workspace, sync.syncId, recordIds)).toMatchObject(problem)
    }
  })
})

describe('discarding records', () => {
  it('gives up those that are named, and says of each what was done', async () => {
    const { workspace, sync } = await makeSetAside()
    const [first, second, , held] = await list(workspace, sync)
    const named = [first?.id ?? '', held?.id ?? '']
    expect(await discard(workspace, sync.syncId, named)).toMatchObject({
      ...{ done: 'DONE', discarded: 1, sync: { id: sync.syncId } },
      records: [
        { recordId: named[0], status: 'DONE' },
        { recordId: named[1], status: 'NOOP' },
      ],
    })
    expect(await discard(workspace, sync.syncId, named)).toMatchObject({ done: 'NOOP' })
    const over = await list(workspace, sync, { states: ['DISCARDED'] })
    expect(over).toMatchObject([{ id: first?.id, endedAt: expect.any(String) }])
    expect(await list(workspace, sync)).toHaveLength(3)
    await runSync(workspace, sync)
    const refused = await discard(workspace, sync.syncId, [second?.id ?? ''])
    expect(refused).toMatchObject({ __typename: 'AlreadyRunning' })
  })

  it('needs a reason', async () => {
    const { workspace, sync } = await makeSetAside(1)
    const [first] = await list(workspace, sync)
    expect(await discard(workspace, sync.syncId, [first?.id ?? ''], ' ')).toMatchObject({
      problems: [{ field: 'reason', reason: 'It must not be empty.' }],
    })
  })
})

describe('rejected records of another workspace', () => {
  it('do not exist: not by their sync, and not by their ids in a sync of one’s own', async () => {
    const owner = await makeSetAside()
    const stranger = await makeSetAside()
    const { syncId } = owner.sync
    const ids = (await list(owner.workspace, owner.sync)).map(({ id }) => id)
    const asked = await stranger.workspace.client.request(RejectedRecordsQuery, { syncId })
    expect(asked.sync).toBeNull()
    const missing = { __typename: 'NotFound', field: 'syncId' }
    expect(await redrive(stranger.workspace, syncId, ids)).toMatchObject(missing)
    expect(await redrive(stranger.workspace, syncId)).toMatchObject(missing)
    expect(await discard(stranger.workspace, syncId, ids)).toMatchObject(missing)
    const records = ids.map((recordId) => ({ recordId, status: 'NOT_FOUND' }))
    const noop = { done: 'NOOP', records }
    expect(await redrive(stranger.workspace, stranger.sync.syncId, ids)).toMatchObject(noop)
    expect(await discard(stranger.workspace, stranger.sync.syncId, ids)).toMatchObject(noop)
    const states = (await list(owner.workspace, owner.sync)).map(({ state }) => state)
    expect(states).toEqual(['QUARANTINED', 'QUARANTINED', 'QUARANTINED', 'HELD'])
  })
})
