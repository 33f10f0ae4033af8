/**
 * Subscriptions: 5,000 clients of server-sent events on one process that watch 50 runs, on a private PostgreSQL
 * and Redis. The clients are in this process, which also publishes what the engine would.
 *
 * Told is how long an event takes from its publication to the last of the 100 clients of its run, what a
 * client costs the server in memory, and whether everything is let go of: by clients that see the end, and
 * by 10,000 that leave in the middle.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { Redis } from 'ioredis'
import { RunProgressSubscription } from '../../src/client/documents.ts'
import { announceProgress } from '../../src/coordination/announce.ts'
import { type Bus, runChannel } from '../../src/coordination/bus.ts'
import { connectRedis } from '../../src/coordination/redis/redis.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { encodeGlobalId } from '../../src/graphql/global-id.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { makeRun, makeToken } from '../support/factories.ts'
import { startPostgres, startRedis, type TestService } from '../support/services.ts'
import { seedSync } from '../support/store-seed.ts'
import { median, percentile, report } from './figures.ts'
import { openStream, type StreamClient } from './stream-clients.ts'
import type { Held } from './subscription-server.ts'

const RUNS = 50
const CLIENTS_A_RUN = 100
const CLIENTS = RUNS * CLIENTS_A_RUN
/** Clients that open at once. */
const OPENING = 100
const ROUNDS = 20
/** Between the events of two runs: each run tells something twice a second. */
const EVENT_EVERY_MS = 10
const CYCLES = 10_000
const WARM_UP_CYCLES = 2_000
/** Redis is away for so long, and the end of half of the runs falls into that time. */
const OUTAGE_MS = 10_000
const END_DEADLINE_MS = 30_000

export async function benchSubscriptions(): Promise<boolean> {
  const [postgres, redis] = await Promise.all([
    startPostgres({ isOwn: true }),
    startRedis({ isOwn: true }),
  ])
  const database = await openDatabase({
    at: { url: postgres.url },
    maxConnections: 4,
    applicationName: 'tajo-sync bench',
  })
  const logger = createLogger('silent', (text) => text)
  const coordination = await connectRedis({ url: redis.url, logger, clock: systemClock })
  const asker = new Redis(redis.url)
  asker.on('error', () => undefined) // it is away for a while
  const server = await startServer({ databaseUrl: postgres.url, redisUrl: redis.url })
  try {
    const stage = await enter(database, server.address)
    const parts = {
      ...stage,
      database,
      redis,
      asker,
      bus: coordination.bus,
      measure: server.measure,
    }
    return await measureAll(parts)
  } finally {
    server.stop()
    asker.disconnect()
    await coordination.close()
    await database.close()
    await Promise.all([postgres.stop(), redis.stop()])
  }
}

interface WatchedRun {
  readonly runId: string
  readonly syncId: string
}

interface Stage {
  readonly address: string
  readonly workspaceId: string
  readonly token: string
  readonly runs: readonly WatchedRun[]
}

interface Parts extends Stage {
  readonly database: Database
  readonly redis: TestService
  readonly bus: Bus
  readonly asker: Redis
  measure(): Promise<Held>
}

async function startServer(at: { readonly databaseUrl: string; readonly redisUrl: string }) {
  const flags = ['--expose-gc', '--import', 'tsx']
  const child: ChildProcess = spawn(
    process.execPath,
    [...flags, 'test/bench/subscription-server.ts'],
    {
      env: {
        ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', ROLE: 'api' },
        // All clients come with one token.
        ...{ API_MAX_REQUESTS: '0', API_MAX_SUBSCRIPTIONS: '100000' },
        ...{ DATABASE_URL: at.databaseUrl, REDIS_URL: at.redisUrl, LOG_LEVEL: 'warn' },
        CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
      },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  )
  let output = ''
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString('utf8')
  })
  while (!/serves \S+/.test(output)) {
    if (child.exitCode !== null) {
      throw new Error(`The server ended with ${child.exitCode}.`)
    }
    await wait(50)
  }
  return {
    address: /serves (http:\/\/[^/]+)/.exec(output)?.[1] ?? '',
    measure: async (): Promise<Held> => {
      child.send('measure')
      const [held] = (await once(child, 'message')) as [Held]
      return held
    },
    stop: () => child.kill('SIGKILL'),
  }
}

/** A workspace with so many syncs, each of which has a running run. */
async function enter(database: Database, address: string): Promise<Stage> {
  const { workspaceId } = await seedSync(database)
  const { token } = await makeToken(database, workspaceId)
  const runs: WatchedRun[] = []
  for (let n = 0; n < RUNS; n += 1) {
    const { syncId } = await seedSync(database, { workspaceId })
    runs.push({
      syncId,
      runId: await makeRun(database, { workspaceId, syncId, status: 'running' }),
    })
  }
  return { address, workspaceId, token, runs }
}

async function measureAll(parts: Parts): Promise<boolean> {
  await cycle(parts, WARM_UP_CYCLES)
  const before = await parts.measure()
  const swarm = new Swarm(parts)
  const openingMs = await swarm.open()
  const open = await parts.measure()
  const channels = await countSubscribers(parts)
  const delays = await swarm.tellEvents()
  await swarm.endRuns(parts.runs.slice(0, RUNS / 2))
  const { terminal, afterReturnMs } = await swarm.endRunsUnheard(parts.runs.slice(RUNS / 2))
  const closed = await parts.measure()
  await cycle(parts, CYCLES)
  const cycled = await parts.measure()
  const left = await countSubscribers(parts)
  tell(`opening ${CLIENTS} streams`, openingMs, 'ms')
  tell('an event to all clients of its run, median', median(delays), 'ms')
  tell('resident memory, 5,000 clients', open.residentBytes / 1024 ** 2, 'MB')
  tell('heap before, open, closed, after the cycles', before.heapBytes / 1024 ** 2, 'MB')
  tell('heap with all open', open.heapBytes / 1024 ** 2, 'MB')
  tell('heap when all have ended', closed.heapBytes / 1024 ** 2, 'MB')
  return [
    report({
      ...{ bench: 'subscriptions', figure: 'clients that saw the terminal event and complete' },
      ...{ value: terminal, unit: 'clients', atLeast: CLIENTS },
    }),
    report({
      bench: 'subscriptions',
      figure: 'the end of what ended while Redis was away, to the last client after its return',
      ...{ value: afterReturnMs, unit: 'ms', atMost: 5_000 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: 'Redis subscriptions a channel' },
      ...{ value: Math.max(...channels), unit: 'subscriptions', atLeast: 1, atMost: 1 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: 'resident memory a client' },
      value: (open.residentBytes - before.residentBytes) / 1024 / CLIENTS,
      ...{ unit: 'kB', atMost: 45 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: 'heap a client' },
      value: (open.heapBytes - before.heapBytes) / 1024 / CLIENTS,
      ...{ unit: 'kB', atMost: 45 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: 'an event to all 100 clients of its run, p99' },
      ...{ value: percentile(delays, 0.99), unit: 'ms', atMost: 100 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: `Redis subscriptions after ${CYCLES} aborted streams` },
      ...{ value: Math.max(...left), unit: 'subscriptions', atMost: 0 },
    }),
    report({
      ...{ bench: 'subscriptions', figure: `heap after ${CYCLES} aborted streams to before` },
      ...{ value: cycled.heapBytes / before.heapBytes, unit: 'ratio', atMost: 1.05 },
    }),
    report({
      // Not none: the pool of the database opens its connections as it needs them.
      ...{ bench: 'subscriptions', figure: 'sockets and timers left by an aborted stream' },
      value: Math.max(cycled.resources - before.resources, 0) / CYCLES,
      ...{ unit: 'handles', atMost: 0.005 },
    }),
  ].every(Boolean)
}

function tell(figure: string, value: number, unit: string): void {
  report({ bench: 'subscriptions', figure, value, unit })
}

/** Of each run's channel, by Redis itself. */
async function countSubscribers({ asker, runs }: Parts): Promise<readonly number[]> {
  const channels = runs.map(({ runId }) => `tajo:${runChannel(runId)}`)
  const answer = (await asker.pubsub('NUMSUB', ...channels)) as (string | number)[]
  return answer.filter((_, index) => index % 2 === 1).map(Number)
}

function open(
  { address, token }: Stage,
  { runId }: WatchedRun,
  onEvent: (told: string) => void,
): StreamClient {
  return openStream({
    ...{ address, token, document: RunProgressSubscription, onEvent },
    variables: { runId: encodeGlobalId('Run', runId) },
  })
}

/** Streams that open and break off: half of them with their first event, half before it. */
async function cycle(stage: Stage, cycles: number): Promise<void> {
  let begun = 0
  const goOn = async () => {
    for (; begun < cycles; ) {
      const run = stage.runs[begun % RUNS]
      begun += 1
      if (run) {
        const stream = open(stage, run, () => undefined)
        await (begun % 2 === 0 ? stream.opened : wait(begun % 10))
        stream.abort()
        await stream.ended
      }
    }
  }
  await Promise.all(Array.from({ length: OPENING }, goOn))
}

const WRITTEN = /"written":(\d+)/

/** All clients at once. An event is known by its number of written records. */
class Swarm {
  readonly #parts: Parts
  readonly #streams: StreamClient[] = []
  /** By run and number: when it was published, how many clients have it, and when the last one got it. */
  readonly #told = new Map<string, { atMs: number; count: number; lastMs: number }>()
  #terminal = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Resolves, when all have their snapshot, with how long that took. */
  async open(): Promise<number> {
    const startedAt = performance.now()
    for (let at = 0; at < CLIENTS; at += OPENING) {
      const opening = Array.from({ length: OPENING }, (_, n) => this.#openOne(at + n))
      await Promise.all(opening.map(({ opened }) => opened))
    }
    return performance.now() - startedAt
  }

  #openOne(index: number): StreamClient {
    const run = this.#parts.runs[index % RUNS]
    if (!run) {
      throw new Error('There is no run.')
    }
    const stream = open(this.#parts, run, (told) => this.#hear(run.runId, told))
    this.#streams.push(stream)
    return stream
  }

  #hear(runId: string, told: string): void {
    const number = WRITTEN.exec(told)?.[1]
    const event = this.#told.get(`${runId} ${number}`)
    if (event) {
      event.count += 1
      event.lastMs = performance.now()
    }
    if (told.includes('"isTerminal":true')) {
      this.#terminal += 1
    }
  }

  /** How long each event took to the last client of its run, in milliseconds. An event that one missed took for ever. */
  async tellEvents(): Promise<readonly number[]> {
    for (let n = 1; n <= ROUNDS; n += 1) {
      for (const run of this.#parts.runs) {
        this.#told.set(`${run.runId} ${n}`, { atMs: performance.now(), count: 0, lastMs: 0 })
        void this.#publish(run, n, 'running')
        await wait(EVENT_EVERY_MS)
      }
    }
    await wait(1_000)
    return [...this.#told.values()].map(({ atMs, count, lastMs }) =>
      count === CLIENTS_A_RUN ? lastMs - atMs : Number.POSITIVE_INFINITY,
    )
  }

  /** In the database, and then by a word on the bus. */
  async endRuns(runs: readonly WatchedRun[]): Promise<void> {
    await this.#storeEnds(runs)
    await Promise.all(runs.map((run) => this.#publish(run, ROUNDS + 1, 'succeeded')))
  }

  /**
   * In the database only, just before Redis comes back. Resolves with the number of clients that saw an end and a
   * complete stream, of these runs or of those that ended before, and how long after the return the last one did.
   */
  async endRunsUnheard(runs: readonly WatchedRun[]) {
    const { database, redis, workspaceId } = this.#parts
    await redis.kill('SIGKILL')
    await wait(OUTAGE_MS)
    await this.#storeEnds(runs)
    await redis.restart()
    const returnedAt = performance.now()
    const late = setTimeout(() => this.#abort(), END_DEADLINE_MS)
    const complete = await Promise.all(this.#streams.map(({ ended }) => ended))
    const afterReturnMs = performance.now() - returnedAt
    clearTimeout(late)
    await database.rows(sql`
      update run set status = 'running', finished_at = null where workspace_id = ${workspaceId}`)
    const terminal = Math.min(this.#terminal, complete.filter(Boolean).length)
    return { terminal, afterReturnMs }
  }

  async #storeEnds(runs: readonly WatchedRun[]): Promise<void> {
    for (const { runId } of runs) {
      await this.#parts.database.rows(sql`
        update run set status = 'succeeded', finished_at = now(), event_n = ${ROUNDS + 1}
        where id = ${runId}`)
    }
  }

  #abort(): void {
    for (const stream of this.#streams) {
      stream.abort()
    }
  }

  async #publish(run: WatchedRun, n: number, status: 'running' | 'succeeded'): Promise<void> {
    const { bus, workspaceId } = this.#parts
    await announceProgress(bus, {
      ...run,
      ...{ workspaceId, status, totalRecords: null, failureCode: null },
      sequence: { epoch: 1, n },
      counters: { ...NO_COUNTS, read: n, written: n },
    })
  }
}
