/**
 * Two processes on PostgreSQL and Redis, one killed in the middle of a call: the other goes on, and the
 * destination has every record once. The destination is the oracle.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import {
  CreateConnectionMutation,
  CreateSyncMutation,
  PublishSyncMutation,
  RunProgressSubscription,
  RunSyncMutation,
} from '../../src/client/documents.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import { type AppProcess, createWorkspaceToken, startAppProcess } from '../support/processes.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'

const RECORDS = 60
const PAGE_SIZE = 5

describe.runIf(HAS_REDIS)('a worker that is killed', () => {
  let directory: string
  let test: TestDatabase
  let database: Database
  let environment: Record<string, string>
  const apps = new Map<number, AppProcess>()

  const startWorker = async () => {
    const app = await startAppProcess(environment)
    apps.set(app.pid, app)
    return app
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tajo-takeover-'))
    test = await createTestDatabase()
    database = await test.open()
    environment = {
      DATABASE_URL: test.url,
      REDIS_URL: redisUrl(),
      CREDENTIALS_KEY: Buffer.alloc(32, 3).toString('base64'),
      FILE_ROOT: directory,
      LOG_LEVEL: 'warn',
      DATABASE_CONNECTIONS: '5',
      POLL_MS: '200',
      HEARTBEAT_MS: '200',
      HEARTBEAT_TRUST_MS: '1500',
      SILENT_AFTER_MS: '2000',
    }
    const lines = Array.from({ length: RECORDS }, (_, n) => `c${n},user${n}@example.com`)
    await writeFile(join(directory, 'customers.csv'), `id,email\n${lines.join('\n')}\n`)
  })
  afterEach(async () => {
    for (const app of apps.values()) {
      await app.kill('SIGKILL')
    }
    apps.clear()
    await test.drop()
    await rm(directory, { recursive: true, force: true })
  })

  /** Kills the worker of the run when request number `at` has reached the destination and got its reaction. */
  async function killAt(
    at: number,
    given: { destination: RecordingDestination; reaction: Reaction; objectOptions: object },
  ) {
    const { destination, reaction, objectOptions } = given
    const first = await startWorker()
    await startWorker()
    const token = await createWorkspaceToken(environment)
    const client = createApiClient({ address: first.address, token })
    const syncId = await makeSync(client, destination.url, objectOptions)
    destination.script(...Array.from({ length: at - 1 }, () => ({ kind: 'apply' as const })))
    destination.script(reaction)
    const { runSync } = await client.request(RunSyncMutation, { syncId })
    if (runSync.__typename !== 'StartedRun') {
      throw new Error('The run did not start.')
    }
    for (let n = 0; n < at; n += 1) {
      await destination.nextRequest()
    }
    const [worker] = await database.rows<{ pid: number }>(sql`
      select worker.pid from run join worker on worker.id = run.worker_id
      where run.status = 'running'`)
    const killed = apps.get(worker?.pid ?? -1)
    expect(killed).toBeDefined()
    await killed?.kill('SIGKILL')
    apps.delete(killed?.pid ?? -1)
    const [survivor] = apps.values()
    return await watchToEnd(
      createApiClient({ address: survivor?.address ?? '', token }),
      runSync.run.id,
    )
  }

  const hangUnapplied: Reaction = { kind: 'hang', isApplied: false }
  const hangApplied: Reaction = { kind: 'hang', isApplied: true }

  it.each([
    ['before the destination took the page', 'PAGE', 5, hangUnapplied],
    ['after the destination took the page, before it answered', 'PAGE', 5, hangApplied],
    ['before the destination took a record', 'RECORD', 23, hangUnapplied],
    ['after the destination took a record, before it answered', 'RECORD', 23, hangApplied],
  ])(
    '%s (a call a %s): every record is there once, the books balance',
    async (_, path, at, reaction) => {
      const destination = await startRecordingDestination({ honoursKeys: true })
      try {
        const end = await killAt(at, {
          destination,
          reaction,
          objectOptions: { path, concurrency: 1 },
        })
        expect(end).toMatchObject({ status: 'SUCCEEDED' })
        expect(Number(end?.counters.read)).toBe(RECORDS)
        const { written, replayed } = end?.counters ?? {}
        expect(Number(written) + Number(replayed)).toBe(RECORDS)
        const emails = [...destination.records.values()].map(
          (record) => (record as { email: string }).email,
        )
        expect(new Set(emails).size).toBe(RECORDS)
        expect(destination.effects.size).toBe(RECORDS)
        expect([...destination.effects.values()].every((n) => n === 1)).toBe(true)
      } finally {
        await destination.close()
      }
    },
  )

  it('writes twice at a destination that says it honours keys and does not (the control)', async () => {
    const destination = await startRecordingDestination({ honoursKeys: false })
    try {
      const objectOptions = { path: 'PAGE', concurrency: 1 }
      await killAt(5, { destination, reaction: hangApplied, objectOptions })
      const doubled = [...destination.effects.values()].filter((n) => n > 1)
      expect(doubled).toHaveLength(PAGE_SIZE)
    } finally {
      await destination.close()
    }
  })

  it('leaves the record in doubt at a destination that would write it twice, and does not send it again', async () => {
    const destination = await startRecordingDestination({ honoursKeys: false })
    try {
      const objectOptions = { path: 'RECORD', concurrency: 1, deliveryClass: 'NONE' }
      const end = await killAt(23, { destination, reaction: hangApplied, objectOptions })
      expect(end).toMatchObject({ status: 'PARTIAL' })
      expect(Number(end?.counters.inDoubt)).toBe(1)
      expect([...destination.effects.values()].every((n) => n === 1)).toBe(true)
      expect(destination.effects.size).toBe(RECORDS)
    } finally {
      await destination.close()
    }
  })
})

async function makeSync(client: ApiClient, url: string, objectOptions: object): Promise<string> {
  const connect = async (type: string, config: Record<string, string>) => {
    const input = { name: type, type, config }
    const { createConnection: made } = await client.request(CreateConnectionMutation, { input })
    if (made.__typename !== 'CreateConnectionPayload') {
      throw new Error(made.message)
    }
    return made.connection.id
  }
  const { createSync } = await client.request(CreateSyncMutation, {
    input: {
      name: 'customers',
      sourceConnectionId: await connect('file', {}),
      destinationConnectionId: await connect('http', { baseUrl: url }),
      stream: 'customers.csv',
      streamOptions: { identityField: 'id' },
      object: '/contacts',
      objectOptions,
      mapping: { id: { $path: 'id' }, email: { $path: 'email' } },
      pageSize: PAGE_SIZE,
    },
  })
  if (createSync.__typename !== 'ChangedSync') {
    throw new Error(createSync.message)
  }
  await client.request(PublishSyncMutation, { syncId: createSync.sync.id })
  return createSync.sync.id
}

/** Follows the run as a dashboard does, to its terminal event. */
async function watchToEnd(client: ApiClient, runId: string) {
  for await (const { runProgress } of client.subscribe(RunProgressSubscription, { runId })) {
    if (runProgress.__typename === 'RunProgress' && runProgress.isTerminal) {
      return runProgress
    }
  }
  return null
}
