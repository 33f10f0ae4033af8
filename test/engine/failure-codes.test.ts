/** Every failure of the catalogue comes about in a run, a command or a watchman; none is a word only. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectRedis } from '../../src/coordination/redis/redis.ts'
import { FAILURE_CATALOGUE, FAILURE_CODES, type FailureCode } from '../../src/domain/failure.ts'
import { formatLeaseToken, leaseName } from '../../src/domain/lease.ts'
import type { RunProgress } from '../../src/domain/progress.ts'
import { isFinal, MAX_TAKE_OVERS } from '../../src/domain/run.ts'
import type { EngineOptions } from '../../src/engine/engine.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  createEngineHarness,
  ENGINE_SETTINGS,
  type EngineHarness,
  republish,
} from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import { newId, type SeededSync, seedClaimedRun } from '../support/store-seed.ts'

/** What is tried again stays queued for as long as the test lasts. */
const SLOW_RETRY = { ...ENGINE_SETTINGS, retry: { firstBackoffMs: 3_600_000, backoffFactor: 2 } }

/** Nothing listens there. */
const NO_REDIS = 'redis://127.0.0.1:9'

describe.each(ENGINE_DATABASE_KINDS)('a run on %s ends with', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  /** Of the runs that are queued. */
  let attemptAllowance = 1
  const closing: (() => Promise<void>)[] = []

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(3))
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    for (const close of closing.splice(0)) {
      await close()
    }
    await destination.close()
  })

  const start = (given: Partial<EngineOptions> = {}) =>
    harness.startEngine({ settings: SLOW_RETRY, ...given })

  /** Queues a run of the sync, as it is by the time an engine starts. */
  const queue = async (sync: SeededSync, given: Partial<EngineOptions> = {}) => {
    const runId = await harness.enqueue(sync, { attemptAllowance })
    await start(given)
    return runId
  }

  const answering = async (status: number, headers = {}) => {
    destination.always({ kind: 'answer', status, body: '{"error":"No."}', headers })
    return await queue(await harness.seedSync())
  }

  const anotherHolder = formatLeaseToken({ epoch: 1_000, runId: newId() })

  /** How each comes about; returns the run. */
  const WAYS = {
    lease_conflict: async () => {
      const sync = await harness.seedSync()
      await harness.leases.take(leaseName(sync.syncId), anotherHolder, 60_000)
      return await queue(sync)
    },
    lease_lost: async () => {
      const sync = await harness.seedSync()
      const name = leaseName(sync.syncId)
      return await queue(sync, {
        faults: async (point) => {
          if (point === 'afterSend') {
            const held = (await harness.leases.findHolder(name)) ?? ''
            await harness.leases.replace(name, held, anotherHolder, 60_000)
          }
        },
      })
    },
    lease_unavailable: async () => {
      const { logger } = harness
      const redis = await connectRedis({ url: NO_REDIS, clock: systemClock, logger })
      closing.push(() => redis.close())
      return await queue(await harness.seedSync(), { leases: redis.leases })
    },
    stale_job_swept: async () => {
      const { holder } = await seedClaimedRun(database(), await harness.seedSync())
      await database().rows(sql`update run set take_overs = ${MAX_TAKE_OVERS}
        where id = ${holder.runId}`)
      await start()
      return holder.runId
    },
    provider_rate_limited: () => answering(429, { 'retry-after': '3600' }),
    provider_unavailable: () => answering(503, { 'retry-after': '3600' }),
    connection_missing: async () => {
      const sync = await harness.seedSync()
      return await queue(await republish(database(), sync, { sourceConnectionId: newId() }))
    },
    connection_unauthorized: () => answering(401),
    destination_rejected: () => answering(422),
    node_failed: () => answering(404),
    attestation_rule_not_active: async () => {
      const sync = await harness.seedSync()
      const runId = await harness.enqueue(sync, { attemptAllowance })
      await createPerson(database(), harness, sync).pause()
      return runId
    },
    attestation_publication_not_attested: async () => {
      const sync = await harness.seedSync()
      const runId = await harness.enqueue(sync, { attemptAllowance })
      await republish(database(), sync, { pageSize: 7 })
      await start()
      return runId
    },
    unclassified_exception: async () => {
      source.failWith(new TypeError('A bug.'))
      return await queue(await harness.seedSync())
    },
  } satisfies Record<FailureCode, () => Promise<string>>

  it.each(FAILURE_CODES)('%s', async (code) => {
    attemptAllowance = 1
    const run = await harness.waitForEnd(await WAYS[code]())
    expect(run).toMatchObject({ status: 'failed', failureCode: code })
  })

  it.each(FAILURE_CODES)('%s, or is tried again, as the catalogue says', async (code) => {
    attemptAllowance = 2
    const runId = await WAYS[code]()
    const isQueuedAgain = (run: RunProgress) => run.status === 'queued' && run.sequence.n > 0
    await harness.waitFor(runId, (run) => isFinal(run.status) || isQueuedAgain(run))
    const [run] = await database().rows(sql`select status from run where id = ${runId}`)
    const isRetried = FAILURE_CATALOGUE[code].retried === 'yes'
    expect(run).toEqual({ status: isRetried ? 'queued' : 'failed' })
  })
})
