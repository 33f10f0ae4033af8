/**
 * Rolling restarts under load: processes are told to end one after another and started anew, while runs of
 * several syncs are asked for through the API all the time.
 *
 * The destination is the oracle: it does not honour keys, so that a record that is sent twice is there
 * twice. Requests go to any process that was not told to end, as a load balancer would send them.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { ApiClient } from '../../src/client/api-client.ts'
import { RunSyncMutation } from '../../src/client/documents.ts'
import type { Database } from '../../src/store/database.ts'
import {
  createDeployment,
  type Deployment,
  followToEnd,
  makeFileSync,
} from '../support/deployment.ts'
import type { AppProcess } from '../support/processes.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'

export interface RollingOptions {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly database: Database
  readonly restarts: number
  /** Told what happens, a line each. */
  tell(line: string): void
}

export interface RollingFigures {
  readonly restarts: number
  /** Exit codes other than 0. */
  readonly badExits: number
  readonly runs: number
  /** Runs that did not succeed. */
  readonly failedRuns: number
  readonly records: number
  readonly lost: number
  readonly doubled: number
  readonly attemptsBurnt: number
  readonly takeOvers: number
  /** From each release of a run to its next claim, in milliseconds. */
  readonly handOversMs: readonly number[]
}

const PROCESSES = 3
const SYNCS = 6
const RECORDS_A_RUN = 60
const ANSWER_AFTER_MS = 40
const BUSY_POLL_MS = 20
const MAX_BUSY_WAIT_MS = 20_000

/** Calls a page and calls a record, on destinations that take a repeated key for a new write. */
const OBJECTS = [
  { path: 'PAGE', concurrency: 1, deliveryClass: 'NONE' },
  { path: 'RECORD', concurrency: 4, deliveryClass: 'NONE' },
  { path: 'PAGE', concurrency: 1, deliveryClass: 'IDEMPOTENT' },
]

export async function restartProcesses(options: RollingOptions): Promise<RollingFigures> {
  const { databaseUrl, redisUrl, database, restarts, tell } = options
  const destination = await startRecordingDestination({ honoursKeys: false, keepsRequests: false })
  destination.always({ kind: 'apply', answerAfterMs: ANSWER_AFTER_MS })
  // What is behind its notice has handed its runs back: here it would only make the restarts slower.
  const settings = { WORKER_SLOTS: String(SYNCS), DRAIN_NOTICE_MS: '0' }
  const deployment = await createDeployment({ databaseUrl, redisUrl, settings })
  try {
    const fleet = await Promise.all(Array.from({ length: PROCESSES }, () => deployment.start()))
    const over = new AbortController()
    const loads = Array.from({ length: SYNCS }, (_, n) =>
      load({ deployment, url: destination.url, n, signal: over.signal }),
    )
    // A load that breaks is told at the end, not as an unhandled rejection on the way.
    const loaded = Promise.all(loads)
    loaded.catch(() => undefined)
    let badExits = 0
    for (let n = 0; n < restarts; n += 1) {
      const at = n % PROCESSES
      const app = fleet[at]
      if (!app) {
        throw new Error(`There is no process ${at}.`)
      }
      await untilBusy(database, app)
      const code = await deployment.stop(app, 'SIGTERM')
      badExits += code === 0 ? 0 : 1
      fleet[at] = await deployment.start()
      tell(`restart ${n + 1} of ${restarts}: process ${at + 1} ended with ${code}`)
    }
    over.abort()
    const added = (await loaded).flat()
    return { restarts, badExits, ...count(destination, added), ...(await readBooks(database)) }
  } finally {
    await deployment.close()
    await destination.close()
  }
}

/** Asks for run after run of one sync, each with new records. Returns the ids of all of them. */
async function load(options: {
  readonly deployment: Deployment
  readonly url: string
  readonly n: number
  readonly signal: AbortSignal
}): Promise<readonly string[]> {
  const { deployment, url, n, signal } = options
  const stream = `customers-${n}.csv`
  const added = [...(await deployment.addCustomers(stream, RECORDS_A_RUN))]
  const objectOptions = OBJECTS[n % OBJECTS.length] ?? {}
  const given = { pageSize: 5 }
  const syncId = await makeFileSync(deployment.client(), { stream, url, objectOptions, given })
  do {
    const runId = await askUntilAnswered(deployment, (client) => startRun(client, syncId))
    await askUntilAnswered(deployment, (client) => followToEnd(client, runId))
    added.push(...(await deployment.addCustomers(stream, RECORDS_A_RUN)))
  } while (!signal.aborted)
  const last = await askUntilAnswered(deployment, (client) => startRun(client, syncId))
  await askUntilAnswered(deployment, (client) => followToEnd(client, last))
  return added
}

/** The run that was started, or that an earlier request started whose answer was lost. */
async function startRun(client: ApiClient, syncId: string): Promise<string | null> {
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  switch (runSync.__typename) {
    case 'StartedRun':
      return runSync.run.id
    case 'AlreadyRunning':
      return runSync.runId
    default:
      throw new Error(`The run was refused: ${runSync.__typename}.`)
  }
}

/** Asks one process after another, as a client behind a load balancer does, until one answers. */
async function askUntilAnswered<T>(
  deployment: Deployment,
  ask: (client: ApiClient) => Promise<T | null>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const apps = [...deployment.apps.values()]
    try {
      const answer = await ask(deployment.client(apps[tries % apps.length]))
      if (answer !== null) {
        return answer
      }
    } catch (error) {
      if (tries >= MAX_TRIES) {
        throw error
      }
    }
    await wait(BUSY_POLL_MS)
  }
}

const MAX_TRIES = 100

/** Waits until the process has a run in hand, so that its end interrupts something. */
async function untilBusy(database: Database, app: AppProcess): Promise<void> {
  for (let waitedMs = 0; waitedMs < MAX_BUSY_WAIT_MS; waitedMs += BUSY_POLL_MS) {
    const busy = await database.rows(sql`
      select run.id
      from run join worker on worker.id = run.worker_id
      where run.status = 'running' and worker.pid = ${app.pid}
      limit 1`)
    if (busy.length > 0) {
      return
    }
    await wait(BUSY_POLL_MS)
  }
}

function count(destination: RecordingDestination, added: readonly string[]) {
  const writes = new Map<string, number>()
  for (const { record } of destination.applied) {
    const { id } = record as { readonly id: string }
    writes.set(id, (writes.get(id) ?? 0) + 1)
  }
  return {
    records: added.length,
    lost: added.filter((id) => !writes.has(id)).length,
    doubled: [...writes.values()].filter((n) => n > 1).length,
  }
}

async function readBooks(database: Database) {
  const [books] = await database.rows<{
    runs: number
    failedRuns: number
    attemptsBurnt: number
    takeOvers: number
  }>(sql`
    select count(*)::int as runs,
           count(*) filter (where status <> 'succeeded')::int as "failedRuns",
           sum(attempts_spent)::int as "attemptsBurnt", sum(take_overs)::int as "takeOvers"
    from run`)
  if (!books) {
    throw new Error('There are no runs.')
  }
  const handOvers = await database.rows<{ ms: number }>(sql`
    select (extract(epoch from later.started_at - attempt.finished_at) * 1000)::float8 as ms
    from attempt
    join attempt as later on later.run_id = attempt.run_id and later.number = attempt.number + 1
    where attempt.outcome = 'released'
    order by ms`)
  return { ...books, handOversMs: handOvers.map(({ ms }) => ms) }
}
