/**
 * A million rows of a PostgreSQL table to a destination that takes a page a call, against a bare loop over them.
 *
 * The bare loop fetches through one server-side cursor (postgres.js), maps, sends, and fetches on: the same mapping and
 * destination as ours; no ledger, lease, checkpoint or horizon, and nothing to resume from. Ours is the app as built, a
 * process on the same PostgreSQL and Redis, from `runSync` to the run's end. The destination is a third process for both.
 *
 * Memory: the resident size of the app's process (VmRSS), looked at ten times a second. Flat means that its median in the
 * last quarter of the run is no more than 15% above that in the second quarter.
 */

import { execFileSync } from 'node:child_process'
import postgres from 'postgres'
import { createApiClient } from '../../src/client/api-client.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { canonicalJson, type JsonObject } from '../../src/domain/json.ts'
import { compileMapping } from '../../src/domain/mapping.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import { createPostgresWorld, type PostgresWorld } from '../support/postgres-world.ts'
import {
  createWorkspaceToken,
  type StartedProcess,
  startAppProcess,
  startScript,
} from '../support/processes.ts'
import { startPostgres, startRedis, type TestService } from '../support/services.ts'
import { median, report } from './figures.ts'
import { sampleResident } from './resident.ts'
import { connectTool, timeSync } from './sync-run.ts'

const ROWS = 1_000_000
const PAGE_SIZE = 500
const MAX_RESIDENT_MB = 350
const MAX_GROWTH = 1.15
const MAPPING = {
  id: { $path: 'id' },
  email: { $case: { value: { $trim: { $path: 'email' } }, to: 'LOWER' } },
  name: { $template: '{{first_name}} {{last_name}}' },
  city: { $path: 'city' },
}
const OPTIONS = { path: 'PAGE', maxRecordsPerCall: PAGE_SIZE }

export async function benchRows(): Promise<boolean> {
  execFileSync('npm', ['run', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [server, redis] = await Promise.all([
    startPostgres({ isOwn: true }),
    startRedis({ isOwn: true }),
  ])
  const started: StartedProcess[] = []
  try {
    const shop = await createPostgresWorld(server.url)
    await fill(shop)
    const stand = startScript('test/support/standing-destination.ts', {})
    started.push(stand)
    const url = await stand.find(/listens at (\S+)/)
    const result = await measure({ shop, url, server, redis, started })
    await shop.drop()
    return result
  } finally {
    for (const child of started.reverse()) {
      await child.kill('SIGKILL')
    }
    await Promise.all([server.stop(), redis.stop()])
  }
}

interface Bench {
  readonly shop: PostgresWorld
  readonly url: string
  readonly server: TestService
  readonly redis: TestService
  readonly started: StartedProcess[]
}

/** Changed an hour ago at the latest, twenty at the same moment. */
async function fill({ run }: PostgresWorld): Promise<void> {
  await run(`create table customer (
    id bigint primary key, email text not null, first_name text, last_name text, city text,
    total_spent numeric(12, 2), updated_at timestamptz not null)`)
  await run(`insert into customer
    select n, 'ADA.' || n || '@example.com', 'Ada' || n, 'Lovelace', 'London', n % 1000 + 0.5,
      now() - interval '2 hours' + (n / 20) * interval '60 milliseconds'
    from generate_series(1, ${ROWS}) as n`)
  await run('create index on customer (updated_at, id)')
  await run('analyze customer')
}

async function measure(bench: Bench): Promise<boolean> {
  const environment = {
    DATABASE_URL: bench.server.url,
    REDIS_URL: bench.redis.url,
    CREDENTIALS_KEY: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'warn',
  }
  const token = await createWorkspaceToken(environment)
  const app = await startAppProcess(environment, 'dist/main.js')
  bench.started.push(app)
  const client = createApiClient({ address: app.address, token })
  const { config, credentials } = bench.shop
  const input = {
    sourceConnectionId: await connectTool(client, { type: 'postgres', config, credentials }),
    destinationConnectionId: await connectTool(client, {
      type: 'http',
      config: { baseUrl: bench.url },
    }),
    name: 'rows',
    stream: 'public.customer',
    streamOptions: { cursorColumn: 'updated_at' },
    object: '/contacts',
    objectOptions: OPTIONS,
    mapping: MAPPING,
    pageSize: PAGE_SIZE,
  }
  const bare = (ROWS * 1000) / (await timeBareLoop(bench))
  const sampling = new AbortController()
  const sampled = sampleResident(app.pid, sampling.signal)
  const ours = (ROWS * 1000) / (await timeSync(client, input))
  sampling.abort()
  const resident = await sampled
  const told = (await (await fetch(bench.url)).json()) as { keys: number; doubled: number }
  const quarter = (n: number) =>
    median(resident.slice((resident.length * n) / 4, (resident.length * (n + 1)) / 4))
  tell('bare loop with a server-side cursor', bare, 'rows/s')
  tell('tajo-sync', ours, 'rows/s')
  tell('resident in the second quarter of the run', quarter(1), 'MB')
  return [
    judge('tajo-sync to a bare loop over the same rows', ours / bare, 'ratio', { atLeast: 0.4 }),
    judge('resident in the last quarter to the second', quarter(3) / quarter(1), 'ratio', {
      atMost: MAX_GROWTH,
    }),
    judge('peak resident during the run', Math.max(...resident), 'MB', { atMost: MAX_RESIDENT_MB }),
    judge('rows that the destination was sent twice', told.doubled, 'rows', { atMost: 0 }),
    judge('rows that the destination was sent', told.keys, 'rows', { atLeast: 2 * ROWS }),
  ].every(Boolean)
}

function tell(figure: string, value: number, unit: string): void {
  judge(figure, value, unit, {})
}

function judge(
  figure: string,
  value: number,
  unit: string,
  bar: { readonly atLeast?: number; readonly atMost?: number },
): boolean {
  return report({ bench: 'rows', figure, value, unit, ...bar })
}

/** Milliseconds for fetch, map, send, one after the other. */
async function timeBareLoop({ shop, url }: Bench): Promise<number> {
  const { signal } = new AbortController()
  const compiled = compileMapping(MAPPING)
  if (compiled.kind === 'invalid') {
    throw new Error('The mapping of the bench is not valid.')
  }
  const destination = createHttpDestination({ client: createLocalClient() })
  const startedAt = performance.now()
  const client = postgres(shop.url, { max: 1 })
  const writer = await destination.open({
    ...openConnection({ config: destination.connectionConfig.parse({ baseUrl: url }), signal }),
    object: '/contacts',
    options: destination.objectOptions.parse(OPTIONS),
  })
  let n = 0
  for await (const rows of client`select * from customer order by updated_at, id`.cursor(
    PAGE_SIZE,
  )) {
    const records = rows.flatMap((row) => {
      const mapped = compiled.mapping.map(row as unknown as JsonObject)
      return mapped.kind === 'mapped'
        ? [{ deliveryKey: `bare-${n++}`, ...mapped, json: canonicalJson(mapped.fields) }]
        : []
    })
    await writer.deliver({ records, importTag: null, signal, beforeSend: () => undefined })
  }
  await writer.close()
  await client.end()
  return performance.now() - startedAt
}
