/** Pause and cancel in every state of a run: when it is over, there is no further call to the destination (I15). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AlreadyRunning } from '../../src/commands/refusals.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { SourceReader } from '../../src/connectors/source.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  createEngineHarness,
  ENGINE_SETTINGS,
  type EngineHarness,
} from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
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
import { createSignal } from '../support/signal.ts'
import { type SeededSync, seedClaimedRun } from '../support/store-seed.ts'

const PAGES = { pageSize: 5, objectOptions: { path: 'PAGE' } }
const ONE_BY_ONE = { objectOptions: { path: 'RECORD', concurrency: 1, deliveryClass: 'NONE' } }
const BUSY = {
  kind: 'answer' as const,
  status: 429,
  body: '{"error":"slow down"}',
  headers: { 'retry-after': '55' },
}

const SLOW_RETRY = {
  ...ENGINE_SETTINGS,
  retry: { firstBackoffMs: 3_600_000, backoffFactor: 2 },
}

type Stop = 'pause' | 'cancel'

describe.each(ENGINE_DATABASE_KINDS)('stopping on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(30))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const person = (sync: SeededSync) => createPerson(database(), harness, sync)

  const stop = async (how: Stop, sync: SeededSync, runId: string) => {
    const { status } =
      how === 'pause' ? await person(sync).pause() : await person(sync).cancel(runId)
    return status
  }

  const syncStatusOf = async ({ syncId }: SeededSync) => {
    const [row] = await database().rows(sql`select status from sync where id = ${syncId}`)
    return row?.['status']
  }

  const intentsOf = async ({ syncId }: SeededSync) =>
    (await database().rows(sql`select id from delivery_intent where sync_id = ${syncId}`)).length

  /** The run is over as it should be, its sync too, and an engine that goes on working sends nothing more of it. */
  const expectStopped = async (how: Stop, sync: SeededSync, runId: string) => {
    const run = await harness.waitForEnd(runId)
    expect(run).toMatchObject(
      how === 'pause'
        ? { status: 'failed', failureCode: 'attestation_rule_not_active' }
        : { status: 'canceled', failureCode: null },
    )
    expect(await syncStatusOf(sync)).toBe(how === 'pause' ? 'paused' : 'active')
    const before = destination.requests.length
    const other = await harness.seedSync({ pageSize: 30, objectOptions: { path: 'PAGE' } })
    destination.always({ kind: 'apply' })
    expect(await harness.run(other)).toMatchObject({ status: 'succeeded' })
    expect(destination.requests.length).toBe(before + 1)
    return run
  }

  describe.each(['pause', 'cancel'] as const)('by a %s', (how) => {
    it('ends a queued run at once: nothing is sent', async () => {
      const sync = await harness.seedSync(PAGES)
      const runId = await harness.enqueue(sync)
      expect(await stop(how, sync, runId)).toBe('done')
      await harness.startEngine()
      await expectStopped(how, sync, runId)
      expect(await stop(how, sync, runId)).toBe('noop')
    })

    it('ends a run that waits for its next attempt at once', async () => {
      source.failWith(new ConnectorError('provider_unavailable', 'The source did not answer.'))
      await harness.startEngine({ settings: SLOW_RETRY })
      const sync = await harness.seedSync(PAGES)
      const runId = await harness.enqueue(sync)
      await harness.waitFor(runId, ({ status, sequence }) => status === 'queued' && sequence.n > 0)
      expect(await stop(how, sync, runId)).toBe('done')
      source.failWith(null)
      await expectStopped(how, sync, runId)
    })

    it('ends a running run between two pages', async () => {
      const sync = await harness.seedSync(PAGES)
      let checkpoints = 0
      let status = ''
      await harness.startEngine({
        faults: async (point, runId) => {
          if (point === 'afterCheckpoint' && ++checkpoints === 2) {
            status = await stop(how, sync, runId)
          }
        },
      })
      const run = await expectStopped(how, sync, await harness.enqueue(sync))
      expect(status).toBe('will_stop_by')
      expect(run.counters.written).toBeLessThan(30)
    })

    it('ends a running run between two calls of a page, and leaves nothing in doubt that was not sent', async () => {
      const sync = await harness.seedSync(ONE_BY_ONE)
      let calls = 0
      await harness.startEngine({
        faults: async (point, runId) => {
          if (point === 'afterSend' && ++calls === 3) {
            await stop(how, sync, runId)
          }
        },
      })
      const runId = await harness.enqueue(sync)
      await harness.waitForEnd(runId)
      expect(destination.requests.length).toBeLessThanOrEqual(4)
      expect(await intentsOf(sync)).toBe(0)
      await expectStopped(how, sync, runId)
    })

    it('ends a run that waits between two tries, without waiting for the next one', async () => {
      const sync = await harness.seedSync(PAGES)
      destination.always(BUSY)
      await harness.startEngine()
      const called = destination.nextRequest()
      const runId = await harness.enqueue(sync)
      await called
      expect(await stop(how, sync, runId)).toBe('will_stop_by')
      await expectStopped(how, sync, runId)
    })

    it('ends a run that waits between two tries, also when the message about it was lost', async () => {
      const sync = await harness.seedSync(PAGES)
      destination.always(BUSY)
      await harness.startEngine()
      const called = destination.nextRequest()
      const runId = await harness.enqueue(sync)
      await called
      await database().rows(
        how === 'pause'
          ? sql`update sync set status = 'pausing', pause_cause = 'person' where id = ${sync.syncId}`
          : sql`update run set cancel_requested_at = now() where id = ${runId}`,
      )
      await expectStopped(how, sync, runId)
    })

    it('ends a run whose source does not answer', async () => {
      const sync = await harness.seedSync(PAGES)
      const isReading = createSignal()
      const reader: SourceReader = {
        totalRecords: null,
        listFields: () => Promise.resolve(null),
        close: () => Promise.resolve(),
        readPage: ({ signal }) =>
          new Promise((_, reject) => {
            isReading.reach()
            signal.addEventListener('abort', () => reject(new Error('The read was torn.')))
          }),
      }
      const silent = { ...source, open: () => Promise.resolve(reader) }
      const client = createLocalClient()
      const engine = await harness.startEngine({
        registry: createRegistry([silent], [createHttpDestination({ client })]),
      })
      const runId = await harness.enqueue(sync)
      await isReading.reached
      await stop(how, sync, runId)
      await harness.waitForEnd(runId)
      await engine.stop()
      await harness.startEngine()
      await expectStopped(how, sync, runId)
    })

    it('ends the run of a silent worker where that is recovered', async () => {
      const sync = await harness.seedSync(PAGES)
      const { holder } = await seedClaimedRun(database(), sync)
      expect(await stop(how, sync, holder.runId)).toBe('will_stop_by')
      await harness.startEngine()
      const run = await expectStopped(how, sync, holder.runId)
      expect(run.epoch).toBe(holder.epoch + 1)
    })

    it('ends a run whose attempt has just failed, instead of another attempt', async () => {
      source.failWith(new ConnectorError('provider_unavailable', 'The source did not answer.'))
      const sync = await harness.seedSync(PAGES)
      await harness.startEngine({
        faults: async (point, runId) => {
          if (point === 'beforeFinish') {
            await stop(how, sync, runId)
          }
        },
      })
      const run = await harness.run(sync)
      expect(run.status).toBe(how === 'pause' ? 'failed' : 'canceled')
      expect(await syncStatusOf(sync)).toBe(how === 'pause' ? 'paused' : 'active')
    })

    it('ends a run whose worker is stopping as well', async () => {
      const sync = await harness.seedSync(PAGES)
      const isUnderWay = createSignal()
      const engine = await harness.startEngine({
        faults: async (point, runId) => {
          if (point === 'beforeCheckpoint') {
            await stop(how, sync, runId)
            isUnderWay.reach()
          }
        },
      })
      const runId = await harness.enqueue(sync)
      await isUnderWay.reached
      await engine.stop()
      await harness.startEngine()
      await expectStopped(how, sync, runId)
    })
  })

  it('answers a run now with the canceled run until that has stopped, and then starts', async () => {
    const sync = await harness.seedSync(PAGES)
    const [isSent, isAnswered] = [createSignal(), createSignal()]
    await harness.startEngine({
      faults: async (point) => {
        if (point === 'afterSend') {
          isSent.reach()
          await isAnswered.reached
        }
      },
    })
    const runId = await harness.enqueue(sync)
    await isSent.reached
    expect(await person(sync).cancel(runId)).toMatchObject({ status: 'will_stop_by' })
    expect(await person(sync).cancel(runId)).toEqual({ status: 'noop' })
    const refusal = await person(sync)
      .runNow()
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(AlreadyRunning)
    expect(refusal).toMatchObject({ runId })
    isAnswered.reach()
    expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'canceled' })
    const next = await person(sync).runNow()
    expect(await harness.waitForEnd(next.runId)).toMatchObject({ status: 'succeeded' })
    expect([...destination.effects.values()]).toEqual(Array(30).fill(1))
  })

  it('tells by when a running run has stopped: after the longest that its call may take', async () => {
    const objectOptions = { path: 'PAGE', requestDeadlineMs: 120_000 }
    const sync = await harness.seedSync({ ...PAGES, objectOptions })
    const { holder } = await seedClaimedRun(database(), sync)
    const canceled = await person(sync).cancel(holder.runId)
    const waitMs = canceled.status === 'will_stop_by' ? canceled.stopBy.getTime() - Date.now() : 0
    expect(waitMs).toBeGreaterThan(120_000)
    expect(waitMs).toBeLessThan(180_000)
    const { status, stopBy } = await person(sync).pause()
    expect(status).toBe('will_stop_by')
    expect(stopBy?.getTime()).toBeGreaterThan(Date.now() + 110_000)
  })
})
