/** Schedules as people set, preview and lose them, through the API. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import {
  CreateSyncMutation,
  PauseSyncMutation,
  PublishSyncMutation,
  ResumeSyncMutation,
  RunQuery,
  SchedulePreviewQuery,
  SyncQuery,
  UpdateSyncMutation,
} from '../../src/client/documents.ts'
import type { ScheduleInput } from '../../src/client/gql/graphql.ts'
import { SyncsQuery } from '../../src/client/list-documents.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { useApi } from '../support/app.ts'
import { makeRun } from '../support/factories.ts'
import {
  connectTools,
  type MadeSync,
  makeDraft,
  makePublishedSync,
  newSyncInput,
  type Workspace,
} from '../support/sync-steps.ts'

const api = useApi()

const HOUR_MS = 3_600_000
const ROME = { expression: '0 8 * * *', timeZone: 'Europe/Rome' }

async function getSync({ client }: Workspace, { syncId }: MadeSync) {
  const { sync } = await client.request(SyncQuery, { id: syncId })
  if (!sync) {
    throw new Error(`There is no sync ${syncId}.`)
  }
  return sync
}

async function publish({ client }: Workspace, { syncId }: MadeSync) {
  return (await client.request(PublishSyncMutation, { syncId })).publishSync
}

async function setSchedule(
  { client }: Workspace,
  { syncId }: MadeSync,
  schedule: ScheduleInput | null,
) {
  const { updateSync } = await client.request(UpdateSyncMutation, { input: { syncId, schedule } })
  return updateSync
}

/** Milliseconds; null where the sync has none. */
async function slotsOf({ uuid }: MadeSync) {
  const [row] = await api().database.rows<{ slot: number | null; anchor: number }>(sql`
    select (extract(epoch from slot_at) * 1000)::float8 as slot,
           (extract(epoch from anchor_at) * 1000)::float8 as anchor
    from sync_schedule where sync_id = ${uuid}`)
  return row ?? null
}

/** As if the sync had been published so long ago. */
async function age({ uuid }: MadeSync, ms: number): Promise<void> {
  await api().database.rows(sql`update sync_schedule
    set anchor_at = anchor_at - ${ms}::float8 * interval '1 millisecond',
        slot_at = slot_at - ${ms}::float8 * interval '1 millisecond'
    where sync_id = ${uuid}`)
}

describe('a sync with a schedule', () => {
  it('shows it in its draft, and when it will run once it is published', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makeDraft(api(), workspace, { schedule: ROME })
    expect(await getSync(workspace, sync)).toMatchObject({
      draft: { schedule: ROME },
      nextFires: [],
      coalescedTicks: 0,
      lastFiredAt: null,
    })
    expect(await slotsOf(sync)).toBeNull()
    await publish(workspace, sync)
    const { publication, nextFires } = await getSync(workspace, sync)
    expect(publication?.configuration.schedule).toEqual(ROME)
    const hours = nextFires.map((fire) =>
      new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Rome', timeStyle: 'short' }).format(
        new Date(fire),
      ),
    )
    expect(hours).toEqual(['08:00', '08:00', '08:00', '08:00', '08:00'])
    expect((await slotsOf(sync))?.slot).toBe(Date.parse(nextFires[0] ?? ''))
  })

  it('fires an interval after its publication, and keeps its grid when something else is published', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace, { schedule: { everyMs: HOUR_MS } })
    const first = await slotsOf(sync)
    expect(first?.slot).toBe((first?.anchor ?? 0) + HOUR_MS)
    await age(sync, HOUR_MS / 2)
    const aged = await slotsOf(sync)
    const input = { syncId: sync.syncId, pageSize: 100 }
    await workspace.client.request(UpdateSyncMutation, { input })
    await publish(workspace, sync)
    expect(await slotsOf(sync)).toEqual(aged)
    const { nextFires } = await getSync(workspace, sync)
    expect(Date.parse(nextFires[0] ?? '')).toBe(aged?.slot)

    await setSchedule(workspace, sync, { everyMs: 2 * HOUR_MS })
    expect(await slotsOf(sync)).toEqual(aged)
    await publish(workspace, sync)
    const anew = await slotsOf(sync)
    expect(anew?.slot).toBe((anew?.anchor ?? 0) + 2 * HOUR_MS)
    expect(anew?.anchor).toBeGreaterThan(aged?.anchor ?? 0)
  })

  it('fires nothing of the time in which it was paused', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace, { schedule: { everyMs: HOUR_MS } })
    const { syncId } = sync
    await workspace.client.request(PauseSyncMutation, { syncId, reason: 'Maintenance.' })
    expect((await getSync(workspace, sync)).nextFires).toEqual([])
    await age(sync, 10.5 * HOUR_MS)
    const aged = await slotsOf(sync)
    await workspace.client.request(ResumeSyncMutation, { syncId })
    // On the same grid, the next slot of the future: ten and a half hours after the anchor it is the eleventh.
    expect(await slotsOf(sync)).toEqual({
      anchor: aged?.anchor,
      slot: (aged?.anchor ?? 0) + 11 * HOUR_MS,
    })
  })

  it('loses it by null, and keeps it when it is not named', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace, { schedule: ROME })
    await workspace.client.request(UpdateSyncMutation, {
      input: { syncId: sync.syncId, pageSize: 7 },
    })
    expect((await getSync(workspace, sync)).draft.schedule).toEqual(ROME)
    expect(await setSchedule(workspace, sync, null)).toMatchObject({ done: 'DONE' })
    expect((await getSync(workspace, sync)).draft.schedule).toBeNull()
    await publish(workspace, sync)
    expect((await getSync(workspace, sync)).nextFires).toEqual([])
    expect((await slotsOf(sync))?.slot).toBeNull()
  })

  it.each<[ScheduleInput, string, RegExp]>([
    [{ expression: '0 0 30 2 *', timeZone: 'UTC' }, 'schedule.expression', /^It never fires/],
    [{ expression: '0 25 * * *', timeZone: 'UTC' }, 'schedule.expression', /hour: 25\.$/],
    [{ expression: '*/5 0 8 * * *', timeZone: 'UTC' }, 'schedule.expression', /seconds and years/],
    [{ expression: '0 8 * * *\u0000', timeZone: 'UTC' }, 'schedule.expression', /not a cron/],
    [{ ...ROME, timeZone: 'Europe/Atlantis' }, 'schedule.timeZone', /There is no such time zone/],
    [{ expression: '0 8 * * *' }, 'schedule.timeZone', /A time zone is needed/],
    [{ everyMs: 59_999 }, 'schedule.everyMs', /from 60000 \(1 minute\)/],
    [{ everyMs: 1e300 }, 'schedule.everyMs', /to 2592000000 \(30 days\)/],
    [{}, 'schedule', /either an interval \(everyMs\) or an expression/],
    [{ everyMs: HOUR_MS, ...ROME }, 'schedule', /either an interval/],
  ])(
    'as bad as %j is refused by the field, and nothing is saved',
    async (schedule, field, reason) => {
      const workspace = await api().makeWorkspace()
      await api().writeFile('customers.csv', 'email\nada@example.com\n')
      const tools = await connectTools(workspace)
      const input = { ...newSyncInput(tools), schedule }
      const { createSync } = await workspace.client.request(CreateSyncMutation, { input })
      const expected = {
        __typename: 'InvalidInput',
        problems: [{ field, reason: expect.stringMatching(reason) }],
      }
      expect(createSync).toMatchObject(expected)
      expect((await workspace.client.request(SyncsQuery, {})).syncs.edges).toEqual([])

      const sync = await makeDraft(api(), workspace)
      expect(await setSchedule(workspace, sync, schedule)).toMatchObject(expected)
      expect((await getSync(workspace, sync)).draft.schedule).toBeNull()
    },
  )
})

describe('the preview of a schedule', () => {
  const preview = async (schedule: ScheduleInput, after: string, first?: number) => {
    const { client } = await api().makeWorkspace()
    const given = first === undefined ? {} : { first }
    return (await client.request(SchedulePreviewQuery, { schedule, after, ...given }))
      .schedulePreview
  }

  it('tells the next five fires, across a change of clocks', async () => {
    expect(await preview(ROME, '2025-03-28T12:00:00+01:00')).toEqual([
      '2025-03-29T07:00:00.000Z',
      '2025-03-30T06:00:00.000Z',
      '2025-03-31T06:00:00.000Z',
      '2025-04-01T06:00:00.000Z',
      '2025-04-02T06:00:00.000Z',
    ])
    expect(await preview({ everyMs: 90_000 }, '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-01-01T00:01:30.000Z',
      '2026-01-01T00:03:00.000Z',
    ])
  })

  it('names what is wrong with what it is asked', async () => {
    const after = '2026-01-01T00:00:00Z'
    const wrong = preview({ expression: '0 0 31 4 *', timeZone: 'Nowhere/Land' }, after, 101)
    await expect(wrong).rejects.toMatchObject({
      errors: [
        {
          extensions: {
            code: 'INVALID_INPUT',
            problems: [
              { field: 'schedule.expression' },
              { field: 'schedule.timeZone' },
              { field: 'first', reason: 'It must be from 1 to 100, and 101 was given.' },
            ],
          },
        },
      ],
    })
  })

  it.each(['yesterday', '2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z'])(
    'after %s, which is no moment, is refused',
    async (after) => {
      await expect(preview(ROME, after)).rejects.toThrow(/A moment as in RFC 3339 is needed/)
    },
  )
})

describe('a scheduled run', () => {
  it('shows whether it is catching up', async () => {
    const workspace = await api().makeWorkspace()
    const sync = await makePublishedSync(api(), workspace)
    const { workspaceId, client } = workspace
    const id = await makeRun(api().database, { workspaceId, syncId: sync.uuid, status: 'queued' })
    const isCatchingUp = async () =>
      (await client.request(RunQuery, { id: encodeGlobalId('Run', id) })).run?.isCatchingUp
    expect(await isCatchingUp()).toBe(false)
    await api().database.rows(sql`update run set is_catching_up = true where id = ${id}`)
    expect(await isCatchingUp()).toBe(true)
  })
})
