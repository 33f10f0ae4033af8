/**
 * Pause in each state of a run: from the moment at which its sync is `paused` there is no call to the
 * destination (I15). The database says when that was, the destination when each call came; both are on this
 * machine's clock.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'
import type { EngineOptions } from '../../src/engine/engine.ts'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { CALM_SETTINGS, ONE_SLOT } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, contactsIn, REFUSED } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
import { createPerson } from '../support/person.ts'
import {
  type Reaction,
  type RecordedRequest,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
  scriptedRows,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import type { SeededSync } from '../support/store-seed.ts'

const ROWS = 18
const IN_PAGES = { pageSize: 3, objectOptions: { path: 'PAGE', deliveryClass: 'NONE' } }
const ONE_BY_ONE = {
  pageSize: 3,
  objectOptions: { path: 'RECORD', deliveryClass: 'NONE', concurrency: 1 },
}
const MANY_AT_ONCE = {
  pageSize: 6,
  objectOptions: { path: 'RECORD', deliveryClass: 'NONE', concurrency: 3 },
}
const BUSY: Reaction = {
  kind: 'answer',
  status: 429,
  body: '{"error":"slow down"}',
  headers: { 'retry-after': '55' },
}
const HOUR_MS = 3_600_000
const RETRY_IN_AN_HOUR = {
  ...CALM_SETTINGS,
  retry: { firstBackoffMs: HOUR_MS, backoffFactor: 2 },
}

/** How a run comes into a state, and what ends the state once the pause was asked for. */
interface State {
  readonly config?: Partial<SyncConfig>
  readonly engine?: Partial<EngineOptions>
  readonly react?: (request: RecordedRequest) => Reaction
  readonly isReached: Promise<unknown>
  readonly goOn?: () => void
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a run that is paused', () => {
  const database = useDatabase('postgresql')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  /** When each call came, in milliseconds since 1970. */
  let calls: number[]

  beforeEach(async () => {
    calls = []
    source = createScriptedSource(scriptedRows(ROWS))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const react = (of: (request: RecordedRequest) => Reaction) => {
    destination.decide((request) => {
      calls.push(Date.now())
      return of(request)
    })
  }
  const pause = (sync: SeededSync) => createPerson(database(), harness, sync).pause()
  const readSync = async ({ syncId }: SeededSync) => {
    const [row] = await database().rows<{ status: string; changedAtMs: number }>(sql`
      select status, extract(epoch from updated_at)::float8 * 1000 as "changedAtMs"
      from sync where id = ${syncId}`)
    return row
  }

  /** Nothing came after the pause, and nothing comes while the same worker delivers another sync. */
  async function expectSilence(sync: SeededSync): Promise<void> {
    const paused = await readSync(sync)
    expect(paused?.status).toBe('paused')
    expect(Math.max(0, ...calls)).toBeLessThanOrEqual(paused?.changedAtMs ?? 0)
    const before = calls.length
    react(() => ({ kind: 'apply' }))
    source.failWith(null)
    const other = await harness.seedSync({ pageSize: ROWS, objectOptions: { path: 'PAGE' } })
    expect(await harness.run(other)).toMatchObject({ status: 'succeeded' })
    expect(calls).toHaveLength(before + 1)
  }

  async function pauseIn(state: State) {
    react(state.react ?? (() => ({ kind: 'apply' })))
    const engine = await harness.startEngine({
      ...{ engine: ONE_SLOT, settings: CALM_SETTINGS },
      ...state.engine,
    })
    const sync = await harness.seedSync(state.config ?? IN_PAGES)
    const runId = await harness.enqueue(sync)
    await state.isReached
    const { status } = await pause(sync)
    state.goOn?.()
    const run = await harness.waitForEnd(runId)
    await expectSilence(sync)
    await engine.stop()
    return { status, run }
  }

  const stopsAt = (
    point: FaultPoint,
    nth: number,
  ): Pick<State, 'engine' | 'isReached' | 'goOn'> => {
    const [isThere, mayGoOn] = [createSignal(), createSignal()]
    let reached = 0
    return {
      isReached: isThere.reached,
      goOn: mayGoOn.reach,
      engine: {
        faults: async (at) => {
          if (at === point && ++reached === nth) {
            isThere.reach()
            await mayGoOn.reached
          }
        },
      },
    }
  }
  const PAUSED = { status: 'failed', failureCode: 'attestation_rule_not_active' }

  describe.each([
    ['a call a page', IN_PAGES],
    ['a call a record', ONE_BY_ONE],
    ['several calls at once', MANY_AT_ONCE],
  ])('with %s', (_, config) => {
    it.each([
      ['afterClaim', 1],
      ['afterLease', 1],
      ['afterReadPage', 2],
      ['afterReserve', 2],
      ['afterSend', 2],
      ['afterComplete', 2],
      ['beforeCheckpoint', 1],
      ['afterCheckpoint', 1],
    ] as const)('at %s, time %i, makes no call afterwards', async (point, nth) => {
      const { status, run } = await pauseIn({ config, ...stopsAt(point, nth) })
      expect(status).toBe('will_stop_by')
      expect(run).toMatchObject(PAUSED)
      expect(run.counters.written).toBeLessThan(ROWS)
    })

    it('while calls are under way makes none after their answers', async () => {
      const [isCalled, mayAnswer] = [createSignal(), createSignal()]
      const { run } = await pauseIn({
        config,
        isReached: isCalled.reached,
        goOn: mayAnswer.reach,
        react: () => {
          isCalled.reach()
          return { kind: 'apply', until: mayAnswer.reached }
        },
      })
      expect(run).toMatchObject(PAUSED)
      expect([...destination.effects.values()].every((n) => n === 1)).toBe(true)
    })

    it('while it waits between two tries makes none', async () => {
      const isCalled = createSignal()
      const { run } = await pauseIn({
        config,
        isReached: isCalled.reached,
        react: () => {
          isCalled.reach()
          return BUSY
        },
      })
      expect(run).toMatchObject(PAUSED)
      expect(destination.applied).toHaveLength(ROWS)
    })
  })

  it('at its very end succeeds, and its sync is paused', async () => {
    const { run } = await pauseIn(stopsAt('beforeFinish', 1))
    expect(run).toMatchObject({ status: 'succeeded' })
  })

  it('while a call that was refused is split makes no call for the rest', async () => {
    const hold = stopsAt('afterSend', 2)
    const { run } = await pauseIn({
      ...hold,
      config: { ...IN_PAGES, pageSize: ROWS },
      react: (request) =>
        contactsIn(request).some(({ email }) => email.startsWith('r0@'))
          ? REFUSED
          : { kind: 'apply' },
    })
    expect(run).toMatchObject(PAUSED)
    expect(calls.length).toBeLessThan(5)
  })

  it('while its source does not answer makes no call', async () => {
    const isReading = createSignal()
    const reader: SourceReader = {
      totalRecords: null,
      listFields: () => Promise.resolve(null),
      close: () => Promise.resolve(),
      readPage: async (request) => {
        if (request.from !== null) {
          isReading.reach()
          await systemClock.sleep(HOUR_MS, request.signal)
        }
        const opened = await source.open({} as never)
        return await opened.readPage(request)
      },
    }
    let opened = 0
    const slow = {
      ...source,
      open: (given: Parameters<ScriptedSource['open']>[0]) =>
        ++opened === 1 ? Promise.resolve(reader) : source.open(given),
    }
    const http = createHttpDestination({ client: createLocalClient() })
    const { run } = await pauseIn({
      isReached: isReading.reached,
      engine: { registry: createRegistry([slow], [http]) },
    })
    expect(run).toMatchObject(PAUSED)
  })

  it('while it is queued is never sent', async () => {
    react(() => ({ kind: 'apply' }))
    const sync = await harness.seedSync(IN_PAGES)
    const runId = await harness.enqueue(sync)
    expect((await pause(sync)).status).toBe('done')
    await harness.startEngine({ settings: CALM_SETTINGS })
    expect(await harness.waitForEnd(runId)).toMatchObject(PAUSED)
    await expectSilence(sync)
    expect(calls).toHaveLength(1)
  })

  it('while it waits for its next attempt has none', async () => {
    source.failWith(new ConnectorError('provider_unavailable', 'The source did not answer.'))
    react(() => ({ kind: 'apply' }))
    await harness.startEngine({ settings: RETRY_IN_AN_HOUR })
    const sync = await harness.seedSync(IN_PAGES)
    const runId = await harness.enqueue(sync)
    await harness.waitFor(runId, ({ status, sequence }) => status === 'queued' && sequence.n > 0)
    expect((await pause(sync)).status).toBe('done')
    expect(await harness.waitForEnd(runId)).toMatchObject(PAUSED)
    await expectSilence(sync)
  })

  it('while it waits for the quiet time of an earlier call makes no call', async () => {
    const objectOptions = { path: 'PAGE', requestDeadlineMs: 1_000, settlingMs: HOUR_MS }
    const config = { pageSize: 3, objectOptions }
    const { clock, isWaiting } = createWatchedClock(HOUR_MS / 2)
    const sync = await harness.seedSync(config)
    react(() => ({ kind: 'apply' }))
    await harness.startEngine({ settings: CALM_SETTINGS, clock, faults: breaksAt('afterSend') })
    await harness.run(sync, { attemptAllowance: 1 })
    source.put(scriptedRow('r0', 0, 'changed'))
    const runId = await harness.enqueue(sync)
    await isWaiting
    await pause(sync)
    expect(await harness.waitForEnd(runId)).toMatchObject(PAUSED)
    await expectSilence(sync)
  })
})

/** The system's clock, which tells of the first sleep of such a length. */
function createWatchedClock(minMs: number) {
  const isWaiting = createSignal()
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      if (ms >= minMs) {
        isWaiting.reach()
      }
      await systemClock.sleep(ms, signal)
    },
  }
  return { clock, isWaiting: isWaiting.reached }
}
