/**
 * What the health endpoint says: one check a part that this process cannot work without.
 */
import type { Config } from './config.ts'
import type { HealthCheck, HealthReport } from './http/health.ts'
import type { Clock } from './runtime/clock.ts'
import type { Database } from './store/database.ts'
import { countDaysAhead } from './store/partitions.ts'
import { findBeatAgeMs, measureClockDifference } from './store/workers.ts'

export interface HealthParts {
  readonly config: Config
  readonly database: Database
  readonly coordination: { isReachable(): Promise<boolean> }
  readonly clock: Clock
  readonly workerId: string
}

/** Under so many days of ledger partitions ahead, tomorrow's deliveries are in danger. */
const LEAST_DAYS_AHEAD = 2
/** Past this difference between the clocks, due times and alerts are wrong by as much. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000

export function createHealth(parts: HealthParts): () => Promise<HealthReport> {
  return async () => ({
    database: await check(() => checkDatabase(parts)),
    coordination: await check(async () =>
      (await parts.coordination.isReachable()) ? healthy() : unhealthy('Redis is out of reach.'),
    ),
    ledger: await check(() => checkLedger(parts)),
    worker: await check(() => checkWorker(parts)),
  })
}

async function check(ask: () => Promise<HealthCheck>): Promise<HealthCheck> {
  try {
    return await ask()
  } catch (error) {
    return unhealthy(error instanceof Error ? error.name : 'It could not be asked.')
  }
}

async function checkDatabase({ database, clock }: HealthParts): Promise<HealthCheck> {
  const { differenceMs, uncertaintyMs } = await measureClockDifference(database, clock)
  return Math.abs(differenceMs) - uncertaintyMs <= MAX_CLOCK_DIFFERENCE_MS
    ? healthy()
    : unhealthy(`This process's clock differs from the database's by ${differenceMs} ms.`)
}

async function checkLedger({ database }: HealthParts): Promise<HealthCheck> {
  const days = await countDaysAhead(database)
  return days >= LEAST_DAYS_AHEAD ? healthy() : unhealthy(`Partitions exist ${days} days ahead.`)
}

async function checkWorker({ config, database, workerId }: HealthParts): Promise<HealthCheck> {
  if (config.role === 'api') {
    return { isHealthy: true, detail: 'This process serves the API only.' }
  }
  const ageMs = await findBeatAgeMs(database, workerId)
  return ageMs !== null && ageMs < config.silentAfterMs
    ? healthy()
    : unhealthy(`The last heartbeat is ${ageMs ?? 'an unknown number of'} ms old.`)
}

function healthy(): HealthCheck {
  return { isHealthy: true, detail: null }
}

function unhealthy(detail: string): HealthCheck {
  return { isHealthy: false, detail }
}
