/**
 * The database goes away while the end of a failed run is recorded, with the pause that follows from it: before and
 * after each statement of that transaction, and when it is committed but its answer is lost. The run fails once,
 * its sync is paused once, and one alert tells of it (I18). Other statements: see interruptions.test.ts.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { putFailedRuns, readBreaker, trippedBy } from '../support/breaker-steps.ts'
import { type Cut, type CutDatabase, createCutDatabase } from '../support/cut-database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { hurriedClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { waitForStoredEnd } from '../support/stored-end.ts'

/** The statements of the transaction, and its own name, for its beginning and its commit. */
const NAMES = [
  'alerts.raiseAlert',
  'breaker.findBreakerFacts',
  'breaker.pauseSync',
  'endRun.recordFailed',
  'runEnds.failRun',
]
const OF_A_FAILURE = /^(runEnds|breaker|alerts|endRun)\./

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a run that fails, and its database', () => {
  let test: TestDatabase
  /** The test's own pool, and the workers', whose connections are ended. */
  let database: Database
  let workers: Database
  let destination: RecordingDestination
  let harness: EngineHarness
  let cutting: CutDatabase

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    workers = await test.open()
  })
  afterAll(() => test.drop())
  beforeEach(async () => {
    const source = createScriptedSource(scriptedRows(2))
    destination = await startRecordingDestination()
    destination.always({ kind: 'answer', status: 401, body: '{}' })
    harness = createEngineHarness({ database, source, destination })
    cutting = createCutDatabase(workers)
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** The fifth failed run of a sync. */
  async function failCut(cuts: readonly Cut[]) {
    const sync = await harness.seedSync()
    await putFailedRuns(database, sync, 4)
    cutting.cut(...cuts)
    // Queued before the worker starts: its first claim finds it.
    const runId = await harness.enqueue(sync)
    await harness.startEngine({ database: cutting.database, clock: hurriedClock })
    return { sync, runId, run: await waitForStoredEnd(database, runId) }
  }

  it.each(NAMES.flatMap((name) => [['before', name] as const, ['after', name] as const]))(
    'that goes away %s %s: the run fails once, and the sync is paused once',
    async (when, name) => {
      const { sync, runId, run } = await failCut([{ name, when }])
      expect(cutting.cuts()).toBe(1)
      expect(run).toMatchObject({ status: 'failed', spent: 1, outcomes: ['failed'] })
      expect(await readBreaker(database, sync)).toMatchObject(trippedBy(runId))
    },
  )

  it('has no statement that is not cut here', async () => {
    await failCut([])
    expect([...cutting.names].filter((name) => OF_A_FAILURE.test(name)).sort()).toEqual(NAMES)
  })
})
