/**
 * Engines, schedulers and people at work on syncs that fail, for tests of the failure circuit breaker. Slots lie far
 * from now: the scheduler of an engine finds nothing of theirs due, and a test says what time it is.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach } from 'vitest'
import { disconnectConnection } from '../../src/commands/disconnect-connection.ts'
import { publishSync } from '../../src/commands/publish-sync.ts'
import { Scheduler } from '../../src/engine/scheduler.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { BreakerSettings } from '../../src/store/breaker.ts'
import type { Database } from '../../src/store/database.ts'
import { storeSlots } from '../../src/store/schedules.ts'
import { readBreaker } from './breaker-steps.ts'
import { createEngineHarness, type EngineHarness } from './engine-harness.ts'
import { type RecordingDestination, startRecordingDestination } from './recording-destination.ts'
import { createScriptedSource, scriptedRows } from './scripted-source.ts'
import { BREAKER_PARTS, newId, type SeededSync } from './store-seed.ts'
import { actingFor } from './sync-verbs.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
const MINUTELY = { kind: 'interval' as const, everyMs: MINUTE_MS }
export const START_MS = Date.parse('2100-01-01T00:00:00.000Z')

export interface StoredRun extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly status: string
}

export class BreakerStage {
  readonly database: Database
  readonly destination: RecordingDestination
  readonly harness: EngineHarness

  constructor(database: Database, destination: RecordingDestination) {
    const source = createScriptedSource(scriptedRows(2))
    this.database = database
    this.destination = destination
    this.harness = createEngineHarness({ database, source, destination })
  }

  /** What every part that fails runs takes. */
  shared() {
    return {
      ...BREAKER_PARTS,
      database: this.database,
      bus: this.harness.bus,
      clock: systemClock,
      logger: this.harness.logger,
      workerId: newId(),
      intervalMs: MINUTE_MS,
      ownRunIds: () => new Set<string>(),
    }
  }

  /** A sync with a slot each minute, the first one at {@link START_MS}. */
  async seedScheduled(): Promise<SeededSync> {
    const sync = await this.harness.seedSync({ schedule: MINUTELY })
    const slots = { schedule: MINUTELY, anchorMs: START_MS - MINUTE_MS, slotMs: START_MS }
    await storeSlots(this.database, sync.syncId, slots)
    return sync
  }

  /** The scheduler looks at the time of the slot of that number, counted from 1. */
  async tick(n: number, breaker: BreakerSettings = BREAKER_PARTS.breaker): Promise<void> {
    const scheduler = new Scheduler({ ...this.shared(), breaker })
    await scheduler.runOnce(new Date(START_MS + (n - 1) * MINUTE_MS))
  }

  acting(sync: SeededSync) {
    return actingFor(this.database, sync)
  }

  /** The destination, unless another one is given. */
  disconnect(sync: SeededSync, connectionId = sync.destinationConnectionId) {
    return disconnectConnection(...this.acting(sync), { connectionId, reason: 'We have moved.' })
  }

  publish(sync: SeededSync) {
    return publishSync(...this.acting(sync), { syncId: sync.syncId })
  }

  read(sync: SeededSync) {
    return readBreaker(this.database, sync)
  }

  /** In the order in which they were made. */
  runsOf({ syncId }: SeededSync): Promise<readonly StoredRun[]> {
    return this.database.rows<StoredRun>(sql`
      select id, status, cause, failure_code as code, failure_subject as subject,
             failure_detail as detail, worker_id as worker
      from run where sync_id = ${syncId} order by id`)
  }

  async lastRunIdOf(sync: SeededSync): Promise<string> {
    return (await this.runsOf(sync)).at(-1)?.id ?? ''
  }

  async slotsOf({ syncId }: SeededSync) {
    const [row] = await this.database.rows(sql`
      select (extract(epoch from slot_at) * 1000)::float8 as "slotMs", coalesced
      from sync_schedule where sync_id = ${syncId}`)
    return row
  }

  /** Nothing of a test may be due, or under way, in the next one. */
  async close(): Promise<void> {
    await this.harness.close()
    await this.destination.close()
    await this.database.rows(sql`update sync_schedule set slot_at = null`)
    await this.database.rows(sql`update run set status = 'canceled', finished_at = now()
      where status in ('queued', 'running')`)
  }
}

/** A stage for each test of the enclosing suite. */
export function useBreakerStage(database: () => Database): () => BreakerStage {
  let stage: BreakerStage | null = null
  beforeEach(async () => {
    stage = new BreakerStage(database(), await startRecordingDestination())
  })
  afterEach(async () => {
    await stage?.close()
    stage = null
  })
  return () => {
    if (stage === null) {
      throw new Error('The stage is there only while a test runs.')
    }
    return stage
  }
}
