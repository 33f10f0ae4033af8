/**
 * A record that is set aside and brought back through the API, by processes of which one is killed in the
 * middle of sending it: written once, and its row nowhere in clear.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  RedriveRecordsMutation,
  RejectedRecordsQuery,
} from '../../src/client/quarantine-documents.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import { rejecting } from '../support/deliveries.ts'
import {
  createDeployment,
  type Deployment,
  followToEnd,
  makeFileSync,
  runNow,
} from '../support/deployment.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'

const STREAM = 'customers.csv'
const BAD = `${STREAM}-4@example.com`

describe.runIf(HAS_REDIS)('a record that the destination rejects', () => {
  let test: TestDatabase
  let database: Database
  let deployment: Deployment
  let destination: RecordingDestination

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    destination = await startRecordingDestination()
    deployment = await createDeployment({
      databaseUrl: test.url,
      redisUrl: redisUrl(),
      settings: {
        ...{ LOG_LEVEL: 'debug', QUARANTINE_AFTER_RUNS: '2', POLL_MS: '200' },
        ...{ HEARTBEAT_MS: '200', HEARTBEAT_TRUST_MS: '1500', SILENT_AFTER_MS: '2000' },
      },
    })
  })
  afterEach(async () => {
    await deployment.close()
    await destination.close()
    await test.drop()
  })

  it('is set aside, brought back, and written once although its worker is killed', async () => {
    const apps = [await deployment.start(), await deployment.start()]
    await deployment.addCustomers(STREAM, 10)
    const syncId = await makeFileSync(deployment.client(), {
      ...{ stream: STREAM, url: destination.url, objectOptions: { path: 'PAGE' } },
      given: { onRejected: 'QUARANTINE', pageSize: 5 },
    })
    destination.decide(rejecting(({ email }) => email === BAD))
    const counted: unknown[] = []
    for (let runs = 0; runs < 2; runs += 1) {
      const client = deployment.client()
      const end = await followToEnd(client, await runNow(client, syncId))
      counted.push(end?.counters)
    }
    expect(counted).toMatchObject([{ written: 9, rejected: 1 }, { quarantined: 1 }])
    destination.decide(() => ({ kind: 'apply' }))
    destination.script({ kind: 'hang', isApplied: true })
    const asked = destination.nextRequest()
    const { redriveRecords } = await deployment.client().request(RedriveRecordsMutation, { syncId })
    const run = redriveRecords.__typename === 'RedrivenRecords' ? redriveRecords.run : null
    await asked
    const [worker] = await database.rows<{ pid: number }>(sql`
      select worker.pid from run join worker on worker.id = run.worker_id
      where run.status = 'running'`)
    const killed = apps.find(({ pid }) => pid === worker?.pid)
    expect(killed).toBeDefined()
    if (killed) {
      await deployment.stop(killed, 'SIGKILL')
    }
    const end = await followToEnd(deployment.client(), run?.id ?? '')
    expect(end).toMatchObject({ status: 'SUCCEEDED', counters: { read: 1, written: 1 } })
    const states = ['DELIVERED' as const]
    const listed = await deployment.client().request(RejectedRecordsQuery, { syncId, states })
    expect(listed.sync?.rejectedRecords.edges).toHaveLength(1)
    expect([...destination.effects.values()]).toEqual(Array(10).fill(1))
    const told = apps.map((app) => app.output()).join('\n')
    expect(told).toContain('run.claimed')
    expect(told).not.toContain(BAD)
  })
})
