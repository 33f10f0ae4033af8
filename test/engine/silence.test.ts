/**
 * What the watchmen say of a workspace that falls silent, and of one that does not: with real engines and
 * schedulers, 48 hours of checks at moments that the test gives (I19).
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Schedule } from '../../src/domain/schedule.ts'
import type { EngineSettings } from '../../src/engine/engine.ts'
import type { Database } from '../../src/store/database.ts'
import { storeSlots } from '../../src/store/schedules.ts'
import { createTestDatabase, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  createEngineHarness,
  ENGINE_SETTINGS,
  type EngineHarness,
} from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import type { SeededSync } from '../support/store-seed.ts'
import { createWatchmen, seedSilentWorkspaces, silencesOf } from '../support/watchmen.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HOURLY: Schedule = { kind: 'interval', everyMs: HOUR_MS }
const SUCCEEDED = 'A run of the workspace has succeeded.'

/** Of an engine that runs what is queued, and whose scheduler looks once, at its start. */
const STANDING_SCHEDULER: EngineSettings = {
  slots: 1,
  pollMs: 200,
  beatMs: 100,
  silentAfterMs: 1_000,
  schedulerMs: DAY_MS,
  drainDeadlineMs: 15_000,
}

describe.each(ENGINE_DATABASE_KINDS)('silence on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    await database().rows(sql`delete from watch_check`)
    source = createScriptedSource([scriptedRow('r0', 0)])
    destination = await startRecordingDestination({ honoursKeys: true })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const watchmen = () => createWatchmen({ database: database(), logger: harness.logger })
  const silences = ({ workspaceId }: SeededSync) => silencesOf(database(), workspaceId)

  async function seedScheduled() {
    const sync = await harness.seedSync({ schedule: HOURLY })
    const nowMs = Date.now()
    const slots = { schedule: HOURLY, anchorMs: nowMs, slotMs: nowMs + HOUR_MS }
    await storeSlots(database(), sync.syncId, slots)
    return sync
  }

  describe('of a workspace whose scheduler has stopped', () => {
    it('raises one alert in 48 hours, which closes with a success, and another one after that', async () => {
      const sync = await seedScheduled()
      await harness.startEngine({ engine: STANDING_SCHEDULER })
      expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
      const { watchHours } = watchmen()
      await watchHours(23)
      expect(await silences(sync)).toEqual([])
      await watchHours(48)
      expect(await silences(sync)).toEqual([{ silence: 'no_run', closing: null, told: 'opened' }])

      expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
      const over = { silence: 'no_run', closing: SUCCEEDED, told: 'opened closed' }
      expect(await silences(sync)).toEqual([over])
      await watchHours(48)
      expect(await silences(sync)).toEqual([
        over,
        { silence: 'no_run', closing: null, told: 'opened' },
      ])
    })

    it('says nothing at all without the watchmen: no run fails, and nothing is there to see (the control)', async () => {
      const sync = await seedScheduled()
      await harness.startEngine({ engine: STANDING_SCHEDULER })
      expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
      const [failed] = await database().rows(sql`
        select count(*)::integer as runs from run
        where workspace_id = ${sync.workspaceId} and status <> 'succeeded'`)
      expect([failed, await silences(sync)]).toEqual([{ runs: 0 }, []])
      await watchmen().watchHours(26)
      expect(await silences(sync)).toHaveLength(1)
    })
  })

  it('of a workspace that produces nothing but errors raises one alert in 48 hours, and says so', async () => {
    const sync = await harness.seedSync()
    source.failWith(new Error('The table is gone.'))
    // The breaker would pause it long before.
    const breaker = { ...ENGINE_SETTINGS.breaker, threshold: 100 }
    await harness.startEngine({ settings: { ...ENGINE_SETTINGS, breaker } })
    const { deadMan } = watchmen()
    const startMs = Date.now()
    for (let hour = 1; hour <= 48; hour += 1) {
      const now = new Date(startMs + hour * HOUR_MS)
      const { runId, status } = await harness.run(sync, { attemptAllowance: 1 })
      expect(status).toBe('failed')
      await database().rows(sql`
        update run set created_at = ${now.toISOString()}::timestamptz,
                       finished_at = ${now.toISOString()}::timestamptz
        where id = ${runId}`)
      await deadMan.runOnce(now)
    }
    expect(await silences(sync)).toEqual([{ silence: 'no_success', closing: null, told: 'opened' }])
    source.failWith(null)
    await harness.run(sync)
    expect(await silences(sync)).toMatchObject([{ closing: SUCCEEDED }])
  })

  it('of a stuck queue is noticed within the hour, is the same alert a day later, and closes with a success', async () => {
    const [busy, waiting] = [await harness.seedSync(), await harness.seedSync()]
    const answer = createSignal()
    destination.script({ kind: 'apply', until: answer.reached })
    await harness.startEngine({ engine: STANDING_SCHEDULER })
    const busyRun = await harness.enqueue(busy)
    await harness.waitFor(busyRun, ({ status }) => status === 'running')
    const waitingRun = await harness.enqueue(waiting)
    const { watchHours } = watchmen()
    await watchHours(1)
    // A process that has only just looked for the first time knows nothing yet.
    expect(await silences(waiting)).toEqual([])
    await watchHours(2)
    const open = { silence: 'queue_stuck', closing: null, told: 'opened' }
    expect(await silences(waiting)).toEqual([open])
    await watchHours(48)
    expect(await silences(waiting)).toEqual([open])

    answer.reach()
    expect(await harness.waitForEnd(waitingRun)).toMatchObject({ status: 'succeeded' })
    expect(await silences(waiting)).toMatchObject([{ silence: 'queue_stuck', closing: SUCCEEDED }])
  })

  it('of a workspace whose only run has been under way for more than a day is not that no run came into being', async () => {
    const sync = await harness.seedSync()
    const answer = createSignal()
    destination.script({ kind: 'apply', until: answer.reached })
    await harness.startEngine({ engine: STANDING_SCHEDULER })
    const runId = await harness.enqueue(sync)
    await harness.waitFor(runId, ({ status }) => status === 'running')
    await watchmen().watchHours(26)
    expect(await silences(sync)).toEqual([{ silence: 'no_success', closing: null, told: 'opened' }])
    answer.reach()
    expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
    expect(await silences(sync)).toMatchObject([{ closing: SUCCEEDED }])
  })

  it('is closed with another word when no sync of the workspace is active any more', async () => {
    const sync = await seedScheduled()
    const { watchHours } = watchmen()
    await watchHours(26)
    await database().rows(sql`
      update sync set status = 'paused', pause_cause = 'person' where id = ${sync.syncId}`)
    await watchHours(28)
    expect(await silences(sync)).toEqual([
      {
        silence: 'no_run',
        closing: 'No sync of the workspace is active any more, so none is expected to run.',
        told: 'opened closed',
      },
    ])
  })

  it('of one workspace that gives trouble keeps no other from being asked', async () => {
    const test = kind === 'postgresql' ? await createTestDatabase() : null
    const own = test ? await test.open() : database()
    const logger = createRecordingLogger()
    try {
      const workspaces = await seedSilentWorkspaces(own, 5)
      const [, second = ''] = workspaces
      await refuseAlertsOf(own, second)
      const { deadMan } = createWatchmen({ database: own, logger })
      await deadMan.runOnce(new Date(Date.now() + 25 * HOUR_MS))
      const found = await Promise.all(workspaces.map((id) => silencesOf(own, id)))
      expect(found.map(({ length }) => length)).toEqual([1, 0, 1, 1, 1])
      expect(logger.events.filter(({ event }) => event === 'dead_man.not_asked')).toMatchObject([
        { bindings: { workspaceId: second } },
      ])
      expect(await outcomeOf(own)).toMatchObject({ figures: { raised: 4, failed: 1 } })
    } finally {
      await own.rows(sql`drop function refuse_alert() cascade`)
      await test?.drop()
    }
  })
})

describe.runIf(ENGINE_DATABASE_KINDS[0] === 'postgresql')('two processes', () => {
  it('at the same minute make one check, hour after hour, and raise one alert', async () => {
    const test = await createTestDatabase()
    try {
      const logger = createRecordingLogger()
      const databases = [await test.open(), await test.open()]
      const processes = [0, 1, 2, 3].map((n) =>
        createWatchmen({ database: databases[n % 2] as Database, logger }),
      )
      const [workspaceId = ''] = await seedSilentWorkspaces(databases[0] as Database, 1)
      const startMs = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + 13 * 60_000
      for (let hour = 0; hour < 48; hour += 1) {
        const now = new Date(startMs + hour * HOUR_MS)
        await Promise.all(processes.map(({ deadMan }) => deadMan.runOnce(now)))
        expect(logger.count('dead_man.checked')).toBe(hour + 1)
      }
      expect(await silencesOf(databases[0] as Database, workspaceId)).toHaveLength(1)
      expect(logger.count('workspace.silent')).toBe(1)
    } finally {
      await test.drop()
    }
  })
})

/** A workspace whose alerts the database does not take. */
async function refuseAlertsOf(database: Database, workspaceId: string): Promise<void> {
  await database.rows(sql`
    create function refuse_alert() returns trigger language plpgsql
    as $$ begin raise exception 'refused'; end $$`)
  await database.rows(sql`
    create trigger refuse_alert before insert on alert for each row
    when (new.workspace_id = ${sql.raw(`'${workspaceId}'`)}) execute function refuse_alert()`)
}

async function outcomeOf(database: Database) {
  const [row] = await database.rows(sql`select outcome from watch_check where name = 'dead_man'`)
  return row?.['outcome']
}
