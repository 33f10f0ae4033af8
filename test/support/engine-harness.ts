/**
 * An engine in this process, on a real database, writing to a real HTTP server.
 *
 * The source is scripted; coordination is the in-process one, shared by all engines of a harness, so
 * that two of them are two workers.
 */
import { sql } from 'drizzle-orm'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import { runChannel, WAKE_CHANNEL } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import type { Counters } from '../../src/domain/delivery.ts'
import type { FailureCode } from '../../src/domain/failure.ts'
import { progressFromMessage, type RunProgress } from '../../src/domain/progress.ts'
import { isFinal, type RunStatus } from '../../src/domain/run.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { Engine, type EngineOptions } from '../../src/engine/engine.ts'
import { type FaultHook, noFaults } from '../../src/engine/fault-points.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import type { Database, Row } from '../../src/store/database.ts'
import { enqueueRun, type NewRun } from '../../src/store/runs.ts'
import { createLocalClient } from './local-client.ts'
import type { RecordingDestination } from './recording-destination.ts'
import { createRecordingLogger, type RecordingLogger } from './recording-logger.ts'
import type { ScriptedSource } from './scripted-source.ts'
import { createSignal } from './signal.ts'
import { BREAKER_PARTS, newId, newRun, type SeededSync, seedSync } from './store-seed.ts'

export const ENGINE_SETTINGS: EngineOptions['settings'] = {
  leaseLifeMs: 60_000,
  leaseRenewalMs: 20_000,
  beatTrustMs: 800,
  retentionMs: 7 * 24 * 3_600_000,
  quarantineAfterRuns: 3,
  retry: { firstBackoffMs: 50, backoffFactor: 2 },
  breaker: BREAKER_PARTS.breaker,
}

export interface EndedRun {
  readonly runId: string
  readonly status: RunStatus
  readonly counters: Counters
  readonly failureCode: FailureCode | null
  readonly failureDetail: string | null
  readonly epoch: number
}

export interface EngineHarness {
  readonly logger: RecordingLogger
  readonly leases: ReturnType<typeof createMemoryLeases>
  readonly bus: ReturnType<typeof createMemoryBus>
  /** A worker. It is stopped by `close` at the latest. */
  startEngine(given?: Partial<EngineOptions>): Promise<Engine>
  seedSync(given?: Parameters<typeof seedSync>[1]): Promise<SeededSync>
  enqueue(sync: SeededSync, given?: Partial<NewRun>): Promise<string>
  /** Queues a run and waits for its end. */
  run(sync: SeededSync, given?: Partial<NewRun>): Promise<EndedRun>
  /** Resolves with the first progress that `isWanted`, from the database or from the bus. */
  waitFor(runId: string, isWanted: (progress: RunProgress) => boolean): Promise<void>
  waitForEnd(runId: string): Promise<EndedRun>
  close(): Promise<void>
}

export function createEngineHarness(parts: {
  readonly database: Database
  readonly source: ScriptedSource
  /** Of the type `http`, unless a sync names another. */
  readonly destination: Pick<RecordingDestination, 'url'>
}): EngineHarness {
  const { database, source, destination } = parts
  const logger = createRecordingLogger()
  const leases = createMemoryLeases(systemClock)
  const bus = createMemoryBus(logger)
  const engines: Engine[] = []

  const enqueue = async (sync: SeededSync, given: Partial<NewRun> = {}) => {
    const run = newRun(sync, given)
    const result = await enqueueRun(database, run)
    if (result.kind !== 'queued') {
      throw new Error(`The run was not queued: ${result.kind}.`)
    }
    await bus.publish(WAKE_CHANNEL, {})
    return run.id
  }
  const waitFor = async (runId: string, isWanted: (progress: RunProgress) => boolean) => {
    const wanted = createSignal()
    const unsubscribe = await bus.subscribe(runChannel(runId), (message) => {
      const progress = progressFromMessage(message)
      if (progress && isWanted(progress)) {
        wanted.reach()
      }
    })
    try {
      const [row] = await database.rows<{ status: RunStatus }>(
        sql`select status from run where id = ${runId}`,
      )
      if (!row || !isFinal(row.status)) {
        await wanted.reached
      }
    } finally {
      await unsubscribe()
    }
  }
  const waitForEnd = async (runId: string) => {
    await waitFor(runId, (progress) => isFinal(progress.status))
    return await readRun(database, runId)
  }
  return {
    logger,
    leases,
    bus,
    enqueue,
    waitFor,
    waitForEnd,
    startEngine: async (given = {}) => {
      const engine = new Engine({ ...defaultOptions(), database, leases, bus, logger, ...given })
      engines.push(engine)
      await engine.start()
      return engine
    },
    seedSync: (given = {}) =>
      seedSync(database, {
        mapping: { email: { $path: 'email' }, note: { $path: 'note' } },
        destination: { type: 'http', config: { baseUrl: destination.url } },
        ...given,
      }).then((sync) => useScripted(database, sync)),
    run: async (sync, given) => await waitForEnd(await enqueue(sync, given)),
    close: async () => {
      for (const engine of engines.splice(0).reverse()) {
        await engine.stop()
      }
    },
  }

  function defaultOptions(): Omit<EngineOptions, 'database' | 'leases' | 'bus' | 'logger'> {
    return {
      registry: createRegistry([source], [createHttpDestination({ client: createLocalClient() })]),
      sealer: createSealer(Buffer.alloc(32, 7), systemRandom),
      clock: systemClock,
      ids: createIdSource(systemClock, systemRandom),
      random: systemRandom,
      hash: sha256,
      faults: noFaults satisfies FaultHook,
      workerId: newId(),
      host: 'test',
      pid: process.pid,
      isAlone: false,
      engine: {
        slots: 4,
        pollMs: 200,
        beatMs: 100,
        silentAfterMs: 1_000,
        schedulerMs: 50,
        drainDeadlineMs: 15_000,
      },
      settings: ENGINE_SETTINGS,
    }
  }
}

async function useScripted(database: Database, sync: SeededSync): Promise<SeededSync> {
  await database.rows(sql`update connection set type = 'scripted'
    where id = ${sync.sourceConnectionId}`)
  return sync
}

/** Publishes another configuration of the sync, as a person would, and makes it the current one. */
export async function republish(
  database: Database,
  sync: SeededSync,
  changed: Partial<SyncConfig>,
): Promise<SeededSync> {
  const config = { ...sync.config, ...changed }
  const publicationId = newId()
  const text = JSON.stringify(config)
  await database.rows(sql`insert into sync_version (sync_id, digest, config)
    values (${sync.syncId}, ${publicationId}, ${text}::text::jsonb)`)
  await database.rows(sql`insert into publication (id, sync_id, version_digest, published_by)
    values (${publicationId}, ${sync.syncId}, ${publicationId}, 'test')`)
  await database.rows(sql`update sync set publication_id = ${publicationId}
    where id = ${sync.syncId}`)
  return { ...sync, config, publicationId }
}

async function readRun(database: Database, runId: string): Promise<EndedRun> {
  const [row] = await database.rows<Counters & Omit<EndedRun, 'counters'> & Row>(sql`
    select id as "runId", status, "read", written, replayed, rejected, in_doubt as "inDoubt",
           quarantined, skipped, failure_code as "failureCode", failure_detail as "failureDetail",
           epoch
    from run where id = ${runId}`)
  if (!row) {
    throw new Error(`There is no run ${runId}.`)
  }
  const { read, written, replayed, rejected, inDoubt, quarantined, skipped } = row
  const { status, failureCode, failureDetail, epoch } = row
  const counters = { read, written, replayed, rejected, inDoubt, quarantined, skipped }
  return { runId, status, counters, failureCode, failureDetail, epoch }
}
