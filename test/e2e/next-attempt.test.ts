/**
 * A run that waits for its next attempt, while its process is killed and others are started in its place. The
 * wait is a due time in the database: no crash loses it, and none hastens it. The database's clock is not
 * moved; the due time is moved towards it instead, for all but the last second.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RunSyncMutation } from '../../src/client/documents.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import {
  createDeployment,
  type Deployment,
  followToEnd,
  makeFileSync,
  runNow,
} from '../support/deployment.ts'
import type { AppProcess } from '../support/processes.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { uuidOf } from '../support/sync-steps.ts'

const ROWS = 4
const BACKOFF_MS = 60_000
/** Of a poll and a busy machine. */
const MAX_LATE_MS = 5_000

describe.runIf(HAS_REDIS)('a run that waits for its next attempt', () => {
  let test: TestDatabase
  let database: Database
  let destination: RecordingDestination
  let deployment: Deployment

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    destination = await startRecordingDestination({ honoursKeys: false })
    deployment = await createDeployment({
      databaseUrl: test.url,
      redisUrl: redisUrl(),
      settings: { POLL_MS: '100' },
    })
  })
  afterEach(async () => {
    await deployment.close()
    await destination.close()
    await test.drop()
  })

  const makeSync = async (app: AppProcess, name: string) => {
    const stream = `${name}.csv`
    await deployment.addCustomers(stream, ROWS)
    return await makeFileSync(deployment.client(app), {
      ...{ stream, url: destination.url, objectOptions: { path: 'PAGE' } },
      given: { object: `/${name}` },
    })
  }
  const requestsOf = (name: string) =>
    destination.requests.filter(({ path }) => path === `/${name}`).length

  async function readRun(id: string) {
    const [row] = await database.rows<RunRow>(sql`
      select run.status, run.claims, run.attempts_spent as spent,
             (extract(epoch from due_at - first.finished_at) * 1000)::float8 as "waitMs",
             (extract(epoch from latest.started_at - due_at) * 1000)::float8 as "lateMs"
      from run
      join attempt as first on first.run_id = run.id and first.number = 1
      join attempt as latest on latest.run_id = run.id and latest.number = run.claims
      where run.id = ${uuidOf(id)}`)
    if (!row) {
      throw new Error(`There is no run ${id}.`)
    }
    return row
  }
  /** Lets the time until its next attempt pass, but for so much. */
  const passTimeBut = (id: string, ms: number) =>
    database.rows(sql`update run set due_at = now() + ${ms}::float8 * interval '1 millisecond'
      where id = ${uuidOf(id)} and status = 'queued'`)

  it('begins it at its time, once, whatever was killed and started in the middle of the wait', async () => {
    const first = await deployment.start()
    const syncId = await makeSync(first, 'waiting')
    destination.script({ kind: 'answer', status: 404 })
    const runId = await runNow(deployment.client(first), syncId)
    while ((await readRun(runId)).spent === 0) {
      // Each look is a round trip to the database.
    }
    expect(await readRun(runId)).toMatchObject({ status: 'queued', claims: 1, waitMs: BACKOFF_MS })
    await deployment.stop(first, 'SIGKILL')

    await passTimeBut(runId, BACKOFF_MS / 2)
    const second = await deployment.start()
    const client = deployment.client(second)
    // It looks for due runs, finds another one and brings it to its end; and this one it leaves alone.
    const otherId = await runNow(client, await makeSync(second, 'other'))
    expect(await followToEnd(client, otherId)).toMatchObject({ status: 'SUCCEEDED' })
    const { runSync } = await client.request(RunSyncMutation, { syncId })
    expect(runSync).toMatchObject({ __typename: 'AlreadyRunning', runId })
    expect(await readRun(runId)).toMatchObject({ status: 'queued', claims: 1 })
    expect(requestsOf('waiting')).toBe(1)
    await deployment.stop(second, 'SIGKILL')

    const third = await deployment.start()
    await passTimeBut(runId, 1_000)
    expect(await followToEnd(deployment.client(third), runId)).toMatchObject({
      status: 'SUCCEEDED',
    })
    const run = await readRun(runId)
    expect(run).toMatchObject({ status: 'succeeded', claims: 2, spent: 1 })
    expect(run.lateMs).toBeGreaterThanOrEqual(0)
    expect(run.lateMs).toBeLessThan(MAX_LATE_MS)
    expect(requestsOf('waiting')).toBe(2)
    expect([...destination.effects.values()]).toEqual(Array(2 * ROWS).fill(1))
  }, 120_000)
})

type RunRow = {
  readonly status: string
  readonly claims: number
  readonly spent: number
  /** From the end of the first attempt to when the run is due. */
  readonly waitMs: number
  /** From when it was due to the beginning of its latest attempt. */
  readonly lateMs: number
}
