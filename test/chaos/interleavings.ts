/**
 * What two workers, Redis and PostgreSQL may do between one step of a run and the next, played with whole
 * processes: one stands still in the middle of a step, the rest of the world goes on, and it wakes.
 *
 * As in scenarios.ts, each waits for something to happen, and ends with the auditor.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { leaseName } from '../../src/domain/lease.ts'
import type { StartedProcess } from '../support/processes.ts'
import { createSignal } from '../support/signal.ts'
import type { Finding } from './auditor.ts'
import { startWorker } from './fleet.ts'
import { drawQuietSync, type SyncPlan } from './plan.ts'
import {
  conclude,
  duringRun,
  isAlive,
  killAll,
  type Scenario,
  type ScenarioResult,
  snapshot,
} from './scenarios.ts'
import type { LiveSync, Stage } from './stage.ts'
import { waitUntil } from './wait-until.ts'

export const INTERLEAVINGS: Readonly<Record<string, Scenario>> = {
  'loop-held-through-a-take-over': (stage) => holdLoop(stage, 'IDEMPOTENT'),
  'loop-held-through-a-take-over-none': (stage) => holdLoop(stage, 'NONE'),
  'wakes-after-redis-was-flushed-before-its-lease': (stage) =>
    wakeAfterFlush(stage, 'afterClaim:1'),
  'wakes-after-redis-was-flushed-before-sending': (stage) =>
    wakeAfterFlush(stage, 'afterReserve:5'),
  'all-silent-redis-flushed': (stage) => allSilent(stage, () => flush(stage)),
  'all-silent-postgres-away': (stage) => allSilent(stage, () => takePostgresAway(stage)),
}

/** How long PostgreSQL stays away: longer than any worker may be silent. */
const AWAY_MS = { fast: 6_000, default: 25_000 } as const
/** So long that a busy machine makes nobody silent. */
const SILENT_AFTER_MS = { fast: '5000', default: '20000' } as const

/**
 * The loop of a worker stands still between reserving and sending, until another has taken its run over and
 * come to its end: it sends nothing when it goes on.
 */
async function holdLoop(
  stage: Stage,
  deliveryClass: SyncPlan['deliveryClass'],
): Promise<ScenarioResult> {
  const plan = drawQuietSync({ name: 'held', deliveryClass, concurrency: 1 })
  const goOn = join(stage.environment['FILE_ROOT'] ?? '', `${plan.name}.go-on`)
  const held = await startWorker(stage.environment, { CHAOS_HOLD: `afterReserve:5:${goOn}` })
  const workers = [held]
  try {
    const sync = await stage.makeSync(plan)
    const end = stage.runToEnd(sync)
    await held.find(/^(chaos hold)/m)
    workers.push(await startWorker(stage.environment))
    await end
    const findings = await wake(stage, {
      ...{ sync, worker: held, how: () => writeFile(goOn, '') },
      // What it knows never to have been sent, it takes out of its own intent: the next run may send it.
      mayChangeRows: deliveryClass === 'NONE',
    })
    await stage.runToEnd(sync)
    const told = await conclude(stage, [sync])
    return { ...told, findings: [...findings, ...told.findings] }
  } finally {
    await killAll(workers)
  }
}

/** Wakes a worker that has lost its run to another one: it finds that out, calls nobody and changes no row. */
async function wake(
  stage: Stage,
  options: {
    readonly sync: LiveSync
    readonly worker: StartedProcess
    readonly mayChangeRows?: boolean
    how(): Promise<void>
  },
): Promise<readonly Finding[]> {
  const { sync, worker, how, mayChangeRows } = options
  const [rows, calls] = [await snapshot(stage), sync.destination.calls()]
  await how()
  await worker.find(/"event":"(run\.lost)"/)
  const findings: Finding[] = []
  const more = sync.destination.calls() - calls
  if (more > 0) {
    const detail = `A worker that stood still while it was taken over made ${more} calls.`
    findings.push({ kind: 'doubled', sync: sync.plan.name, detail })
  }
  if (!mayChangeRows && (await snapshot(stage)) !== rows) {
    const detail = 'A worker that stood still while it was taken over changed rows when it went on.'
    findings.push({ kind: 'history', sync: sync.plan.name, detail })
  }
  return findings
}

/**
 * A worker is stopped for longer than its lease, Redis forgets all leases, another worker takes the run over
 * and holds a lease: the first one wakes in the middle of that, and the lease stays where it is.
 */
async function wakeAfterFlush(stage: Stage, place: string): Promise<ScenarioResult> {
  const environment = { ...stage.environment, LEASE_LIFE_MS: '1500', LEASE_RENEWAL_MS: '500' }
  const stopped = await startWorker(environment, { CHAOS_STOP: place })
  const workers = [stopped]
  const mayAnswer = createSignal()
  try {
    const sync = await stage.makeSync(
      drawQuietSync({
        ...{ name: 'woken', deliveryClass: 'IDEMPOTENT' },
        ...{ concurrency: 1, requestDeadlineMs: 60_000 },
      }),
    )
    const end = stage.runToEnd(sync)
    await stopped.find(/^(chaos stop)/m)
    await flush(stage)
    const calls = sync.destination.calls()
    const apply = { kind: 'apply' as const }
    sync.destination.script(apply, apply, { ...apply, until: mayAnswer.reached })
    workers.push(await startWorker(environment))
    await waitUntil(() => sync.destination.calls() === calls + 3)
    const before = await readLease(stage, sync)
    const findings = await wake(stage, {
      ...{ sync, worker: stopped },
      how: () => Promise.resolve(void process.kill(stopped.pid, 'SIGCONT')),
    })
    const after = await readLease(stage, sync)
    mayAnswer.reach()
    await end
    const told = await conclude(stage, [sync])
    const evicted: Finding[] =
      before !== null && before === after
        ? []
        : [{ kind: 'history', sync: sync.plan.name, detail: `Lease ${before}, then ${after}.` }]
    return {
      findings: [...findings, ...evicted, ...told.findings],
      notes: [...told.notes, `lease of epoch ${after?.split(':')[0]} stayed`],
    }
  } finally {
    await killAll(workers)
  }
}

async function takePostgresAway(stage: Stage): Promise<void> {
  const { pid } = stage.postgres
  await stage.postgres.kill('SIGINT')
  await waitUntil(() => !isAlive(pid))
  const goneMs = performance.now()
  await waitUntil(() => performance.now() - goneMs > AWAY_MS[stage.settings])
  await stage.postgres.restart()
}

/** Where everybody is silent at once nobody is: no run is taken from its worker. */
async function allSilent(stage: Stage, fault: () => Promise<void>): Promise<ScenarioResult> {
  const [before] = await stage.sql<{ runId: string | null }[]>`
    select max(id::text) as "runId" from run`
  const environment = {
    ...stage.environment,
    SILENT_AFTER_MS: SILENT_AFTER_MS[stage.settings],
  }
  const result = await duringRun({ ...stage, environment }, fault)
  const handOvers = await stage.sql<{ runId: string; number: number }[]>`
    select run_id as "runId", number from attempt
    where outcome = 'recovered' and run_id::text > ${before?.runId ?? ''}`
  const findings = handOvers.map(({ runId, number }): Finding => {
    const detail = `Attempt ${number} of run ${runId} was taken from its worker, which lived.`
    return { kind: 'history', sync: '(all)', detail }
  })
  return { ...result, findings: [...findings, ...result.findings] }
}

async function flush(stage: Stage): Promise<void> {
  await withRedis(stage, (redis) => redis.flushall())
}

function readLease(stage: Stage, sync: LiveSync): Promise<string | null> {
  return withRedis(stage, (redis) => redis.get(`tajo:lease:${leaseName(sync.syncId)}`))
}

async function withRedis<T>(stage: Stage, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(stage.redis.url)
  try {
    return await work(redis)
  } finally {
    await redis.quit()
  }
}
