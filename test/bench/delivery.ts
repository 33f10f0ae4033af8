/**
 * Delivery end to end against a bare loop over the same file: 100,000 records, a page of 500 a call.
 *
 * The bare loop reads a page, maps it, sends it and reads the next one, with the same source, mapping and
 * destination as ours and no ledger, lease or checkpoint. Ours is the app as built, a process on a private
 * PostgreSQL and Redis, from `runSync` to the run's end. The destination is a third process for both.
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiClient, createApiClient } from '../../src/client/api-client.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createFileSource } from '../../src/connectors/sources/file/file-source.ts'
import { canonicalJson } from '../../src/domain/json.ts'
import { compileMapping } from '../../src/domain/mapping.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  createWorkspaceToken,
  type StartedProcess,
  startAppProcess,
  startScript,
} from '../support/processes.ts'
import { startPostgres, startRedis, type TestService } from '../support/services.ts'
import { median, report } from './figures.ts'
import { readResidentMb, sampleResident } from './resident.ts'
import { connectTool, timeSync } from './sync-run.ts'

const RECORDS = 100_000
const LONG_RECORDS = 500_000
const PAGE_SIZE = 500
const ROUNDS = 3
const MAX_RESIDENT_MB = 350
const MAPPING = {
  id: { $path: 'customer_id' },
  email: { $case: { value: { $trim: { $path: 'email' } }, to: 'LOWER' } },
  name: { $template: '{{first_name}} {{last_name}}' },
  city: { $path: 'city' },
}
const STREAM_OPTIONS = { identityField: 'customer_id' }
const OPTIONS = { path: 'PAGE', maxRecordsPerCall: PAGE_SIZE }

export async function benchDelivery(): Promise<boolean> {
  execFileSync('npm', ['run', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const directory = await mkdtemp(join(tmpdir(), 'tajo-bench-'))
  const [postgres, redis] = await Promise.all([
    startPostgres({ isOwn: true }),
    startRedis({ isOwn: true }),
  ])
  const started: StartedProcess[] = []
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await writeCustomers(join(directory, `customers-${round}.csv`), RECORDS)
    }
    await writeCustomers(join(directory, 'long.csv'), LONG_RECORDS)
    const stand = startScript('test/support/standing-destination.ts', {})
    started.push(stand)
    const url = await stand.find(/listens at (\S+)/)
    return await measure({ directory, url, postgres, redis, started })
  } finally {
    for (const child of started.reverse()) {
      await child.kill('SIGKILL')
    }
    await Promise.all([postgres.stop(), redis.stop()])
    await rm(directory, { recursive: true, force: true })
  }
}

interface Bench {
  readonly directory: string
  readonly url: string
  readonly postgres: TestService
  readonly redis: TestService
  readonly started: StartedProcess[]
}

async function measure(bench: Bench): Promise<boolean> {
  const environment = {
    DATABASE_URL: bench.postgres.url,
    REDIS_URL: bench.redis.url,
    CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
    FILE_ROOT: bench.directory,
    LOG_LEVEL: 'warn',
  }
  const token = await createWorkspaceToken(environment)
  const app = await startAppProcess(environment, 'dist/main.js')
  bench.started.push(app)
  const client = createApiClient({ address: app.address, token })
  const tools = await connectTools(client, bench.url)

  const bare: number[] = []
  const ours: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const stream = `customers-${round}.csv`
    bare.push((RECORDS * 1000) / (await timeBareLoop(bench, stream)))
    ours.push((RECORDS * 1000) / (await timeRun(client, tools, stream)))
  }
  const short = await readResidentMb(app.pid)
  const sampling = new AbortController()
  const samples = sampleResident(app.pid, sampling.signal)
  await timeRun(client, tools, 'long.csv')
  sampling.abort()
  const longPeak = Math.max(...(await samples))
  const told = (await (await fetch(bench.url)).json()) as { keys: number; doubled: number }
  tell('bare loop', median(bare), 'records/s')
  tell('tajo-sync', median(ours), 'records/s')
  tell(`resident after ${ROUNDS} runs of ${RECORDS}`, short, 'MB')
  return [
    report({
      bench: 'delivery',
      figure: 'tajo-sync to a bare loop over the same file',
      value: median(ours) / median(bare),
      unit: 'ratio',
      atLeast: 0.4,
    }),
    report({
      bench: 'delivery',
      figure: `peak resident during a run of ${LONG_RECORDS}`,
      value: longPeak,
      unit: 'MB',
      atMost: MAX_RESIDENT_MB,
    }),
    report({
      bench: 'delivery',
      figure: 'keys that the destination was sent twice',
      value: told.doubled,
      unit: 'records',
      atMost: 0,
    }),
    report({
      bench: 'delivery',
      figure: 'keys that the destination was sent',
      value: told.keys,
      unit: 'records',
      atLeast: 2 * ROUNDS * RECORDS + LONG_RECORDS,
    }),
  ].every(Boolean)
}

function tell(figure: string, value: number, unit: string): void {
  report({ bench: 'delivery', figure, value, unit })
}

/** Milliseconds for read, map, send, one after the other. */
async function timeBareLoop(bench: Bench, stream: string): Promise<number> {
  const { signal } = new AbortController()
  const compiled = compileMapping(MAPPING)
  if (compiled.kind === 'invalid') {
    throw new Error('The mapping of the bench is not valid.')
  }
  const source = createFileSource({ rootDirectory: bench.directory })
  const destination = createHttpDestination({ client: createLocalClient() })
  const startedAt = performance.now()
  const reader = await source.open({
    ...openConnection({ signal }),
    stream,
    options: source.streamOptions.parse(STREAM_OPTIONS),
  })
  const writer = await destination.open({
    ...openConnection({
      config: destination.connectionConfig.parse({ baseUrl: bench.url }),
      signal,
    }),
    object: '/contacts',
    options: destination.objectOptions.parse(OPTIONS),
  })
  let from: string | null = null
  let n = 0
  for (;;) {
    const read = await reader.readPage({ from, to: null, limit: PAGE_SIZE, signal })
    if (read.kind !== 'page') {
      break
    }
    const records = read.records.flatMap((record) => {
      const mapped = record.fields ? compiled.mapping.map(record.fields) : null
      return mapped?.kind === 'mapped'
        ? [
            {
              deliveryKey: `${stream}-${n++}`,
              fields: mapped.fields,
              json: canonicalJson(mapped.fields),
            },
          ]
        : []
    })
    await writer.deliver({ records, importTag: null, signal, beforeSend: () => undefined })
    from = read.to
  }
  await reader.close()
  await writer.close()
  return performance.now() - startedAt
}

interface Tools {
  readonly sourceConnectionId: string
  readonly destinationConnectionId: string
}

async function connectTools(client: ApiClient, url: string): Promise<Tools> {
  return {
    sourceConnectionId: await connectTool(client, { type: 'file', config: {} }),
    destinationConnectionId: await connectTool(client, { type: 'http', config: { baseUrl: url } }),
  }
}

function timeRun(client: ApiClient, tools: Tools, stream: string): Promise<number> {
  return timeSync(client, {
    ...tools,
    name: stream,
    stream,
    streamOptions: STREAM_OPTIONS,
    object: '/contacts',
    objectOptions: OPTIONS,
    mapping: MAPPING,
    pageSize: PAGE_SIZE,
  })
}

async function writeCustomers(path: string, count: number): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.write('customer_id,first_name,last_name,email,city,total_spent\n')
    for (let start = 0; start < count; start += 10_000) {
      let text = ''
      for (let n = start; n < Math.min(start + 10_000, count); n += 1) {
        text += `c${n},Ada${n},Lovelace,ADA.${n}@example.com,London,${n % 1000}.50\n`
      }
      await file.write(text)
    }
  } finally {
    await file.close()
  }
}
