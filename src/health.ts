/**
 * What the health endpoint says: one check a part that this process cannot work without.
 */
import type { Config } from './config.ts'
import type { HealthCheck, HealthReport } from './http/health.ts'
import { type Clock, instantAt } from './runtime/clock.ts'
import type { Sealer } from './runtime/seal.ts'
import type { Database } from './store/database.ts'
import { countDaysAhead } from './store/partitions.ts'
import {
  hasDigests,
  hasOtherSealers,
  listKeysInUse,
  type SealedKind,
} from './store/sealed-texts.ts'
import { findCheck } from './store/watch-checks.ts'
import { findBeatAgeMs, measureClockDifference } from './store/workers.ts'
import { DEAD_MAN_CHECK } from './watch/dead-man.ts'

export interface HealthParts {
  readonly config: Config
  readonly database: Database
  readonly coordination: { isReachable(): Promise<boolean> }
  readonly clock: Clock
  readonly workerId: string
  readonly sealer: Pick<Sealer, 'keyId' | 'knownKeyIds'>
}

/** Under so many days of ledger partitions ahead, tomorrow's deliveries are in danger. */
const LEAST_DAYS_AHEAD = 2
/** Past this difference between the clocks, due times and alerts are wrong by as much. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000
/** The dead-man check is made every hour: one that is older has been missed, and silence goes unnoticed. */
const MAX_CHECK_AGE_MS = 2 * 60 * 60 * 1000

/** Called once, when the process starts. */
export function createHealth(parts: HealthParts): () => Promise<HealthReport> {
  const startedAtMs = parts.clock.monotonicMs()
  return async () => ({
    database: await check(() => checkDatabase(parts)),
    coordination: await check(async () =>
      (await parts.coordination.isReachable()) ? healthy() : unhealthy('Redis is out of reach.'),
    ),
    ledger: await check(() => checkLedger(parts)),
    worker: await check(() => checkWorker(parts)),
    // Without a key that was lost every process would be as blind as this one.
    sealing: { ...(await check(() => checkSealing(parts))), isShared: true },
    deadMan: { ...(await check(() => checkDeadMan(parts, startedAtMs))), isShared: true },
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

/** Whether this process has every key that something is sealed with, and whether it has some that are not needed any more. */
async function checkSealing({ database, sealer }: HealthParts): Promise<HealthCheck> {
  const used = await listKeysInUse(database)
  const tell = (isMeant: (keyId: string) => boolean) => [
    ...new Set(
      used
        .filter(({ keyId }) => isMeant(keyId))
        .map(({ kind, keyId }) => `${KINDS_OF_TEXTS[kind]} with ${keyId}`),
    ),
  ]
  const unknown = tell((keyId) => !sealer.knownKeyIds.includes(keyId))
  if (unknown.length > 0) {
    return unhealthy(
      `Sealed with a key that this process does not have, and kept as they are: ${unknown.join(', ')}. Name it in CREDENTIALS_OLD_KEYS.`,
    )
  }
  const oldKeyIds = sealer.knownKeyIds.filter((keyId) => keyId !== sealer.keyId)
  if (oldKeyIds.length === 0) {
    return healthy()
  }
  const old = tell((keyId) => keyId !== sealer.keyId)
  if (old.length > 0) {
    return healthy(`Sealed with an old key, and to be moved: ${old.join(', ')}.`)
  }
  if (await hasOtherSealers(database, sealer.keyId)) {
    return healthy(
      'Nothing is sealed with an old key, but another process lives that seals with another one than this: finish the restart of all processes.',
    )
  }
  return healthy(
    (await hasDigests(database, oldKeyIds))
      ? 'Nothing is sealed with an old key. Requests of the last 7 days that are repeated with their client key are found by one still.'
      : 'Nothing needs an old key any more: CREDENTIALS_OLD_KEYS can be emptied.',
  )
}

const KINDS_OF_TEXTS = {
  connection: 'credentials',
  rejected_record: 'records set aside',
  test_run: 'results of tests',
} as const satisfies Record<SealedKind, string>

/**
 * By the database's clock, so that a process says the same as all others. In a new installation no check has
 * been made yet: it has as long for the first one, from the start of the process on.
 */
async function checkDeadMan(
  { database, clock }: HealthParts,
  startedAtMs: number,
): Promise<HealthCheck> {
  const { nowMs, finished } = await findCheck(database, DEAD_MAN_CHECK)
  if (finished === null) {
    return clock.monotonicMs() - startedAtMs < MAX_CHECK_AGE_MS
      ? healthy('No dead-man check has been finished yet.')
      : unhealthy('No dead-man check has ever been finished.')
  }
  const { asked = 0, silent = 0, raised = 0, failed = 0 } = finished.figures
  const at = instantAt(finished.atMs).toISOString()
  const detail = `The last dead-man check was finished at ${at}: workspaces asked ${asked}, silent ${silent}, alerts raised ${raised}, not asked because of trouble ${failed}.`
  // One that was finished in the future was timed by a clock that has been set back since.
  const isFresh = Math.abs(nowMs - finished.atMs) <= MAX_CHECK_AGE_MS
  // A check that could not ask is none.
  return isFresh && failed === 0 ? healthy(detail) : unhealthy(detail)
}

function healthy(detail: string | null = null): HealthCheck {
  return { isHealthy: true, detail }
}

function unhealthy(detail: string): HealthCheck {
  return { isHealthy: false, detail }
}
