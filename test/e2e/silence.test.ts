/**
 * Silence as real processes notice it: one that only serves the API while no worker ever starts, one that is
 * killed in the middle of a check. Rows are moved back in time; nothing is waited for but what is logged (I19).
 */
import { sql } from 'drizzle-orm'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import {
  createDeployment,
  type Deployment,
  followToEnd,
  makeFileSync,
  runNow,
} from '../support/deployment.ts'
import { type AppProcess, startScript } from '../support/processes.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS } from '../support/redis.ts'
import { startRedis, type TestService } from '../support/services.ts'
import { createWatchmen, seedSilentWorkspaces, silencesOf } from '../support/watchmen.ts'

const TIMEOUT_MS = 240_000
const HOUR_MS = 3_600_000

describe.runIf(HAS_REDIS)('a deployment', { timeout: TIMEOUT_MS }, () => {
  let test: TestDatabase
  let database: Database
  let redis: TestService
  let destination: RecordingDestination
  let deployment: Deployment

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    redis = await startRedis({ isOwn: true })
    destination = await startRecordingDestination()
    deployment = await createDeployment({
      databaseUrl: test.url,
      redisUrl: redis.url,
      settings: { LOG_LEVEL: 'info', WATCH_INTERVAL_MS: '50', POLL_MS: '100' },
    })
  })
  afterEach(async () => {
    await deployment.close()
    await destination.close()
    await redis.stop()
    await test.drop()
  })

  /** Resolves when the process has logged the event so many times. */
  const untilLogged = (app: AppProcess, event: string, count = 1) =>
    app.find(new RegExp(`(?:"event":"${event}"[\\s\\S]*?){${count}}()`))

  async function workspaceId(): Promise<string> {
    const [row] = await database.rows<{ id: string }>(sql`select id from workspace`)
    return row?.id ?? ''
  }
  /** As if so many hours had passed since all that happened to runs and syncs. */
  async function passHours(hours: number): Promise<void> {
    const by = sql`${hours}::float8 * interval '1 hour'`
    await database.rows(sql`update sync set activated_at = activated_at - ${by}`)
    await database.rows(sql`
      update run set created_at = created_at - ${by}, due_at = due_at - ${by},
                     finished_at = finished_at - ${by}`)
  }
  /** As if the last check had been made so many hours ago: the present one has been missed. */
  const missChecks = (hours: number) =>
    database.rows(sql`
      update watch_check set slot_at = slot_at - ${hours}::float8 * interval '1 hour'`)
  async function flushRedis(): Promise<void> {
    const client = new Redis(redis.url)
    await client.flushall()
    client.disconnect()
  }

  it('whose worker never starts: the API’s process raises one alert, whatever Redis forgets, until a success', async () => {
    const api = await deployment.start({ ROLE: 'api' })
    await untilLogged(api, 'dead_man.checked')
    await deployment.addCustomers('people.csv', 2)
    const client = deployment.client(api)
    const syncId = await makeFileSync(client, {
      ...{ stream: 'people.csv', url: destination.url, objectOptions: {} },
    })
    const runId = await runNow(client, syncId)
    await passHours(0.5)
    await untilLogged(api, 'workspace.silent')
    const id = await workspaceId()
    const open = { silence: 'queue_stuck', closing: null, told: 'opened' }
    expect(await silencesOf(database, id)).toEqual([open])

    await passHours(30)
    for (let check = 2; check <= 6; check += 1) {
      await flushRedis()
      await missChecks(1)
      await untilLogged(api, 'dead_man.checked', check)
    }
    expect(api.output()).toMatch(/"asked":1,"silent":1,"raised":0/)
    expect(await silencesOf(database, id)).toEqual([open])

    const worker = await deployment.start({ ROLE: 'worker' })
    expect(await followToEnd(client, runId)).toMatchObject({ status: 'SUCCEEDED' })
    const over = {
      silence: 'queue_stuck',
      closing: 'A run of the workspace has succeeded.',
      told: 'opened closed',
    }
    expect(await silencesOf(database, id)).toEqual([over])

    await passHours(30)
    await missChecks(1)
    // By now there are two of which one makes it.
    await Promise.race([
      untilLogged(api, 'dead_man.checked', 7),
      untilLogged(worker, 'dead_man.checked'),
    ])
    expect(await silencesOf(database, id)).toEqual([
      over,
      { silence: 'no_run', closing: null, told: 'opened' },
    ])
  })

  it('that was down at minute 13 makes the check at its start, and says so in its health', async () => {
    const first = await deployment.start({ ROLE: 'api' })
    await untilLogged(first, 'dead_man.checked')
    await deployment.stop(first, 'SIGKILL')
    await missChecks(5)
    await database.rows(sql`
      update watch_check set outcome = jsonb_set(outcome, '{atMs}',
        to_jsonb((outcome ->> 'atMs')::float8 - 5 * 3600000))`)
    const [stale] = await database.rows(sql`select slot_at::text as slot from watch_check`)
    const again = await deployment.start({ ROLE: 'api' })
    await untilLogged(again, 'dead_man.checked')
    const [fresh] = await database.rows(sql`select slot_at::text as slot from watch_check`)
    expect(fresh?.['slot']).not.toBe(stale?.['slot'])
    const health = await fetch(`${again.address}/health`)
    expect(await health.json()).toMatchObject({
      checks: { deadMan: { isHealthy: true, detail: expect.stringMatching(/was finished at /) } },
    })
  })
})

describe.runIf(HAS_REDIS)(
  'a process that is killed in the middle of a check',
  { timeout: TIMEOUT_MS },
  () => {
    it('leaves the rest to the next that looks after 5 minutes, and nothing is raised twice', async () => {
      const test = await createTestDatabase()
      try {
        const database = await test.open()
        const workspaces = await seedSilentWorkspaces(database, 3)
        const raised = async () =>
          (await Promise.all(workspaces.map((id) => silencesOf(database, id)))).map(
            ({ length }) => length,
          )
        const now = new Date(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + 25.25 * HOUR_MS)
        const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000)
        const dying = startScript('test/support/dying-check.ts', {
          DATABASE_URL: test.url,
          NOW: now.toISOString(),
        })
        expect([await dying.exited, dying.output()]).toEqual([null, ''])
        expect(await raised()).toEqual([1, 0, 0])

        const logger = createRecordingLogger()
        const { deadMan } = createWatchmen({ database, logger })
        await deadMan.runOnce(at(4))
        expect(await raised()).toEqual([1, 0, 0])
        await deadMan.runOnce(at(5))
        expect(await raised()).toEqual([1, 1, 1])
        expect(logger.events.filter(({ event }) => event === 'dead_man.checked')).toMatchObject([
          { bindings: { asked: 3, silent: 3, raised: 2 } },
        ])
        // It is done: nobody takes it up again.
        await deadMan.runOnce(at(20))
        expect(logger.count('dead_man.checked')).toBe(1)
      } finally {
        await test.drop()
      }
    })
  },
)
