/** How syncs are doing, as their owner sees it through the API. Rows are moved back in time. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { PauseSyncMutation, SyncQuery } from '../../src/client/documents.ts'
import type { CreateSyncInput } from '../../src/client/gql/graphql.ts'
import { SyncsQuery } from '../../src/client/list-documents.ts'
import { useApi } from '../support/app.ts'
import { makeRun, type RunToMake } from '../support/factories.ts'
import {
  type MadeSync,
  makeDraft,
  makePublishedSync,
  type Workspace,
} from '../support/sync-steps.ts'
import { createWatchmen, silencesOf } from '../support/watchmen.ts'

const api = useApi()
const HOUR_MS = 3_600_000
const HOURLY = { schedule: { everyMs: HOUR_MS } }

async function healthOf({ client }: Workspace, { syncId }: MadeSync) {
  const { sync } = await client.request(SyncQuery, { id: syncId })
  return sync?.health
}

/** As if the sync had been published so many hours ago, and its slots begun then. */
async function ageSync({ uuid }: MadeSync, hours: number): Promise<void> {
  const by = sql`${hours}::float8 * interval '1 hour'`
  await api().database.rows(sql`
    update sync set activated_at = activated_at - ${by} where id = ${uuid}`)
  await api().database.rows(sql`
    update sync_schedule set anchor_at = anchor_at - ${by} where sync_id = ${uuid}`)
}

/** A run that ended so many hours ago, or waits since then. Returns when that was. */
async function putRun(
  { workspaceId }: Workspace,
  { uuid }: MadeSync,
  given: Pick<RunToMake, 'status' | 'failureCode' | 'silentMs'> & { readonly hours: number },
): Promise<string> {
  const { hours, ...run } = given
  const id = await makeRun(api().database, { workspaceId, syncId: uuid, ...run })
  const by = sql`${hours}::float8 * interval '1 hour'`
  await api().database.rows(sql`
    update run set created_at = created_at - ${by}, due_at = due_at - ${by},
                   started_at = started_at - ${by}, finished_at = finished_at - ${by}
    where id = ${id}`)
  const [row] = await api().database.rows<{ ms: number }>(sql`
    select round(extract(epoch from coalesce(finished_at, due_at)) * 1000)::float8 as ms
    from run where id = ${id}`)
  return new Date(row?.ms ?? 0).toISOString()
}

async function makeAged(hours: number, given: Partial<CreateSyncInput> = HOURLY) {
  const workspace = await api().makeWorkspace()
  const sync = await makePublishedSync(api(), workspace, given)
  await ageSync(sync, hours)
  return { workspace, sync }
}

describe('the health of a sync', () => {
  it('is none for a draft, and well for what has just been published', async () => {
    const workspace = await api().makeWorkspace()
    expect(await healthOf(workspace, await makeDraft(api(), workspace, HOURLY))).toBeNull()
    const published = await makePublishedSync(api(), workspace, HOURLY)
    expect(await healthOf(workspace, published)).toMatchObject({
      status: 'OK',
      why: 'It has not run yet since it was published or resumed, and its first run is not late.',
    })
  })

  it('is late and then silent where nothing fires its schedule, since the time at which it was to run', async () => {
    const { workspace, sync } = await makeAged(1.5)
    const late = await healthOf(workspace, sync)
    expect(late).toMatchObject({ status: 'LATE' })
    await ageSync(sync, 3)
    const silent = await healthOf(workspace, sync)
    expect(silent).toMatchObject({ status: 'SILENT' })
    expect(silent?.why).toBe(
      `It was to run at ${silent?.since}, and nothing has come of that or of any later time.`,
    )
    expect(Date.parse(late?.since ?? '') - Date.parse(silent?.since ?? '')).toBe(3 * HOUR_MS)
  })

  it('is failing since the first failure after the last run that came through, and says the last one', async () => {
    const { workspace, sync } = await makeAged(100)
    await putRun(workspace, sync, { status: 'failed', hours: 9 })
    await putRun(workspace, sync, { status: 'partial', hours: 8 })
    const since = await putRun(workspace, sync, { status: 'failed', hours: 7 })
    await putRun(workspace, sync, { status: 'failed', hours: 6, failureCode: 'lease_unavailable' })
    await putRun(workspace, sync, { status: 'canceled', hours: 5 })
    expect(await healthOf(workspace, sync)).toEqual({
      status: 'FAILING',
      since,
      why: 'The sync could not get a run slot.',
    })
    await putRun(workspace, sync, { status: 'running', hours: 0 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'OK' })
  })

  it('goes by when runs ended, not by when they were asked for', async () => {
    const { workspace, sync } = await makeAged(100, {})
    // A process whose clock is ahead made the first one's id.
    const late = await putRun(workspace, sync, { status: 'failed', hours: 3 })
    const succeeded = await putRun(workspace, sync, { status: 'succeeded', hours: 5 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'FAILING', since: late })
    await putRun(workspace, sync, { status: 'failed', hours: 6 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'FAILING', since: late })
    const again = await putRun(workspace, sync, { status: 'succeeded', hours: 2 })
    await putRun(workspace, sync, { status: 'failed', hours: 4 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'OK', since: again })
    expect(succeeded < late).toBe(true)
  })

  it('is partial where runs leave records behind, since the first that did after the last success', async () => {
    const { workspace, sync } = await makeAged(100, {})
    await putRun(workspace, sync, { status: 'partial', hours: 9 })
    await putRun(workspace, sync, { status: 'succeeded', hours: 8 })
    const since = await putRun(workspace, sync, { status: 'partial', hours: 7 })
    await putRun(workspace, sync, { status: 'failed', hours: 6 })
    const last = await putRun(workspace, sync, { status: 'partial', hours: 5 })
    expect(await healthOf(workspace, sync)).toEqual({
      status: 'PARTIAL',
      since,
      why: `Its last run ended at ${last}, with some records not delivered.`,
    })
    await putRun(workspace, sync, { status: 'succeeded', hours: 4 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'OK' })
  })

  it('does not count what failed before it was published anew', async () => {
    const { workspace, sync } = await makeAged(0.1)
    await putRun(workspace, sync, { status: 'failed', hours: 1 })
    expect(await healthOf(workspace, sync)).toMatchObject({ status: 'OK' })
  })

  it('is late where its run waits and no worker takes it, also without a schedule', async () => {
    const { workspace, sync } = await makeAged(100, {})
    const since = await putRun(workspace, sync, { status: 'queued', hours: 0.3 })
    expect(await healthOf(workspace, sync)).toEqual({
      status: 'LATE',
      since,
      why: `A run has been waiting in the queue since ${since}, and no worker has taken it.`,
    })
  })

  it('is paused, with the reason', async () => {
    const { workspace, sync } = await makeAged(100)
    const { syncId } = sync
    await workspace.client.request(PauseSyncMutation, { syncId, reason: 'The CRM moves' })
    expect(await healthOf(workspace, sync)).toMatchObject({
      status: 'PAUSED',
      why: 'It was paused by a person: The CRM moves.',
    })
  })

  it('of a silent sync is not hidden by a neighbour that does well, of whose workspace no alert is raised', async () => {
    const { workspace, sync } = await makeAged(40)
    const silent = await makePublishedSync(api(), workspace, HOURLY)
    await ageSync(silent, 40)
    await putRun(workspace, sync, { status: 'succeeded', hours: 0.5 })
    const { database, logger } = api()
    await createWatchmen({ database, logger }).deadMan.runOnce()
    expect(logger.count('dead_man.checked')).toBe(1)
    expect(await silencesOf(database, workspace.workspaceId)).toEqual([])
    const { syncs } = await workspace.client.request(SyncsQuery, {})
    const statuses = new Map(syncs.edges.map(({ node }) => [node.id, node.health?.status]))
    expect(statuses).toEqual(
      new Map([
        [silent.syncId, 'SILENT'],
        [sync.syncId, 'OK'],
      ]),
    )
  })
})
