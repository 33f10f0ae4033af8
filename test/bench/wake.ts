/**
 * How soon a run begins that somebody asks for: from the mutation to the first page that was read of the source,
 * on an idle pool, with a private PostgreSQL and Redis. The app is in this process, so that one clock measures.
 */
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp } from '../../src/app.ts'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import { RunProgressSubscription, RunSyncMutation } from '../../src/client/documents.ts'
import { readConfig } from '../../src/config.ts'
import { makeFileSync } from '../support/deployment.ts'
import { LOCAL_ENVIRONMENT } from '../support/local-client.ts'
import { createWorkspaceToken, type StartedProcess, startScript } from '../support/processes.ts'
import { startPostgres, startRedis } from '../support/services.ts'
import { median, percentile, report } from './figures.ts'

const RUNS = 300
const WARM_UP_RUNS = 50
const STREAM = 'customers.csv'
/** As the stand-in destination takes them. */
const OPTIONS = { path: 'PAGE', maxRecordsPerCall: 500 }

export async function benchWake(): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'tajo-bench-'))
  const [postgres, redis] = await Promise.all([
    startPostgres({ isOwn: true }),
    startRedis({ isOwn: true }),
  ])
  const environment = {
    ...{ DATABASE_URL: postgres.url, REDIS_URL: redis.url, LOG_LEVEL: 'warn', PORT: '0' },
    ...{ CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'), FILE_ROOT: directory },
    ...LOCAL_ENVIRONMENT,
  }
  const started: StartedProcess[] = []
  const readAtMs = new Map<string, number>()
  const token = await createWorkspaceToken(environment)
  const app = await startApp(readConfig(environment), {
    faults: (point, runId) => {
      if (point === 'afterReadPage' && !readAtMs.has(runId)) {
        readAtMs.set(runId, performance.now())
      }
    },
  })
  try {
    const stand = startScript('test/support/standing-destination.ts', {})
    started.push(stand)
    const url = await stand.find(/listens at (\S+)/)
    await appendFile(join(directory, STREAM), 'id,email\n')
    const client = createApiClient({ address: app.address, token })
    const syncId = await makeFileSync(client, { stream: STREAM, url, objectOptions: OPTIONS })
    return await measure({ client, syncId, path: join(directory, STREAM), readAtMs })
  } finally {
    await app.stop()
    for (const child of started) {
      await child.kill('SIGKILL')
    }
    await Promise.all([postgres.stop(), redis.stop()])
    await rm(directory, { recursive: true, force: true })
  }
}

interface Bench {
  readonly client: ApiClient
  readonly syncId: string
  /** The source, which gets a line for each run. */
  readonly path: string
  /** By run. */
  readonly readAtMs: ReadonlyMap<string, number>
}

async function measure(bench: Bench): Promise<boolean> {
  const fromSent: number[] = []
  const fromAnswer: number[] = []
  for (let n = 0; n < WARM_UP_RUNS + RUNS; n += 1) {
    await appendFile(bench.path, `${n},${n}@example.com\n`)
    const { sent, answered } = await timeRun(bench)
    if (n >= WARM_UP_RUNS) {
      fromSent.push(sent)
      fromAnswer.push(Math.max(answered, 0))
    }
  }
  tell('mutation sent to first page read, p50', median(fromSent))
  tell('mutation sent to first page read, p99', percentile(fromSent, 0.99))
  return [
    tell('mutation answered to first page read, p50', median(fromAnswer), 10),
    tell('mutation answered to first page read, p99', percentile(fromAnswer, 0.99), 100),
  ].every(Boolean)
}

function tell(figure: string, value: number, atMost?: number): boolean {
  const bar = atMost === undefined ? {} : { atMost }
  return report({ bench: 'wake', figure, value, unit: 'ms', ...bar })
}

/** Milliseconds to the first page, from when the mutation was sent and from when it was answered. Waits for the end. */
async function timeRun({ client, syncId, readAtMs }: Bench) {
  const sentAt = performance.now()
  const { runSync } = await client.request(RunSyncMutation, { syncId })
  const answeredAt = performance.now()
  if (runSync.__typename !== 'StartedRun') {
    throw new Error('message' in runSync ? runSync.message : 'The run did not start.')
  }
  const runId = runSync.run.id
  for await (const { runProgress } of client.subscribe(RunProgressSubscription, { runId })) {
    if (runProgress.__typename === 'RunProgress' && runProgress.isTerminal) {
      if (runProgress.status !== 'SUCCEEDED') {
        throw new Error(`The run ended ${runProgress.status}.`)
      }
    }
  }
  const readAt = readAtMs.get(runId.slice('run_'.length)) ?? Number.POSITIVE_INFINITY
  return { sent: readAt - sentAt, answered: readAt - answeredAt }
}
