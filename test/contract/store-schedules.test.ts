/** Slots and their firing on both databases: exactly once a slot, by any number of schedulers (I14). */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import type { Schedule } from '../../src/domain/schedule.ts'
import { Scheduler } from '../../src/engine/scheduler.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Database } from '../../src/store/database.ts'
import { enqueueRun } from '../../src/store/runs.ts'
import {
  findSlots,
  fireSlots,
  holdSlot,
  listDueSlots,
  storeSlots,
} from '../../src/store/schedules.ts'
import {
  createTestDatabase,
  DATABASE_KINDS,
  type TestDatabase,
  useDatabase,
} from '../support/databases.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { createSignal } from '../support/signal.ts'
import { nameOf } from '../support/statement-name.ts'
import { BREAKER_PARTS, newId, newRun, type SeededSync, seedSync } from '../support/store-seed.ts'

const MINUTE_MS = 60_000
const HOURLY: Schedule = { kind: 'interval', everyMs: 60 * MINUTE_MS }
/** Far from now, so that a test's frozen time finds its own slots only. */
const START_MS = Date.parse('2020-01-01T00:00:00.123Z')

interface Slots {
  readonly slotMs: number | null
  readonly firedMs: number | null
  readonly coalesced: number
}

async function slotsOf(database: Database, { syncId }: SeededSync): Promise<Slots | undefined> {
  const [row] = await database.rows<Slots & Record<string, unknown>>(sql`
    select (extract(epoch from slot_at) * 1000)::float8 as "slotMs",
           (extract(epoch from fired_at) * 1000)::float8 as "firedMs", coalesced
    from sync_schedule where sync_id = ${syncId}`)
  return row
}

async function runsOf(database: Database, { syncId }: SeededSync) {
  return await database.rows<{ cause: string; status: string; isCatchingUp: boolean }>(sql`
    select cause, status, is_catching_up as "isCatchingUp", attempt_allowance as "allowance",
           publication_id as "publicationId", requested_by as "requestedBy"
    from run where sync_id = ${syncId} order by id`)
}

async function endRuns(database: Database, { syncId }: SeededSync): Promise<void> {
  await database.rows(sql`update run set status = 'canceled', finished_at = now()
    where sync_id = ${syncId} and status = 'queued'`)
}

async function seedScheduled(
  database: Database,
  given: { readonly slotMs?: number; readonly schedule?: Schedule } = {},
): Promise<SeededSync> {
  const schedule = given.schedule ?? HOURLY
  const sync = await seedSync(database, { schedule })
  const slotMs = given.slotMs ?? START_MS
  await storeSlots(database, sync.syncId, { schedule, anchorMs: START_MS, slotMs })
  return sync
}

/** Syncs of one workspace, all due at {@link START_MS} or some milliseconds before. Returns their ids. */
async function seedManyScheduled(database: Database, count: number): Promise<readonly string[]> {
  const { syncId } = await seedScheduled(database, { slotMs: START_MS - 1 })
  await database.rows(sql`
    insert into sync (id, workspace_id, name, status, draft, source_connection_id,
                      destination_connection_id, publication_id)
    select gen_random_uuid(), workspace_id, 'copy ' || n, status, draft, source_connection_id,
           destination_connection_id, publication_id
    from sync, generate_series(2, ${count}) as n
    where id = ${syncId}`)
  const rows = await database.rows<{ id: string }>(sql`
    insert into sync_schedule (sync_id, schedule, anchor_at, slot_at)
    select sync.id, schedule, anchor_at,
           slot_at - (random() * 5)::integer * interval '1 millisecond'
    from sync_schedule
    join sync as seeded on seeded.id = sync_schedule.sync_id
    join sync on sync.workspace_id = seeded.workspace_id
    where sync_schedule.sync_id = ${syncId}
    on conflict (sync_id) do update set slot_at = excluded.slot_at
    returning sync_id as id`)
  return rows.map(({ id }) => id)
}

/** How many runs the schedules of these syncs have started, and of how many of them. */
async function countStarted(database: Database, syncIds: readonly string[]) {
  const [row] = await database.rows(sql`
    select count(*)::int as runs, count(distinct sync_id)::int as syncs
    from run
    where cause = 'schedule' and sync_id = any(${sql.param(`{${syncIds.join(',')}}`)}::uuid[])`)
  return row
}

/** The database takes no run of the sync, as it would for data that somebody has damaged. */
async function refuseRunsOf(database: Database, syncId: string | undefined): Promise<void> {
  await database.rows(sql`create function refuse_run() returns trigger language plpgsql as
    'begin raise exception ''No run is taken.''; end'`)
  await database.rows(sql`create trigger refuse_run before insert on run for each row
    when (new.sync_id = '${sql.raw(syncId ?? '')}') execute function refuse_run()`)
}

async function allowRuns(database: Database): Promise<void> {
  await database.rows(sql`drop trigger refuse_run on run`)
  await database.rows(sql`drop function refuse_run()`)
}

async function setStatus(database: Database, { syncId }: SeededSync, status: string) {
  await database.rows(sql`update sync set status = ${status},
    pause_cause = case when ${status} in ('pausing', 'paused') then 'person' end
    where id = ${syncId}`)
}

/** Nothing of a test's may be due in the next one's time. */
async function rest(database: Database): Promise<void> {
  await database.rows(sql`update sync_schedule set slot_at = null`)
}

function createScheduler(database: Database, logger = createRecordingLogger()) {
  return new Scheduler({
    database,
    bus: createMemoryBus(logger),
    clock: systemClock,
    logger,
    ...BREAKER_PARTS,
    intervalMs: MINUTE_MS,
  })
}

describe.each(DATABASE_KINDS)('slots on %s', (kind) => {
  const database = useDatabase(kind)
  const look = (ms: number) => createScheduler(database()).runOnce(new Date(ms))

  it('keep their milliseconds, and are found with the time by which they are due', async () => {
    const sync = await seedScheduled(database())
    const now = new Date(START_MS + 5)
    const { slots, nowMs } = await findSlots(database(), sync.syncId, now)
    expect(slots).toEqual({ schedule: HOURLY, anchorMs: START_MS, slotMs: START_MS })
    expect(nowMs).toBe(START_MS + 5)
    const other = await seedSync(database())
    expect((await findSlots(database(), other.syncId)).slots).toBeNull()
    const due = await listDueSlots(database(), { limit: 10, now, after: null })
    expect(due.filter(({ syncId }) => syncId === sync.syncId)).toHaveLength(1)
    await rest(database())
  })

  it('start a run of the published version in their time, and not before', async () => {
    const sync = await seedScheduled(database())
    await look(START_MS - 1)
    expect(await runsOf(database(), sync)).toEqual([])
    await look(START_MS)
    expect(await runsOf(database(), sync)).toEqual([
      {
        cause: 'schedule',
        status: 'queued',
        isCatchingUp: false,
        allowance: 5,
        publicationId: sync.publicationId,
        requestedBy: null,
      },
    ])
    expect(await slotsOf(database(), sync)).toEqual({
      slotMs: START_MS + HOURLY.everyMs,
      firedMs: START_MS,
      coalesced: 0,
    })
    await rest(database())
  })

  it('that find a test of a draft wait for its end, as it does not do what they are for', async () => {
    const sync = await seedScheduled(database())
    const test = newRun(sync, { cause: 'test', publicationId: null })
    await enqueueRun(database(), test)
    const fired = { ...test, id: newId(), runId: newId(), isCatchingUp: false }
    const slot = { ...fired, slotMs: START_MS, nextSlotMs: START_MS + HOURLY.everyMs }
    expect(await fireSlots(database(), [slot])).toEqual([])
    expect(await database().transaction('test', (tx) => holdSlot(tx, slot))).toBeNull()
    await look(START_MS)
    const waiting = { slotMs: START_MS, firedMs: null, coalesced: 0 }
    expect(await slotsOf(database(), sync)).toEqual(waiting)
    await database().rows(sql`
      update run set status = 'canceled', finished_at = now() where id = ${test.id}`)
    await look(START_MS)
    expect((await runsOf(database(), sync)).map(({ cause }) => cause)).toEqual(['test', 'schedule'])
    await rest(database())
  })

  it('that find a run queued or running start nothing, and are counted', async () => {
    const sync = await seedScheduled(database())
    await enqueueRun(database(), newRun(sync))
    await look(START_MS)
    await look(START_MS + HOURLY.everyMs)
    expect((await runsOf(database(), sync)).map(({ cause }) => cause)).toEqual(['run_now'])
    expect(await slotsOf(database(), sync)).toEqual({
      slotMs: START_MS + 2 * HOURLY.everyMs,
      firedMs: null,
      coalesced: 2,
    })
    await endRuns(database(), sync)
    await look(START_MS + 2 * HOURLY.everyMs)
    expect(await runsOf(database(), sync)).toHaveLength(2)
    await rest(database())
  })

  it('that were missed give one run, marked as catching up, and go on with the next', async () => {
    const sync = await seedScheduled(database())
    const nowMs = START_MS + 9.5 * HOURLY.everyMs
    await look(nowMs)
    await look(nowMs + 1_000)
    expect(await runsOf(database(), sync)).toMatchObject([{ isCatchingUp: true }])
    expect(await slotsOf(database(), sync)).toEqual({
      slotMs: START_MS + 10 * HOURLY.everyMs,
      firedMs: START_MS,
      coalesced: 0,
    })
    await endRuns(database(), sync)
    await look(START_MS + 10 * HOURLY.everyMs)
    expect((await runsOf(database(), sync)).map((run) => run.isCatchingUp)).toEqual([true, false])
    await rest(database())
  })

  it.each(['paused', 'pausing'])('of a sync that is %s start nothing, and rest', async (status) => {
    const sync = await seedScheduled(database())
    await setStatus(database(), sync, status)
    await look(START_MS)
    await look(START_MS + HOURLY.everyMs)
    expect(await runsOf(database(), sync)).toEqual([])
    expect(await slotsOf(database(), sync)).toEqual({ slotMs: null, firedMs: null, coalesced: 0 })
  })

  it('are fired by whoever names them: a slot that was moved on is not fired again', async () => {
    const sync = await seedScheduled(database())
    const fire = (slotMs: number) => {
      const { syncId } = sync
      const nextSlotMs = slotMs + HOURLY.everyMs
      const slot = { runId: newId(), syncId, slotMs, nextSlotMs, isCatchingUp: false }
      return fireSlots(database(), [slot])
    }
    expect(await fire(START_MS + 1)).toEqual([])
    expect(await fire(START_MS)).toMatchObject([{ kind: 'started', syncId: sync.syncId }])
    await endRuns(database(), sync)
    expect(await fire(START_MS)).toEqual([])
    expect(await runsOf(database(), sync)).toHaveLength(1)
    await rest(database())
  })

  it('of one sync that cannot be told do not keep the others from theirs', async () => {
    const broken = await seedScheduled(database(), {
      schedule: { kind: 'cron', expression: '0 8 * * *', timeZone: 'Mars/Olympus' },
      slotMs: START_MS - 5 * MINUTE_MS,
    })
    const sync = await seedScheduled(database())
    const logger = createRecordingLogger()
    const scheduler = createScheduler(database(), logger)
    const firstMs = new Date(START_MS).getTime()
    await scheduler.runOnce(new Date(firstMs))
    expect(logger.count('schedule.left')).toBe(1)
    await scheduler.runOnce(new Date(firstMs + 5 * MINUTE_MS))
    expect(logger.count('schedule.not_told')).toBe(1)
    // It is told of as a run that has failed: see breaker-refusals.test.ts.
    expect(await runsOf(database(), broken)).toMatchObject([{ status: 'failed' }])
    expect(await runsOf(database(), sync)).toHaveLength(1)
    await rest(database())
  })

  it('of one sync that the database refuses do not keep the others from theirs', async () => {
    const syncs = await seedManyScheduled(database(), 20)
    const [refused, ...others] = syncs
    await refuseRunsOf(database(), refused)
    const logger = createRecordingLogger()
    await createScheduler(database(), logger).runOnce(new Date(START_MS))
    expect(logger.events.filter(({ event }) => event === 'schedule.not_fired')).toMatchObject([
      { bindings: { syncId: refused } },
    ])
    expect(await countStarted(database(), syncs)).toEqual({ runs: 19, syncs: 19 })
    expect(await countStarted(database(), others)).toEqual({ runs: 19, syncs: 19 })
    await allowRuns(database())
    await look(START_MS + 1_000)
    expect(await countStarted(database(), syncs)).toEqual({ runs: 20, syncs: 20 })
    await rest(database())
  })

  it('of 5,000 syncs that are due at once start each its run, 200 in a statement', async () => {
    const syncs = await seedManyScheduled(database(), 5_000)
    const statements: (string | null)[] = []
    const counting: Database = {
      ...database(),
      rows: (statement) => {
        statements.push(nameOf(statement))
        return database().rows(statement)
      },
    }
    const logger = createRecordingLogger()
    await createScheduler(counting, logger).runOnce(new Date(START_MS))
    expect(await countStarted(database(), syncs)).toEqual({ runs: 5_000, syncs: 5_000 })
    expect(logger.count('run.enqueued')).toBe(5_000)
    expect(statements.filter((name) => name === 'schedules.fireSlots')).toHaveLength(25)
    expect(statements.length).toBeLessThanOrEqual(51)
    await rest(database())
  }, 60_000)
})

describe('slots and many schedulers on PostgreSQL', () => {
  let testDatabase: TestDatabase
  let databases: readonly Database[] = []
  beforeAll(async () => {
    testDatabase = await createTestDatabase()
    databases = await Promise.all(Array.from({ length: 4 }, () => testDatabase.open()))
  })
  afterAll(() => testDatabase.drop())

  it('are fired once each: 200 slots by four schedulers that look at the same moments', async () => {
    const [database] = databases
    if (!database) {
      throw new Error('There is no database.')
    }
    const schedulers = databases.map((one) => createScheduler(one))
    const schedule: Schedule = { kind: 'interval', everyMs: MINUTE_MS }
    const sync = await seedScheduled(database, { schedule })
    for (let n = 0; n < 200; n += 1) {
      const now = new Date(START_MS + n * MINUTE_MS)
      await Promise.all(schedulers.flatMap((one) => [one.runOnce(now), one.runOnce(now)]))
      expect(await slotsOf(database, sync)).toMatchObject({
        slotMs: now.getTime() + MINUTE_MS,
      })
      // The run of every second slot is still in flight at the next one, which is coalesced into it.
      if (n % 2 === 1) {
        await endRuns(database, sync)
      }
    }
    expect(await runsOf(database, sync)).toHaveLength(100)
    expect(await slotsOf(database, sync)).toMatchObject({ coalesced: 100 })
  }, 60_000)

  it('are fired once each: 1,000 of one moment by four schedulers that look at once', async () => {
    const [database] = databases
    if (!database) {
      throw new Error('There is no database.')
    }
    const syncs = await seedManyScheduled(database, 1_000)
    await Promise.all(databases.map((one) => createScheduler(one).runOnce(new Date(START_MS))))
    expect(await countStarted(database, syncs)).toEqual({ runs: 1_000, syncs: 1_000 })
    const [row] = await database.rows(sql`
      select sum(coalesced)::int as coalesced from sync_schedule where sync_id = any(${sql.param(`{${syncs.join(',')}}`)}::uuid[])`)
    expect(row).toEqual({ coalesced: 0 })
    await rest(database)
  }, 60_000)

  it('that a pause overtakes start nothing: what is paused when the pause is committed stays so', async () => {
    const [database, other] = databases
    if (!database || !other) {
      throw new Error('There is no database.')
    }
    const sync = await seedScheduled(database)
    const neighbour = await seedScheduled(database)
    const [isPaused, hasLooked] = [createSignal(), createSignal()]
    const pause = database.transaction('test.pause', async (tx) => {
      await tx.rows(sql`update sync set status = 'paused', pause_cause = 'person'
        where id = ${sync.syncId}`)
      isPaused.reach()
      await hasLooked.reached
    })
    await isPaused.reached
    // The row is held: a look in the meantime neither waits for it nor fires it, but the others.
    await createScheduler(other).runOnce(new Date(START_MS))
    expect(await slotsOf(other, sync)).toMatchObject({ slotMs: START_MS })
    expect(await runsOf(other, neighbour)).toHaveLength(1)
    hasLooked.reach()
    await pause
    await createScheduler(other).runOnce(new Date(START_MS))
    expect(await runsOf(database, sync)).toEqual([])
    expect(await slotsOf(database, sync)).toMatchObject({ slotMs: null })
  })
})
