/**
 * Three processes on PostgreSQL and Redis: one serves the API, one has a run and is stopped with SIGSTOP in the
 * middle of a call, one takes the run over. The first worker is woken while the second is at work. Who has
 * watched all the while, over either transport, sees the run go forwards and end once.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import type { RunProgressSubscription as RunProgressResult } from '../../src/client/gql/graphql.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import { createDeployment, type Deployment, makeFileSync, runNow } from '../support/deployment.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { createSignal } from '../support/signal.ts'

const RECORDS = 30
/** A process takes some seconds to start where many run at once. */
const TIMEOUT_MS = 120_000
const PAGE = { path: 'PAGE', concurrency: 1, deliveryClass: 'IDEMPOTENT' }
const FAST = {
  ...{ POLL_MS: '200', HEARTBEAT_MS: '200' },
  ...{ HEARTBEAT_TRUST_MS: '1500', SILENT_AFTER_MS: '2000' },
}
const APPLY = { kind: 'apply' } as const

describe.runIf(HAS_REDIS)('a run that is watched through a take-over', () => {
  let test: TestDatabase
  let deployment: Deployment
  let destination: RecordingDestination

  beforeEach(async () => {
    test = await createTestDatabase()
    destination = await startRecordingDestination({ honoursKeys: true })
    const at = { databaseUrl: test.url, redisUrl: redisUrl() }
    deployment = await createDeployment({ ...at, settings: FAST })
  })
  afterEach(async () => {
    await deployment.close()
    await destination.close()
    await test.drop()
  })

  const untilCalls = async (count: number) => {
    while (destination.calls() < count) {
      await destination.nextRequest()
    }
  }

  it(
    'goes forwards and has one end',
    async () => {
      const api = await deployment.start({ ROLE: 'api' })
      const client = deployment.client(api)
      await deployment.addCustomers('customers.csv', RECORDS)
      const syncId = await makeFileSync(client, {
        ...{ stream: 'customers.csv', url: destination.url },
        ...{ objectOptions: PAGE, given: { pageSize: 5 } },
      })
      const [olderMayGoOn, youngerMayGoOn] = [createSignal(), createSignal()]
      destination.script(APPLY, APPLY, { ...APPLY, until: olderMayGoOn.reached })
      const runId = await runNow(client, syncId)
      const socket = openSocket(api.address, `Bearer ${deployment.token}`)
      const watchers = [
        collect(client.subscribe(RunProgressSubscription, { runId })),
        collect(subscribeOverSocket(socket, RunProgressSubscription, { runId })),
      ]
      const older = await deployment.start({ ROLE: 'worker' })
      await untilCalls(3)
      process.kill(older.pid, 'SIGSTOP')
      destination.script(APPLY, { ...APPLY, until: youngerMayGoOn.reached })
      await deployment.start({ ROLE: 'worker' })
      await untilCalls(5)
      olderMayGoOn.reach()
      process.kill(older.pid, 'SIGCONT')
      await older.find(/"event":"(run\.lost)"/)
      youngerMayGoOn.reach()
      for (const events of await Promise.all(watchers)) {
        expectForwardsToOneEnd(events)
      }
      await socket.dispose()
      expect(destination.effects.size).toBe(RECORDS)
      expect([...destination.effects.values()].every((n) => n === 1)).toBe(true)
    },
    TIMEOUT_MS,
  )
})

type Progress = Extract<RunProgressResult['runProgress'], { __typename: 'RunProgress' }>

async function collect(results: AsyncIterable<RunProgressResult>): Promise<readonly Progress[]> {
  const events: Progress[] = []
  for await (const { runProgress } of results) {
    if (runProgress.__typename === 'RunProgress') {
      events.push(runProgress)
    }
  }
  return events
}

function expectForwardsToOneEnd(events: readonly Progress[]): void {
  expect(events.filter(({ isTerminal }) => isTerminal)).toEqual(events.slice(-1))
  expect(events.at(-1)).toMatchObject({ status: 'SUCCEEDED', counters: { read: RECORDS } })
  const read = events.map(({ counters }) => Number(counters.read))
  expect(read).toEqual(read.toSorted((a, b) => a - b))
  // It was handed on while it was watched.
  const statuses = events.map(({ status }) => status)
  expect(statuses.slice(statuses.indexOf('RUNNING')).includes('QUEUED')).toBe(true)
}
