/** A test run tells what a draft makes of the next records, and writes nothing whatever happens to it (I23). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AlreadyRunning } from '../../src/commands/refusals.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { SourceReader } from '../../src/connectors/source.ts'
import type { JsonValue } from '../../src/domain/json.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { readTestRecords, sealedFor } from '../../src/domain/test-run.ts'
import { LedgerUpkeep } from '../../src/engine/ledger-upkeep.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { releaseRun } from '../../src/store/run-ends.ts'
import { sweepRun } from '../../src/store/sweeps.ts'
import { recoverRun } from '../../src/store/workers.ts'
import { putFailedRuns } from '../support/breaker-steps.ts'
import { createCutDatabase } from '../support/cut-database.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
import { createPerson } from '../support/person.ts'
import {
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
import { BREAKER_PARTS, claimRun, type SeededSync, seedWorker } from '../support/store-seed.ts'
import { WHOLE, waitForStoredEnd } from '../support/stored-end.ts'

/** What a test must leave as it is, of a sync and of everything around it. */
const WRITTEN_BY_RUNS = [
  'open_page',
  'delivery_intent',
  'delivery',
  'held_record',
  'rewritten_identity',
  'alert',
] as const
const SEALER = createSealer(Buffer.alloc(32, 7), systemRandom)

describe.each(ENGINE_DATABASE_KINDS)('a test run on %s', (kind) => {
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

  const test = async (sync: SeededSync, limit = 5) =>
    (await createPerson(database(), harness, sync).test(limit)).runId

  const stand = async (
    { syncId }: SeededSync,
    status: 'draft' | 'active' | 'paused' | 'pausing',
  ) => {
    await database().rows(sql`
      update sync
      set status = ${status}, publication_id = case when ${status} = 'draft' then null else publication_id end,
          pause_cause = case when ${status} like 'paus%' then 'breaker' end
      where id = ${syncId}`)
  }

  const statusOf = async ({ syncId }: SeededSync) =>
    (await database().rows(sql`select status from sync where id = ${syncId}`))[0]?.['status']

  const changeDraft = async ({ syncId, config }: SeededSync, changed: Partial<SyncConfig>) => {
    const draft = JSON.stringify({ ...config, ...changed })
    await database().rows(sql`update sync set draft = ${draft}::text::jsonb where id = ${syncId}`)
  }

  const keptOf = async (runId: string) => {
    const [row] = await database().rows<{ sealed: string | null; problems: number | null }>(sql`
      select sealed_records as sealed, records_with_problems as problems
      from test_run where run_id = ${runId}`)
    const text = row?.sealed ? SEALER.unseal(row.sealed, sealedFor(runId)) : null
    const records = text === null ? null : readTestRecords(JSON.parse(text) as JsonValue)
    return { records, problems: row?.problems, sealed: row?.sealed }
  }

  /** Rows of what runs write, with the fence but its epoch. */
  const readBooks = async ({ syncId }: SeededSync) => {
    const counts: Record<string, unknown> = {}
    for (const table of WRITTEN_BY_RUNS) {
      const [row] = await database().rows(sql`
        select count(*)::integer as n from ${sql.identifier(table)}`)
      counts[table] = row?.['n']
    }
    const [fence] = await database().rows(sql`
      select reached, saved_cursor, is_rereading, encode(confirmed_keys, 'hex') as confirmed
      from sync_fence where sync_id = ${syncId}`)
    return { ...counts, ...fence }
  }

  const testedWhole = { status: 'succeeded', failureCode: null } as const
  const counts = (read: number) => ({
    ...{ read, written: 0, replayed: 0, rejected: 0, inDoubt: 0, quarantined: 0, skipped: read },
  })

  describe('of a published sync', () => {
    it('maps the next records as the draft says, from the saved cursor, and writes nothing', async () => {
      await harness.startEngine()
      const sync = await harness.seedSync()
      await harness.run(sync)
      for (let rank = 30; rank < 40; rank += 1) {
        source.put(scriptedRow(`r${rank}`, rank))
      }
      await changeDraft(sync, { mapping: { mail: { $path: 'email' } } })
      const [requests, books] = [destination.requests.length, await readBooks(sync)]
      const runId = await test(sync, 3)
      expect(await harness.waitForEnd(runId)).toMatchObject({ ...testedWhole, counters: counts(3) })
      expect((await keptOf(runId)).records).toEqual(
        [30, 31, 32].map((rank, position) => ({
          ...{ position, fields: { mail: `r${rank}@example.com` } },
          ...{ isTooLarge: false, problem: null },
        })),
      )
      expect(await readBooks(sync)).toEqual(books)
      expect(destination.requests.length).toBe(requests)
      // What is published still runs, from where it was.
      expect(await harness.run(sync)).toMatchObject({ counters: { read: 10, written: 10 } })
      expect(destination.requests.length).toBeGreaterThan(requests)
    })

    it('reads on until it has as many as were asked for, and fewer where there are no more', async () => {
      await harness.startEngine()
      const sync = await harness.seedSync()
      const all = await test(sync, 100)
      expect(await harness.waitForEnd(all)).toMatchObject({ counters: counts(30) })
      source.rows.clear()
      const none = await test(sync)
      expect(await harness.waitForEnd(none)).toMatchObject({ ...testedWhole, counters: counts(0) })
      expect(await keptOf(none)).toMatchObject({ records: [], problems: 0 })
    })

    it('tells the problems of records: their rows, their mapping, what the destination would not take', async () => {
      source.rows.clear()
      source.put({ ...scriptedRow('a', 0), problem: 'Line 1 has 3 fields instead of 2.' })
      source.put({
        identity: 'b',
        rank: 1,
        fields: { email: 'b@example.com', note: 'x'.repeat(2_000) },
      })
      source.put({ identity: 'c', rank: 2, fields: { email: 'c@example.com', note: 7 } })
      source.put(scriptedRow('d', 3, 'fine'))
      await harness.startEngine()
      const sync = await harness.seedSync()
      await changeDraft(sync, { objectOptions: { maxBodyBytes: 1_024 } })
      const runId = await test(sync)
      expect(await harness.waitForEnd(runId)).toMatchObject({ ...testedWhole, counters: counts(4) })
      const { records, problems } = await keptOf(runId)
      expect(problems).toBe(2)
      expect(records).toMatchObject([
        { fields: null, problem: { field: null, reason: expect.stringMatching(/Line 1/) } },
        { fields: null, problem: { field: null, reason: expect.stringMatching(/at most 1024/) } },
        { fields: { email: 'c@example.com' }, problem: null },
        { fields: { email: 'd@example.com', note: 'fine' }, problem: null },
      ])
    })

    it('keeps the records sealed, of the last test only, and for seven days', async () => {
      await harness.startEngine()
      const sync = await harness.seedSync()
      const first = await test(sync)
      await harness.waitForEnd(first)
      expect((await keptOf(first)).sealed).not.toContain('example.com')
      const second = await test(sync)
      await harness.waitForEnd(second)
      expect((await keptOf(first)).records).toBeNull()
      expect((await keptOf(second)).records).toHaveLength(5)
      const { logger } = harness
      const upkeep = new LedgerUpkeep({
        ...{ database: database(), clock: systemClock, logger, retentionMs: 7 * 86_400_000 },
      })
      const age = (hours: number) =>
        database().rows(sql`
          update test_run set ended_at = now() - ${hours}::float8 * interval '1 hour'
          where run_id = ${second}`)
      await age(7 * 24 - 1)
      await upkeep.runOnce()
      expect((await keptOf(second)).records).toHaveLength(5)
      await age(7 * 24 + 1)
      await upkeep.runOnce()
      expect((await keptOf(second)).records).toBeNull()
    })

    it('is one with any run: neither starts while the other is under way', async () => {
      const sync = await harness.seedSync()
      const testing = await test(sync)
      const refused = await createPerson(database(), harness, sync)
        .runNow()
        .catch((error) => error)
      expect(refused).toMatchObject({
        message: 'This sync rule is already running.',
        runId: testing,
      })
      await harness.startEngine()
      await harness.waitForEnd(testing)
      await harness.close()
      const running = await harness.enqueue(sync)
      const again = await test(sync).catch((error: unknown) => error)
      expect(again).toBeInstanceOf(AlreadyRunning)
      expect(again).toMatchObject({ runId: running })
    })
  })

  it.each(['draft', 'paused'] as const)('of a %s sync runs as well', async (status) => {
    await harness.startEngine()
    const sync = await harness.seedSync()
    await stand(sync, status)
    const runId = await test(sync)
    expect(await harness.waitForEnd(runId)).toMatchObject({ ...testedWhole, counters: counts(5) })
    expect(await statusOf(sync)).toBe(status)
    expect(destination.requests).toEqual([])
  })

  it('that fails has spent its attempt, and the breaker does not see it', async () => {
    source.failWith(new ConnectorError('provider_unavailable', 'The source did not answer.'))
    await harness.startEngine()
    const sync = await harness.seedSync({ breakerThreshold: 1 })
    // Enough to pause the sync, should anybody ask.
    await putFailedRuns(database(), sync, 1)
    const failed = { status: 'failed', failureCode: 'provider_unavailable' }
    expect(await harness.waitForEnd(await test(sync))).toMatchObject(failed)
    expect(await statusOf(sync)).toBe('active')
    // The control: a run of what is published.
    expect(await harness.run(sync, { attemptAllowance: 1 })).toMatchObject(failed)
    expect(await statusOf(sync)).toBe('paused')
  })

  describe('that is under way', () => {
    /** A source that does not answer until it is told to. */
    function holdSource() {
      const isReading = createSignal()
      const mayRead = createSignal()
      const held: SourceReader = {
        totalRecords: null,
        listFields: () => Promise.resolve(null),
        close: () => Promise.resolve(),
        readPage: async (request) => {
          isReading.reach()
          const aborted = new Promise((_, reject) => {
            request.signal.addEventListener('abort', () => reject(new Error('Torn.')))
          })
          await Promise.race([mayRead.reached, aborted])
          return await (await source.open({} as never)).readPage(request)
        },
      }
      const client = createLocalClient()
      const registry = createRegistry(
        [{ ...source, open: () => Promise.resolve(held) }],
        [createHttpDestination({ client })],
      )
      return { isReading, mayRead, registry }
    }

    it('goes on while its sync is paused, which is at once', async () => {
      const { isReading, mayRead, registry } = holdSource()
      await harness.startEngine({ registry })
      const sync = await harness.seedSync()
      const runId = await test(sync)
      await isReading.reached
      const paused = await createPerson(database(), harness, sync).pause()
      expect(paused).toMatchObject({ status: 'done', stopBy: null })
      expect(await statusOf(sync)).toBe('paused')
      mayRead.reach()
      expect(await harness.waitForEnd(runId)).toMatchObject(testedWhole)
    })

    it('ends the pause that a process of a version before tests made wait for it', async () => {
      const { isReading, mayRead, registry } = holdSource()
      await harness.startEngine({ registry })
      const sync = await harness.seedSync()
      const runId = await test(sync)
      await isReading.reached
      await stand(sync, 'pausing')
      mayRead.reach()
      expect(await harness.waitForEnd(runId)).toMatchObject(testedWhole)
      expect(await statusOf(sync)).toBe('paused')
    })

    it('is canceled in the middle of a read', async () => {
      const { isReading, registry } = holdSource()
      await harness.startEngine({ registry })
      const sync = await harness.seedSync()
      await stand(sync, 'paused')
      const runId = await test(sync)
      await isReading.reached
      await createPerson(database(), harness, sync).cancel(runId)
      expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'canceled' })
      expect((await keptOf(runId)).records).toBeNull()
    })

    it('is handed back by a worker that stops, and taken over from one that is silent, also where the sync is paused', async () => {
      const sync = await harness.seedSync()
      await stand(sync, 'paused')
      const runId = await test(sync)
      const { workspaceId } = sync
      const claim = async () => {
        const workerId = await seedWorker(database())
        return (await claimRun(database(), { runId, workerId, workspaceId })).holder
      }
      expect(await releaseRun(database(), await claim())).toMatchObject({ status: 'queued' })
      const seen = { ...(await claim()), takeOvers: 0, beatN: 0 }
      expect(await recoverRun(database(), seen)).toMatchObject({ status: 'queued' })
      await harness.startEngine()
      expect(await harness.waitForEnd(runId)).toMatchObject({ ...testedWhole, counters: counts(5) })
    })

    it('is taken over as any run when its worker was killed, though it has one attempt', async () => {
      const sync = await harness.seedSync()
      await stand(sync, 'paused')
      const runId = await test(sync)
      const workerId = await seedWorker(database())
      await claimRun(database(), { runId, workerId, workspaceId: sync.workspaceId })
      await harness.startEngine()
      expect(await harness.waitForEnd(runId)).toMatchObject({ ...testedWhole, counters: counts(5) })
    })

    it('is closed by the sweep without another in its place', async () => {
      const sync = await harness.seedSync({ breakerThreshold: 1 })
      const runId = await test(sync)
      const workerId = await seedWorker(database())
      const { workspaceId } = sync
      const { holder } = await claimRun(database(), { runId, workerId, workspaceId })
      const swept = await sweepRun(database(), BREAKER_PARTS, { ...holder, takeOvers: 0, beatN: 0 })
      expect(swept).toMatchObject({ closed: { status: 'failed' }, queued: null, trip: null })
      expect(await statusOf(sync)).toBe('active')
    })

    it.runIf(kind === 'postgresql').each([
      ['before', 'testRuns.findSavedCursor'],
      ['after', 'testRuns.findSavedCursor'],
      ['before', 'testRuns.completeTestRun'],
      ['after', 'testRuns.completeTestRun'],
    ] as const)('comes to its end although the database goes away %s %s', async (when, name) => {
      const cut = createCutDatabase(database())
      cut.cut({ name, when })
      await harness.startEngine({ database: cut.database })
      const sync = await harness.seedSync()
      const runId = await test(sync)
      expect(await waitForStoredEnd(database(), runId)).toMatchObject({ ...WHOLE, read: 5 })
      expect(cut.cuts()).toBe(1)
      expect((await keptOf(runId)).records).toHaveLength(5)
    })
  })
})
