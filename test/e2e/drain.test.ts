/**
 * SIGTERM, as a deployment sends it: real processes on PostgreSQL and Redis, and one on the embedded
 * default. The destination is the oracle: it does not honour keys, so what is sent twice is there twice.
 */
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApiClient } from '../../src/client/api-client.ts'
import { RunProgressSubscription, RunQuery } from '../../src/client/documents.ts'
import type { Database } from '../../src/store/database.ts'
import { openSocket, subscribeOverSocket } from '../support/api-client.ts'
import { copyEmbedded, createTestDatabase, type TestDatabase } from '../support/databases.ts'
import {
  createDeployment,
  type Deployment,
  followToEnd,
  makeFileSync,
  runNow,
} from '../support/deployment.ts'
import { type AppProcess, startAppProcess } from '../support/processes.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { createSignal, type Signal } from '../support/signal.ts'

const RECORDS = 30
/** A process takes some seconds to start where many run at once. */
const TIMEOUT_MS = 90_000
const PAGE = { path: 'PAGE', concurrency: 1, deliveryClass: 'NONE' }
const FAST = {
  DRAIN_NOTICE_MS: '0',
  HEARTBEAT_MS: '200',
  HEARTBEAT_TRUST_MS: '1500',
  SILENT_AFTER_MS: '2000',
}

interface HeldRun {
  readonly runId: string
  /** The process that has the run, in the middle of its third page. */
  readonly worker: AppProcess
  /** Lets the destination answer. */
  readonly answer: Signal
}

describe.runIf(HAS_REDIS)('a process that is told to end', { timeout: TIMEOUT_MS }, () => {
  let test: TestDatabase
  let database: Database
  let deployment: Deployment
  let destination: RecordingDestination

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    destination = await startRecordingDestination({ honoursKeys: false })
    const at = { databaseUrl: test.url, redisUrl: redisUrl() }
    deployment = await createDeployment({ ...at, settings: FAST })
  })
  afterEach(async () => {
    await deployment.close()
    await destination.close()
    await test.drop()
  })

  /** Starts a process and a run, which comes to a stand at its third page. */
  async function holdRun(
    settings: Readonly<Record<string, string>> = {},
    objectOptions: object = PAGE,
  ): Promise<HeldRun> {
    const worker = await deployment.start(settings)
    const client = deployment.client(worker)
    await deployment.addCustomers('customers.csv', RECORDS)
    const syncId = await makeFileSync(client, {
      stream: 'customers.csv',
      url: destination.url,
      objectOptions,
      given: { pageSize: 5 },
    })
    const answer = createSignal()
    const apply = { kind: 'apply' } as const
    destination.script(apply, apply, { kind: 'apply', until: answer.reached })
    const runId = await runNow(client, syncId)
    while (destination.requests.length < 3) {
      await destination.nextRequest()
    }
    return { runId, worker, answer }
  }

  async function readRun() {
    const [row] = await database.rows(sql`
      select run.status, run.attempts_spent as spent, run.take_overs as "takeOvers",
             jsonb_agg(attempt.outcome order by attempt.number) as outcomes
      from run join attempt on attempt.run_id = run.id
      group by run.id`)
    return row
  }

  const keys = () => destination.requests.flatMap((request) => request.keys)

  it('in the middle of a page awaits the answer and hands the run back; another finishes it', async () => {
    const { runId, worker, answer } = await holdRun()
    const exited = deployment.stop(worker, 'SIGTERM')
    await untilStatus(`${worker.address}/health/ready`, 503)
    answer.reach()
    expect(await exited).toBe(0)
    expect(await readRun()).toEqual({
      status: 'queued',
      spent: 0,
      takeOvers: 0,
      outcomes: ['released'],
    })
    const other = await deployment.start()
    const end = await followToEnd(deployment.client(other), runId)
    expect(end).toMatchObject({ status: 'SUCCEEDED', counters: { read: RECORDS } })
    expect(keys()).toHaveLength(RECORDS)
    expect(new Set(keys()).size).toBe(RECORDS)
    expect(await readRun()).toMatchObject({ spent: 0, outcomes: ['released', 'completed'] })
  })

  it('is not ready at once, but alive, and answers until its runs are done', async () => {
    const { runId, worker, answer } = await holdRun()
    await untilStatus(`${worker.address}/health/ready`, 200)
    const exited = deployment.stop(worker, 'SIGTERM')
    await untilStatus(`${worker.address}/health/ready`, 503)
    const live = await fetch(`${worker.address}/health/live`)
    expect([live.status, await live.json()]).toEqual([200, { status: 'alive' }])
    const report = await fetch(`${worker.address}/health`)
    expect([report.status, await report.json()]).toMatchObject([200, { status: 'healthy' }])
    const { run } = await deployment.client(worker).request(RunQuery, { id: runId })
    expect(run).toMatchObject({ status: 'RUNNING' })
    answer.reach()
    expect(await exited).toBe(0)
    await expect(fetch(`${worker.address}/health/live`)).rejects.toThrow()
  })

  it('ends its subscriptions so that their clients come again, and another tells the end', async () => {
    const { runId, worker, answer } = await holdRun()
    const authorization = `Bearer ${deployment.token}`
    const stream = deployment.client(worker).subscribe(RunProgressSubscription, { runId })
    const socket = openSocket(worker.address, authorization)
    const closed = new Promise<unknown>((resolve) => socket.on('closed', resolve))
    const frames = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    await Promise.all([stream.next(), frames.next()])
    const ended = Promise.allSettled([drainOf(stream), drainOf(frames)])
    const raw = await openStream(worker.address, authorization, runId)
    const exited = deployment.stop(worker, 'SIGTERM')
    await untilStatus(`${worker.address}/health/ready`, 503)
    answer.reach()
    expect(await exited).toBe(0)
    // Both clients know that the operation was not complete: with retries allowed they subscribe again.
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await closed).toMatchObject({ code: 1012, reason: 'Service restart' })
    const text = await raw.text()
    expect(text).toContain('event: next')
    expect(text).not.toContain('event: complete')
    const other = await deployment.start()
    const again = openSocket(other.address, authorization)
    const last = await lastOf(subscribeOverSocket(again, RunProgressSubscription, { runId }))
    expect(last).toMatchObject({ runProgress: { isTerminal: true, status: 'SUCCEEDED' } })
    await again.dispose()
  })

  it('and only serves the API goes on until whoever spreads the requests has noticed', async () => {
    const noticeMs = 1_500
    const api = await deployment.start({ ROLE: 'api', DRAIN_NOTICE_MS: String(noticeMs) })
    const client = deployment.client(api)
    await deployment.addCustomers('customers.csv', 1)
    const stream = 'customers.csv'
    const syncId = await makeFileSync(client, { stream, url: destination.url, objectOptions: PAGE })
    const runId = await runNow(client, syncId)
    const socket = openSocket(api.address, `Bearer ${deployment.token}`)
    const closed = new Promise<unknown>((resolve) => socket.on('closed', resolve))
    const frames = subscribeOverSocket(socket, RunProgressSubscription, { runId })
    await frames.next()
    const ended = Promise.allSettled([drainOf(frames)])
    const toldAtMs = performance.now()
    const exited = deployment.stop(api, 'SIGTERM')
    await untilStatus(`${api.address}/health/ready`, 503)
    const underWay = await beginRequest(api.address, `Bearer ${deployment.token}`)
    expect(await client.request(RunQuery, { id: runId })).toMatchObject({
      run: { status: 'QUEUED' },
    })
    await untilRefused(`${api.address}/health/live`)
    expect(performance.now() - toldAtMs).toBeGreaterThanOrEqual(noticeMs)
    const { run } = JSON.parse(await underWay.finish({ id: runId })).data
    expect(run).toMatchObject({ status: 'QUEUED' })
    expect(await closed).toMatchObject({ code: 1012, reason: 'Service restart' })
    expect(await ended).toMatchObject([{ status: 'rejected' }])
    expect(await exited).toBe(0)
  })

  it('whose destination never answers ends at the process deadline; recovery hands the run on', async () => {
    const deadlines = { DRAIN_DEADLINE_MS: '300', PROCESS_DEADLINE_MS: '1000' }
    const { runId, worker } = await holdRun(deadlines, { path: 'PAGE', concurrency: 1 })
    const other = await deployment.start()
    expect(await deployment.stop(worker, 'SIGTERM')).toBe(1)
    expect(worker.output()).toContain('drain.late')
    const end = await followToEnd(deployment.client(other), runId)
    expect(end).toMatchObject({ status: 'SUCCEEDED', counters: { read: RECORDS } })
    expect(await readRun()).toMatchObject({ spent: 0, outcomes: ['recovered', 'completed'] })
  })

  it('ends at once when it is told twice', async () => {
    const { worker } = await holdRun()
    const exited = deployment.stop(worker, 'SIGTERM')
    await untilStatus(`${worker.address}/health/ready`, 503)
    const toldAgainAtMs = performance.now()
    void worker.kill('SIGTERM')
    expect(await exited).toBe(1)
    expect(performance.now() - toldAgainAtMs).toBeLessThan(5_000)
    expect(await readRun()).toMatchObject({ status: 'running' })
  })
})

describe('a process on the embedded default that is told to end', { timeout: TIMEOUT_MS }, () => {
  it('goes on where it was when it is started again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tajo-drain-'))
    await copyEmbedded(directory)
    const destination = await startRecordingDestination({ honoursKeys: false })
    const environment = { DATA_DIR: directory, FILE_ROOT: directory, LOG_LEVEL: 'warn' }
    const started = [await startAppProcess(environment)]
    try {
      const [first] = started
      const token = (await readFile(join(directory, 'token'), 'utf8')).trim()
      const client = createApiClient({ address: first?.address ?? '', token })
      const lines = Array.from({ length: RECORDS }, (_, n) => `c${n},c${n}@example.com\n`)
      await writeFile(join(directory, 'customers.csv'), `id,email\n${lines.join('')}`)
      const syncId = await makeFileSync(client, {
        stream: 'customers.csv',
        url: destination.url,
        objectOptions: PAGE,
        given: { pageSize: 5 },
      })
      const answer = createSignal()
      destination.script({ kind: 'apply' }, { kind: 'apply', until: answer.reached })
      const runId = await runNow(client, syncId)
      while (destination.requests.length < 2) {
        await destination.nextRequest()
      }
      const exited = first?.kill('SIGTERM')
      await untilStatus(`${first?.address}/health/ready`, 503)
      answer.reach()
      expect(await exited).toBe(0)
      const again = await startAppProcess(environment)
      started.push(again)
      const client2 = createApiClient({ address: again.address, token })
      const end = await followToEnd(client2, runId)
      expect(end).toMatchObject({ status: 'SUCCEEDED', counters: { read: RECORDS } })
      const { run } = await client2.request(RunQuery, { id: runId })
      expect(run?.attempts.map(({ outcome }) => outcome)).toEqual(['RELEASED', 'COMPLETED'])
      expect([...destination.effects.values()]).toEqual(Array(RECORDS).fill(1))
    } finally {
      for (const app of started) {
        await app.kill('SIGKILL')
      }
      await destination.close()
      await rm(directory, { recursive: true, force: true })
    }
  })
})

/** Asks until the answer has that status. */
async function untilStatus(url: string, status: number): Promise<void> {
  while ((await fetch(url)).status !== status) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Asks until nobody takes the connection. */
async function untilRefused(url: string): Promise<void> {
  for (;;) {
    try {
      await (await fetch(url)).arrayBuffer()
    } catch {
      return
    }
  }
}

/** A query that the process has begun to read, and whose variables it is still waiting for. */
async function beginRequest(address: string, authorization: string) {
  const query = JSON.stringify(RunQuery.toString())
  const underWay = request(`${address}/graphql`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', expect: '100-continue' },
  })
  const answered = new Promise<string>((resolve, reject) => {
    underWay.on('response', (response) => resolve(textOf(response)))
    underWay.on('error', reject)
  })
  answered.catch(() => undefined)
  underWay.flushHeaders()
  await once(underWay, 'continue')
  underWay.write(`{"query":${query},"variables":`)
  return {
    finish: (variables: object) => {
      underWay.end(`${JSON.stringify(variables)}}`)
      return answered
    },
  }
}

/** The server-sent events as they come over the wire. */
async function openStream(
  address: string,
  authorization: string,
  runId: string,
): Promise<Response> {
  return await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { authorization, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ query: RunProgressSubscription.toString(), variables: { runId } }),
  })
}

async function drainOf(events: AsyncIterable<unknown>): Promise<void> {
  await lastOf(events)
}

async function lastOf<T>(events: AsyncIterable<T>): Promise<T | null> {
  let last: T | null = null
  for await (const event of events) {
    last = event
  }
  return last
}
