/**
 * Faults one at a time: servers that die, stop, forget or are cut off, and workers that stop or stall in
 * the middle of a run. Each ends with the auditor.
 *
 * A scenario waits for something to happen (a call at the destination, a row, a line that a worker
 * printed), never for a time to pass.
 */
import { Redis } from 'ioredis'
import type { StartedProcess } from '../support/processes.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import type { Finding } from './auditor.ts'
import { startWorker } from './fleet.ts'
import { drawQuietSync } from './plan.ts'
import type { LiveSync, Stage } from './stage.ts'
import { waitUntil } from './wait-until.ts'

export interface ScenarioResult {
  readonly findings: readonly Finding[]
  /** What was seen, for a person. */
  readonly notes: readonly string[]
}

export type Scenario = (stage: Stage) => Promise<ScenarioResult>

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'redis-killed': (stage) =>
    duringRun(stage, async () => {
      await stage.redis.kill('SIGKILL')
      await stage.redis.restart()
    }),
  'redis-flushed': (stage) =>
    duringRun(stage, async () => {
      const redis = new Redis(stage.redis.url)
      await redis.flushall()
      await redis.quit()
    }),
  /** For longer than a command may take. */
  'redis-stopped': (stage) =>
    duringRun(stage, async () => {
      await stage.redis.kill('SIGSTOP')
      const stoppedMs = performance.now()
      await waitUntil(() => performance.now() - stoppedMs > 3_000)
      await stage.redis.kill('SIGCONT')
    }),
  'postgres-restarted': (stage) =>
    duringRun(stage, async () => {
      const { pid } = stage.postgres
      await stage.postgres.kill('SIGINT')
      await waitUntil(() => !isAlive(pid))
      await stage.postgres.restart()
    }),
  'postgres-killed': (stage) =>
    duringRun(stage, async () => {
      await stage.postgres.kill('SIGKILL')
      await stage.postgres.restart()
    }),
  'backends-terminated': (stage) =>
    duringRun(stage, async (sync) => {
      for (let times = 0; times < 3; times += 1) {
        await stage.sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'tajo-sync%'`
        await waitForEffects(sync, 20)
      }
    }),
  'postgres-half-open': (stage) => cutOff(stage, 'DATABASE_URL'),
  'redis-half-open': (stage) => cutOff(stage, 'REDIS_URL'),
  'worker-stopped-before-send': (stage) => stopWorker(stage, 'afterReserve:5'),
  'worker-stopped-after-send': (stage) => stopWorker(stage, 'afterSend:5'),
  'worker-stopped-before-checkpoint': (stage) => stopWorker(stage, 'beforeCheckpoint:5'),
  'loop-blocked': blockLoop,
}

/** Two workers, one sync of each class and path at once; the fault comes when all are under way. */
export async function duringRun(
  stage: Stage,
  fault: (sync: LiveSync) => Promise<void>,
): Promise<ScenarioResult> {
  const workers = [await startWorker(stage.environment), await startWorker(stage.environment)]
  try {
    const syncs: LiveSync[] = []
    for (const deliveryClass of ['IDEMPOTENT', 'NONE'] as const) {
      for (const path of ['RECORD', 'PAGE'] as const) {
        const name = `${deliveryClass}-${path}`.toLowerCase()
        syncs.push(await stage.makeSync(drawQuietSync({ name, deliveryClass, path })))
      }
    }
    const ends = syncs.map((sync) => stage.runToEnd(sync))
    await Promise.all(syncs.map((sync) => waitForEffects(sync, 20)))
    const [first] = syncs
    if (first) {
      await fault(first)
    }
    await Promise.all(ends)
    return await conclude(stage, syncs)
  } finally {
    await killAll(workers)
  }
}

/** A worker whose connections to a server go dead without a word; another one is there. */
async function cutOff(stage: Stage, variable: string): Promise<ScenarioResult> {
  const server = new URL(stage.environment[variable] ?? '')
  const proxy = await startTcpProxy({ host: server.hostname, port: Number(server.port) })
  server.port = String(proxy.port)
  const workers = [await startWorker({ ...stage.environment, [variable]: server.href })]
  try {
    const sync = await stage.makeSync(drawQuietSync({ name: 'cut-off', deliveryClass: 'NONE' }))
    const end = stage.runToEnd(sync)
    await waitForEffects(sync, 20)
    proxy.freezeOpenConnections()
    workers.push(await startWorker(stage.environment))
    await end
    return await conclude(stage, [sync])
  } finally {
    await killAll(workers)
    await proxy.close()
  }
}

/** Stopped for longer than silence, taken over, continued: whatever it still sends changes no row. */
async function stopWorker(stage: Stage, place: string): Promise<ScenarioResult> {
  const stopped = await startWorker(stage.environment, { CHAOS_STOP: place })
  const workers = [stopped]
  try {
    const sync = await stage.makeSync(
      drawQuietSync({ name: 'stopped', deliveryClass: 'IDEMPOTENT' }),
    )
    const end = stage.runToEnd(sync)
    await stopped.find(/^(chaos stop)/m)
    workers.push(await startWorker(stage.environment))
    await end
    const before = await snapshot(stage)
    const effects = sync.destination.applied.length
    process.kill(stopped.pid, 'SIGCONT')
    await stopped.find(/"event":"(run\.lost)"/)
    const after = await snapshot(stage)
    const findings: Finding[] = []
    if (before !== after) {
      const detail = `A stopped worker changed rows when it went on: ${before} became ${after}.`
      findings.push({ kind: 'history', sync: 'stopped', detail })
    }
    if (sync.destination.applied.length !== effects) {
      const detail = 'A stopped worker wrote to the destination when it went on.'
      findings.push({ kind: 'doubled', sync: 'stopped', detail })
    }
    const told = await conclude(stage, [sync])
    const lost = /lease_lost|fenced_off/.exec(stopped.output())?.[0] ?? 'nothing'
    return {
      findings: [...findings, ...told.findings],
      notes: [...told.notes, `it stopped with ${lost}`],
    }
  } finally {
    await killAll(workers)
  }
}

/** Nothing runs in the process from its reserving until its trust is over: it must not send. */
async function blockLoop(stage: Stage): Promise<ScenarioResult> {
  const environment = { ...stage.environment, FIRST_BACKOFF_MS: '3000' }
  const worker = await startWorker(environment, { CHAOS_BLOCK: 'afterReserve:5:1700' })
  try {
    const sync = await stage.makeSync(
      drawQuietSync({ name: 'blocked', deliveryClass: 'IDEMPOTENT' }),
    )
    const end = stage.runToEnd(sync)
    await worker.find(/^(chaos block)/m)
    const calls = sync.destination.calls()
    await waitUntil(async () => (await readFailures(stage, sync)).length > 0)
    const [failure] = await readFailures(stage, sync)
    const sent = sync.destination.calls() - calls
    const findings: Finding[] = []
    if (sent > 0 || failure !== 'lease_lost') {
      const detail = `A worker whose trust was over made ${sent} calls; its attempt ended ${failure}.`
      findings.push({ kind: 'history', sync: 'blocked', detail })
    }
    await end
    const told = await conclude(stage, [sync])
    return { findings: [...findings, ...told.findings], notes: told.notes }
  } finally {
    await killAll([worker])
  }
}

async function readFailures(stage: Stage, sync: LiveSync): Promise<readonly string[]> {
  const rows = await stage.sql<{ code: string }[]>`
    select attempt.failure_code as code from attempt join run on run.id = attempt.run_id
    where run.sync_id = ${sync.syncId} and attempt.failure_code is not null
    order by attempt.epoch`
  return rows.map(({ code }) => code)
}

export async function waitForEffects(sync: LiveSync, more: number): Promise<void> {
  const own = () => sync.destination.applied.filter(({ path }) => path === sync.path).length
  const rows = sync.plan.fileText.split('\n').length - 2
  const wanted = Math.min(own() + more, rows)
  await waitUntil(() => own() >= wanted)
}

export async function conclude(stage: Stage, syncs: readonly LiveSync[]): Promise<ScenarioResult> {
  const audits = await Promise.all(syncs.map((sync) => stage.audit(sync)))
  const sum = (of: (n: (typeof audits)[number]) => number) => audits.reduce((a, b) => a + of(b), 0)
  const [attempts] = await stage.sql<{ told: string }[]>`
    select string_agg(outcome || coalesce(' ' || failure_code, ''), ', ' order by started_at) as told
    from attempt`
  return {
    findings: audits.flatMap((one) => one.findings),
    notes: [
      `records ${sum((one) => one.records)}, effects ${sum((one) => one.effects)}`,
      `doubled ${sum((one) => one.doubled)}, lost ${sum((one) => one.lost)}, in doubt ${sum((one) => one.inDoubt)}`,
      `attempts: ${attempts?.told ?? 'none'}`,
    ],
  }
}

/** What a worker could change of runs, pages and ledger, as one text. */
export async function snapshot(stage: Stage): Promise<string> {
  const [row] = await stage.sql<{ told: string }[]>`
    select concat_ws(' ',
      (select md5(coalesce(string_agg(run::text, ',' order by id), '')) from run),
      (select md5(coalesce(string_agg(attempt::text, ',' order by run_id, number), '')) from attempt),
      (select md5(coalesce(string_agg(sync_fence::text, ',' order by sync_id), '')) from sync_fence),
      (select md5(coalesce(string_agg(open_page::text, ',' order by page_digest), '')) from open_page),
      (select md5(coalesce(string_agg(delivery_intent::text, ',' order by id), '')) from delivery_intent),
      (select md5(coalesce(string_agg(delivery::text, ',' order by key), '')) from delivery)) as told`
  return row?.told ?? ''
}

export async function killAll(workers: readonly StartedProcess[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')))
}

export function isAlive(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0)
  } catch {
    return false
  }
}
