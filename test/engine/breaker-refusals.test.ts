/**
 * Slots at which no run is queued, because it could only fail: a failed run is recorded before any worker could see
 * it, and the fifth in a row pauses the sync (I18). So nothing fails without anybody counting.
 */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { reconnectConnection } from '../../src/commands/reconnect-connection.ts'
import { runChannel, syncRunsChannel, workspaceRunsChannel } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { failure } from '../../src/domain/failure.ts'
import { refuse } from '../../src/engine/refuse-slot.ts'
import { Scheduler } from '../../src/engine/scheduler.ts'
import { HOUR_MS, MINUTE_MS, START_MS, useBreakerStage } from '../support/breaker-stage.ts'
import { trippedBy, UNTRIPPED } from '../support/breaker-steps.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createPerson } from '../support/person.ts'
import { BREAKER_PARTS, newId } from '../support/store-seed.ts'

const FIVE = [1, 2, 3, 4, 5]

describe.each(ENGINE_DATABASE_KINDS)('a slot that is refused on %s', (kind) => {
  const database = useDatabase(kind)
  const stage = useBreakerStage(database)

  it('pauses a sync whose tool is disconnected at its fifth tick, and nothing comes at the sixth', async () => {
    const sync = await stage().seedScheduled()
    await stage().disconnect(sync)
    for (const n of FIVE) {
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
      await stage().tick(n)
      expect(await stage().runsOf(sync)).toHaveLength(n)
    }
    await stage().tick(6)
    await stage().tick(7)
    const runs = await stage().runsOf(sync)
    expect(runs).toHaveLength(5)
    const name = `destination ${sync.syncId}`
    expect(runs.at(-1)).toMatchObject({
      ...{ status: 'failed', cause: 'schedule', code: 'connection_missing', subject: name },
      worker: null,
    })
    const found = await stage().read(sync)
    expect(found).toMatchObject({ ...trippedBy(runs.at(-1)?.id), slotMs: null })
    expect(found.alerts[0]?.message).toContain(`A tool that the sync uses (${name}) is not`)
    expect(stage().harness.logger.count('run.refused')).toBe(5)
    expect(stage().harness.logger.count('breaker.tripped')).toBe(1)
  })

  it('goes on failing where nobody counts so far (the control)', async () => {
    const sync = await stage().seedScheduled()
    await stage().disconnect(sync)
    const breaker = { ...BREAKER_PARTS.breaker, threshold: 100 }
    for (const n of [...FIVE, 6, 7]) {
      await stage().tick(n, breaker)
    }
    expect(await stage().runsOf(sync)).toHaveLength(7)
    expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
  })

  it('names the source first, and the tools of what is published, not those of the draft', async () => {
    const sync = await stage().seedScheduled()
    const other = await stage().harness.seedSync({ workspaceId: sync.workspaceId })
    const draft = { ...sync.config, sourceConnectionId: other.sourceConnectionId }
    await database().rows(sql`update sync set draft = ${JSON.stringify(draft)}::text::jsonb,
      source_connection_id = ${other.sourceConnectionId} where id = ${sync.syncId}`)
    await stage().disconnect(sync, other.sourceConnectionId)
    await stage().tick(1)
    expect(await stage().runsOf(sync)).toMatchObject([{ status: 'queued' }])
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where sync_id = ${sync.syncId}`)
    await stage().disconnect(sync)
    await stage().disconnect(sync, sync.sourceConnectionId)
    await stage().tick(2)
    expect(await stage().runsOf(sync)).toMatchObject([
      { status: 'canceled' },
      { status: 'failed', subject: `source ${sync.syncId}` },
    ])
  })

  it('coalesces such a slot with a run that is queued, and records none', async () => {
    const sync = await stage().seedScheduled()
    await stage().harness.enqueue(sync)
    await stage().disconnect(sync)
    await stage().tick(1)
    expect(await stage().runsOf(sync)).toMatchObject([{ status: 'queued', cause: 'run_now' }])
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: START_MS + MINUTE_MS, coalesced: 1 })
  })

  it('refuses a slot once, by whatever number of schedulers', async () => {
    const sync = await stage().seedScheduled()
    await stage().disconnect(sync)
    await Promise.all(FIVE.map(() => stage().tick(1)))
    expect(await stage().runsOf(sync)).toHaveLength(1)
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: START_MS + MINUTE_MS, coalesced: 0 })
  })

  it('is left to the next look where its tool was connected, or the slot moved on, meanwhile', async () => {
    const sync = await stage().seedScheduled()
    const refuseAt = (slotMs: number) =>
      refuse(stage().shared(), {
        ...{ runId: newId(), syncId: sync.syncId, slotMs, nextSlotMs: slotMs + MINUTE_MS },
        ...{ isCatchingUp: false, failure: failure('connection_missing', { subject: 'CRM' }) },
      })
    expect(await refuseAt(START_MS)).toEqual({ kind: 'left' })
    await stage().disconnect(sync)
    expect(await refuseAt(START_MS + 1)).toEqual({ kind: 'left' })
    expect(await stage().runsOf(sync)).toEqual([])
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: START_MS, coalesced: 0 })
    expect(await refuseAt(START_MS)).toMatchObject({ kind: 'refused' })
  })

  it('runs again at the tick after its tool was connected again', async () => {
    const sync = await stage().seedScheduled()
    await stage().disconnect(sync)
    await stage().tick(1)
    const connectionId = sync.destinationConnectionId
    await reconnectConnection(...stage().acting(sync), {
      connectionId,
      credentials: {},
    })
    await stage().tick(2)
    expect((await stage().runsOf(sync)).map(({ status }) => status)).toEqual(['failed', 'queued'])
  })

  it.each([
    [
      'of a time zone that this machine does not know',
      { kind: 'cron', expression: '0 8 * * *', timeZone: 'Mars/Olympus' },
      'Mars/Olympus',
    ],
    ['that cannot be read', { kind: 'lunar' }, 'another shape'],
  ])('tells of a schedule %s, an hour apart, until it is paused', async (_, schedule, why) => {
    const sync = await stage().seedScheduled()
    await database().rows(sql`update sync_schedule
      set schedule = ${JSON.stringify(schedule)}::text::jsonb where sync_id = ${sync.syncId}`)
    const scheduler = new Scheduler(stage().shared())
    const look = (minutes: number) => scheduler.runOnce(new Date(START_MS + minutes * MINUTE_MS))
    for (const minutes of [0, 5, 59]) {
      await look(minutes)
    }
    expect(await stage().runsOf(sync)).toMatchObject([
      { status: 'failed', code: 'unclassified_exception', detail: expect.stringContaining(why) },
    ])
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: START_MS + HOUR_MS, coalesced: 0 })
    for (const n of FIVE) {
      await look(n * 60)
      await look(n * 60 + 5)
    }
    const runs = await stage().runsOf(sync)
    expect(runs).toHaveLength(5)
    expect(await stage().read(sync)).toMatchObject(trippedBy(runs.at(-1)?.id))
  })

  it('is left to others by a process that cannot tell the next one, for five minutes', async () => {
    const sync = await stage().seedScheduled()
    const readAs = (timeZone: string) =>
      database().rows(sql`update sync_schedule
        set schedule = jsonb_build_object('kind', 'cron', 'expression', '* * * * *', 'timeZone', ${timeZone}::text)
        where sync_id = ${sync.syncId}`)
    await readAs('Mars/Olympus')
    const scheduler = new Scheduler(stage().shared())
    // Nobody was there for an hour: how long it is due says nothing of whom it was left to.
    const firstMs = START_MS + HOUR_MS
    for (const seconds of [0, 1, 2, 299]) {
      await scheduler.runOnce(new Date(firstMs + seconds * 1_000))
    }
    expect(await stage().runsOf(sync)).toEqual([])
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: START_MS, coalesced: 0 })
    const { logger } = stage().harness
    expect(logger.count('schedule.left')).toBe(1)
    expect(logger.count('schedule.not_told')).toBe(0)
    // To another process, whose machine knows the zone, the same slot is one as any.
    await readAs('Europe/Rome')
    await new Scheduler(stage().shared()).runOnce(new Date(firstMs + 299_500))
    expect(await stage().runsOf(sync)).toMatchObject([{ status: 'queued', cause: 'schedule' }])
    expect(await stage().slotsOf(sync)).toMatchObject({ slotMs: firstMs + 5 * MINUTE_MS })
  })

  it('is left for a day at most, also by processes that remember nothing of each other', async () => {
    const sync = await stage().seedScheduled()
    await database().rows(sql`update sync_schedule set schedule = '{"kind": "lunar"}'
      where sync_id = ${sync.syncId}`)
    const lookAnew = (hours: number) =>
      new Scheduler(stage().shared()).runOnce(new Date(START_MS + hours * HOUR_MS))
    await lookAnew(1)
    await lookAnew(23)
    expect(await stage().runsOf(sync)).toEqual([])
    await lookAnew(24)
    expect(await stage().runsOf(sync)).toMatchObject([{ status: 'failed' }])
  })

  it('lets the slots of a paused sync rest, also where nobody can tell them', async () => {
    const sync = await stage().seedScheduled()
    await database().rows(sql`update sync_schedule set schedule = '{"kind": "lunar"}'
      where sync_id = ${sync.syncId}`)
    await createPerson(database(), stage().harness, sync).pause()
    const scheduler = new Scheduler(stage().shared())
    for (const minutes of [0, 5]) {
      await scheduler.runOnce(new Date(START_MS + minutes * MINUTE_MS))
    }
    expect(await stage().runsOf(sync)).toEqual([])
    expect(await stage().slotsOf(sync)).toEqual({ slotMs: null, coalesced: 0 })
  })

  it('tells whoever watches a refused run of its end', async () => {
    const sync = await stage().seedScheduled()
    await stage().disconnect(sync)
    const heard: string[] = []
    const bus = createMemoryBus(stage().harness.logger)
    const listening = {
      ...bus,
      publish: async (channel: string, message: never) => {
        heard.push(channel)
        await bus.publish(channel, message)
      },
    }
    await new Scheduler({ ...stage().shared(), bus: listening }).runOnce(new Date(START_MS))
    const [run] = await stage().runsOf(sync)
    expect(heard).toEqual([
      runChannel(run?.id ?? ''),
      syncRunsChannel(sync.syncId),
      workspaceRunsChannel(sync.workspaceId),
    ])
  })
})
