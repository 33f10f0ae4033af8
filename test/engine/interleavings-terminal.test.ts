/**
 * Who watches a run through a take-over sees it go forwards, and sees one end: the one that the run has. The
 * holder that was taken over goes on publishing what it thinks, until it finds out.
 */
import type { SQL } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { runChannel } from '../../src/coordination/bus.ts'
import { progressFromMessage, type RunProgress } from '../../src/domain/progress.ts'
import { isAfter, isFinal } from '../../src/domain/run.ts'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { followRun } from '../../src/graphql/follow-run.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Database, Row } from '../../src/store/database.ts'
import { findProgress } from '../../src/store/history/runs.ts'
import { listRunningRuns, recoverRun } from '../../src/store/workers.ts'
import { CALM_SETTINGS, ONE_SLOT } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
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
import { createSignal, type Signal } from '../support/signal.ts'
import { nameOf } from '../support/statement-name.ts'
import type { SeededSync } from '../support/store-seed.ts'

const ROWS = 12
const IN_PAGES = { pageSize: 3, objectOptions: { path: 'PAGE', deliveryClass: 'IDEMPOTENT' } }
const CALM = { engine: ONE_SLOT, settings: CALM_SETTINGS }

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a run that is watched', () => {
  const database = useDatabase('postgresql')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(ROWS))
    destination = await startRecordingDestination({ honoursKeys: true })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** A hook that stops the first attempt where it reaches the point for the nth time. */
  const stopsAt = (point: FaultPoint, nth = 1) => {
    const [isThere, mayGoOn] = [createSignal(), createSignal()]
    let reached = 0
    return {
      isThere: isThere.reached,
      goOn: mayGoOn.reach,
      hook: async (at: FaultPoint) => {
        if (at === point && ++reached === nth) {
          isThere.reach()
          await mayGoOn.reached
        }
      },
    }
  }
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  /** As recovery does it, between two beats of its worker. */
  const takeOver = (runId: string) =>
    until(async () => {
      const seen = (await listRunningRuns(database())).find((run) => run.runId === runId)
      return seen !== undefined && (await recoverRun(database(), seen)) !== null
    })

  /** Follows the run as the API does. Resolves with all that was told, once the stream completes. */
  async function watch({ workspaceId }: SeededSync, runId: string): Promise<RunProgress[]> {
    const told: RunProgress[] = []
    const events = followRun({
      ...{ runId, bus: harness.bus, clock: systemClock, keepAliveMs: 15_000 },
      ...{ after: null, sharing: null },
      readSnapshot: async () => {
        const found = await findProgress(database(), workspaceId, runId)
        if (!found) {
          throw new Error(`There is no run ${runId}.`)
        }
        return { progress: found.progress, note: null }
      },
      assertAllowed: () => Promise.resolve(),
    })
    for await (const event of events) {
      if (event.kind === 'progress') {
        told.push(event.progress)
      }
    }
    return told
  }

  /** Every end of the run that anybody told the bus. */
  async function listenForEnds(runId: string) {
    const ends: RunProgress[] = []
    await harness.bus.subscribe(runChannel(runId), (message) => {
      const progress = progressFromMessage(message)
      if (progress && isFinal(progress.status)) {
        ends.push(progress)
      }
    })
    return ends
  }

  function expectForwards(told: readonly RunProgress[]): void {
    for (const [index, progress] of told.entries()) {
      const before = told[index - 1]
      if (before) {
        expect(isAfter(progress.sequence, before.sequence)).toBe(true)
        expect(progress.counters.read).toBeGreaterThanOrEqual(before.counters.read)
      }
    }
    expect(told.filter(({ status }) => isFinal(status))).toEqual(told.slice(-1))
  }

  it.each([
    ['afterLease', 1],
    ['afterReserve', 2],
    ['afterSend', 2],
    ['beforeCheckpoint', 2],
    ['afterCheckpoint', 2],
    ['beforeFinish', 1],
  ] as const)('through a take-over at %s, time %i, ends once', async (point, nth) => {
    const sync = await harness.seedSync(IN_PAGES)
    const older = stopsAt(point, nth)
    const younger = stopsAt(point === 'beforeFinish' ? 'beforeFinish' : 'afterCheckpoint')
    await harness.startEngine({ ...CALM, faults: older.hook })
    const runId = await harness.enqueue(sync)
    const told = watch(sync, runId)
    const ends = await listenForEnds(runId)
    await older.isThere
    await takeOver(runId)
    await harness.startEngine({ ...CALM, faults: younger.hook })
    await younger.isThere
    older.goOn()
    await until(() => harness.logger.count('run.lost') === 1)
    younger.goOn()
    const end = await harness.waitForEnd(runId)
    const events = await told
    expectForwards(events)
    expect(events.at(-1)).toMatchObject({ status: 'succeeded', counters: end.counters })
    expect(new Set(events.map(({ sequence }) => sequence.epoch)).size).toBeGreaterThan(1)
    expect(ends).toHaveLength(1)
  })

  it('is not told of the failure with which the holder that was taken over wanted to end it', async () => {
    const sync = await harness.seedSync(IN_PAGES)
    const older = stopsAt('beforeFinish')
    source.failWith(new ConnectorError('connection_unauthorized', 'The source refused.'))
    await harness.startEngine({ ...CALM, faults: older.hook })
    const runId = await harness.enqueue(sync, { attemptAllowance: 1 })
    const told = watch(sync, runId)
    const ends = await listenForEnds(runId)
    await older.isThere
    await takeOver(runId)
    source.failWith(null)
    const younger = stopsAt('afterLease')
    await harness.startEngine({ ...CALM, faults: younger.hook })
    await younger.isThere
    older.goOn()
    await until(() => harness.logger.count('run.lost') === 1)
    younger.goOn()
    const events = await told
    expectForwards(events)
    expect(events.at(-1)).toMatchObject({ status: 'succeeded', failureCode: null })
    expect(ends).toHaveLength(1)
  })

  it('is told that it was canceled where that was asked for before the take-over', async () => {
    const sync = await harness.seedSync(IN_PAGES)
    const older = stopsAt('beforeFinish')
    const beats = createBeatGate(database())
    await harness.startEngine({ ...CALM, database: beats.database, faults: older.hook })
    const runId = await harness.enqueue(sync)
    const told = watch(sync, runId)
    await older.isThere
    beats.close()
    await createPerson(database(), harness, sync).cancel(runId)
    await harness.startEngine({ ...CALM, engine: { ...ONE_SLOT, silentAfterMs: 500 } })
    expect((await harness.waitForEnd(runId)).status).toBe('canceled')
    beats.open()
    older.goOn()
    await until(() => harness.logger.count('run.lost') === 1)
    const events = await told
    expectForwards(events)
    expect(events.at(-1)).toMatchObject({ status: 'canceled' })
  })
})

/** A way to a database on which beats do not come through while it is closed. */
function createBeatGate(database: Database) {
  let gate: Signal | null = null
  const gated: Database = {
    ...database,
    rows: async <R extends Row>(statement: SQL) => {
      if (nameOf(statement) === 'workers.beat') {
        await gate?.reached
      }
      return await database.rows<R>(statement)
    },
  }
  return {
    database: gated,
    close: () => {
      gate = createSignal()
    },
    open: () => gate?.reach(),
  }
}
