/**
 * An engine whose syncs set rejected records aside at once, and the steps of tests that bring them back.
 *
 * Contacts are known by their e-mail; the destination applies every write, so that it tells what was written
 * twice, and in which order.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect } from 'vitest'
import type { SyncConfig } from '../../src/domain/sync.ts'
import type { FaultHook } from '../../src/engine/fault-points.ts'
import type { Database } from '../../src/store/database.ts'
import { breaksAt, rejecting } from './deliveries.ts'
import {
  createEngineHarness,
  ENGINE_SETTINGS,
  type EndedRun,
  type EngineHarness,
} from './engine-harness.ts'
import { createPerson } from './person.ts'
import { type RecordingDestination, startRecordingDestination } from './recording-destination.ts'
import { createScriptedSource, type ScriptedSource, scriptedRow } from './scripted-source.ts'
import type { SeededSync } from './store-seed.ts'

export const BY_EMAIL = { path: 'PAGE', identityField: 'email' }
export const ASIDE = { onRejected: 'QUARANTINE', pageSize: 2, objectOptions: BY_EMAIL } as const
/** A destination that writes twice what it is sent twice. */
export const NONE = { ...BY_EMAIL, deliveryClass: 'NONE', requestDeadlineMs: 1_000 }
export const NEVER = breaksAt('afterClaim', Number.POSITIVE_INFINITY)
/** Where a redriven record passes, in its order. */
export const POINTS = [
  'afterReserve',
  'afterSend',
  'afterComplete',
  'beforeCheckpoint',
  'afterCheckpoint',
] as const

export class QuarantineStage {
  readonly source: ScriptedSource
  readonly destination: RecordingDestination
  readonly harness: EngineHarness
  readonly database: Database
  faults: FaultHook = NEVER

  constructor(database: Database, destination: RecordingDestination) {
    this.database = database
    this.destination = destination
    this.source = createScriptedSource()
    this.harness = createEngineHarness({ database, source: this.source, destination })
  }

  start(given: Parameters<EngineHarness['startEngine']>[0] = {}) {
    return this.harness.startEngine({
      settings: { ...ENGINE_SETTINGS, quarantineAfterRuns: 1 },
      faults: (point, runId) => this.faults(point, runId),
      ...given,
    })
  }

  /** A row of its own identity. */
  put(rank: number, email: string, note: string): void {
    const fields = { email, note, spare: 'spare' }
    this.source.put({ ...scriptedRow(`${email}-${note}-${rank}`, rank), fields })
  }

  rejectNotes(...notes: readonly string[]): void {
    this.destination.decide(rejecting(({ note }) => notes.includes(note)))
  }

  person(sync: SeededSync) {
    return createPerson(this.database, this.harness, sync)
  }

  async states(sync: SeededSync): Promise<readonly string[]> {
    return (await this.person(sync).listRejected()).map(({ state }) => state)
  }

  /** Brings back what is set aside, and waits for the run that sends it. */
  async redrive(sync: SeededSync, recordIds: readonly string[] | null = null): Promise<EndedRun> {
    const { runId } = await this.person(sync).redrive(recordIds)
    return await this.harness.waitForEnd(runId ?? '')
  }

  /** A sync of one contact a note, all delivered but the `rejected` ones, which are set aside. */
  async setAside(
    notes: readonly string[],
    rejected: readonly string[],
    given: Partial<SyncConfig> = {},
  ): Promise<SeededSync> {
    for (const [rank, note] of notes.entries()) {
      this.put(rank, note, note)
    }
    const sync = await this.harness.seedSync({ ...ASIDE, ...given })
    this.rejectNotes(...rejected)
    await this.harness.run(sync)
    this.rejectNotes()
    expect(await this.states(sync)).toEqual(rejected.map(() => 'quarantined'))
    return sync
  }

  passQuietTime(sync: SeededSync): Promise<void> {
    return passQuietTime(this.database, sync)
  }
}

/** Everything that happened did so an hour earlier. */
export async function passQuietTime(database: Database, { syncId }: SeededSync): Promise<void> {
  await database.rows(sql`update delivery_intent
    set reserved_at = reserved_at - interval '1 hour', quiet_at = quiet_at - interval '1 hour'
    where sync_id = ${syncId}`)
  await database.rows(sql`update attempt
    set finished_at = attempt.finished_at - interval '1 hour'
    from run where run.id = attempt.run_id and run.sync_id = ${syncId}`)
}

/** A stage for each test of the enclosing suite. */
export function useQuarantineStage(
  database: () => Database,
  options: { readonly honoursKeys: boolean } = { honoursKeys: false },
): () => QuarantineStage {
  let stage: QuarantineStage | null = null
  beforeEach(async () => {
    stage = new QuarantineStage(database(), await startRecordingDestination(options))
  })
  afterEach(async () => {
    await stage?.harness.close()
    await stage?.destination.close()
    stage = null
  })
  return () => {
    if (stage === null) {
      throw new Error('The stage is there only while a test runs.')
    }
    return stage
  }
}
