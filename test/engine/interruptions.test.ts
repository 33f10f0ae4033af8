/**
 * The database goes away under a running attempt, at each of its statements: before it runs, and when it is
 * committed but its answer is lost. That is nobody's fault who owns the run: nothing is lost, nothing is
 * written twice or left in doubt, and no attempt is counted. The destination takes whatever it is sent, so
 * that a record that is sent twice is there twice.
 *
 * Each statement is cut in each kind. Of those that come several times each call is cut in the first kind, and in
 * the others the last, unless it is `npm run test:exhaustive`, which cuts all.
 */
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { MAX_CALL_TRIES, MAX_FREE_INTERRUPTIONS } from '../../src/domain/retry.ts'
import type { Database } from '../../src/store/database.ts'
import type { NewRun } from '../../src/store/runs.ts'
import { type Cut, type CutDatabase, createCutDatabase } from '../support/cut-database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { hurriedClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { BEGINNING, KINDS, kindOf, LOOKED_UP } from '../support/interrupted-kinds.ts'
import { createPerson } from '../support/person.ts'
import {
  type Reaction,
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
import { WHOLE, waitForStoredEnd } from '../support/stored-end.ts'

const [PAGE_BY_PAGE = ''] = Object.keys(KINDS)

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a database that goes away', () => {
  let test: TestDatabase
  /** The test's own pool, and the workers', whose connections are ended. */
  let database: Database
  let workers: Database
  let source: ScriptedSource
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
    source = createScriptedSource(scriptedRows(6))
    Object.assign(source, { open: opensWithTotal(source) })
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database, source, destination })
    cutting = createCutDatabase(workers)
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** A sync whose first run held the record of the second page, and whose source has grown since. */
  async function seedHeld(name: string): Promise<SeededSync> {
    const { objectOptions, isReset = false } = kindOf(name)
    const sync = await harness.seedSync({ pageSize: 2, objectOptions })
    const kind = 'importsObject' in objectOptions ? 'accept' : 'results'
    const of = (_: string, record: unknown) => (isHeld(record) ? REJECTED : WRITTEN)
    destination.decide(({ body }) => {
      if (objectOptions['path'] === 'PAGE') {
        return { kind, of }
      }
      return isHeld(JSON.parse(body)) ? { kind: 'answer', status: 422 } : { kind: 'apply' }
    })
    const first = await harness.startEngine()
    expect(await harness.run(sync)).toMatchObject({ status: 'partial', counters: { rejected: 1 } })
    await first.stop()
    destination.always({ kind: kind === 'accept' ? 'accept' : 'apply' })
    for (let rank = 6; rank < 10; rank += 1) {
      source.put(scriptedRow(`r${rank}`, rank))
    }
    if (isReset) {
      await createPerson(database, harness, sync).reset()
    }
    return sync
  }

  async function runCut(sync: SeededSync, cuts: readonly Cut[], given: Partial<NewRun> = {}) {
    cutting.cut(...cuts)
    // Queued before the worker starts: its first claim finds it.
    const runId = await harness.enqueue(sync, given)
    await harness.startEngine({ database: cutting.database, clock: hurriedClock })
    return await waitForStoredEnd(database, runId)
  }

  /** Every row once, whatever the destination was sent. */
  const expectEachOnce = () => {
    expect(destination.applied).toHaveLength(source.rows.size)
    expect([...destination.effects.values()].filter((n) => n !== 1)).toEqual([])
  }

  describe.each(Object.keys(KINDS))('under an attempt (%s)', (kind) => {
    const { statements } = kindOf(kind)
    const cases = Object.entries(statements)
      .flatMap(([name, calls]) => cutCalls(kind, calls).map((from) => ({ name, from })))
      .flatMap((one) => [
        { ...one, when: 'before' as const },
        { ...one, when: 'after' as const },
      ])

    it.each(cases)('$when its call $from of $name costs it nothing', async (cut) => {
      const sync = await seedHeld(kind)
      const run = await runCut(sync, [cut])
      expect(cutting.cuts()).toBe(1)
      expect(run).toMatchObject({ ...WHOLE, outcomes: ['released', 'completed'], told: GONE })
      expect(run.written + run.replayed).toBe(run.read)
      expectEachOnce()
    })

    it('has no statement that is not cut here', async () => {
      await runCut(await seedHeld(kind), [])
      const stored = [...cutting.names].filter((name) => !OF_OTHERS.test(name))
      expect(stored.sort()).toEqual(Object.keys({ ...BEGINNING, ...statements }).sort())
    })
  })

  describe('where a run is claimed and ended', () => {
    it.each([
      ['runs.claimRuns', 'before', ['completed']],
      // The run is running and nobody works on it, until its worker's own recovery sees that.
      ['runs.claimRuns', 'after', ['recovered', 'completed']],
      ['workers.beat', 'before', ['completed']],
      ['workers.beat', 'after', ['completed']],
      ['runEnds.completeRun', 'before', ['completed']],
      ['runEnds.completeRun', 'after', ['completed']],
    ] as const)('%s, %s it is carried out', async (name, when, outcomes) => {
      const sync = await seedHeld(PAGE_BY_PAGE)
      const run = await runCut(sync, [{ name, when }])
      expect(run).toMatchObject({ ...WHOLE, outcomes })
      expectEachOnce()
    })

    it.each(['runEnds.findInterruptions', 'runEnds.releaseRun'])(
      '%s, when the attempt has lost it already',
      async (name) => {
        const sync = await seedHeld(PAGE_BY_PAGE)
        const run = await runCut(sync, [
          { name: 'pages.checkpoint', when: 'after' },
          { name, when: 'before' },
          { name, when: 'after' },
        ])
        expect(cutting.cuts()).toBe(3)
        expect(run).toMatchObject({ ...WHOLE, outcomes: ['released', 'completed'] })
        expectEachOnce()
      },
    )
  })

  it.each(['before', 'after'] as const)(
    'when a call is to be made again, %s its intent is renewed',
    async (when) => {
      const sync = await seedHeld(PAGE_BY_PAGE)
      destination.script(BUSY)
      const run = await runCut(sync, [{ name: 'intents.renewIntent', when }])
      expect(cutting.cuts()).toBe(1)
      expect(run).toMatchObject({ ...WHOLE, outcomes: ['released', 'completed'] })
      expectEachOnce()
    },
  )

  it.each(['before', 'after'] as const)(
    'when nobody answered a call, %s the ledger tells what should be there as well',
    async (when) => {
      const sync = await seedHeld(LOOKED_UP)
      await database.rows(sql`
        update sync_fence set confirmed_keys = null where sync_id = ${sync.syncId}`)
      destination.script({ kind: 'reset' })
      const run = await runCut(sync, [{ name: 'confirmedKeys.listDeliveredKeys', when }])
      expect(cutting.cuts()).toBe(1)
      expect(run).toMatchObject({ ...WHOLE, outcomes: ['released', 'completed'] })
      expectEachOnce()
    },
  )

  it.each(['alignLeftIntents', 'dropSpentIntents', 'listLeftIntents'])(
    'when a call was left in flight: before leftIntents.%s, and after it',
    async (of) => {
      const sync = await harness.seedSync({ objectOptions: { path: 'PAGE' } })
      destination.script(
        ...Array.from({ length: MAX_CALL_TRIES }, () => ({ kind: 'reset' }) as const),
      )
      const name = `leftIntents.${of}`
      const cuts = (['before', 'after'] as const).map((when) => ({ name, when }))
      const run = await runCut(sync, cuts)
      expect(cutting.cuts()).toBe(2)
      expect(run.outcomes).toEqual(['postponed', 'released', 'released', 'completed'])
      expect(run).toMatchObject({ ...WHOLE, spent: 1 })
      expectEachOnce()
    },
  )

  it('while it is asked for the connections: the backend ends in the middle of its wait', async () => {
    const sync = await harness.seedSync()
    const isHeld = createSignal()
    const mayGo = createSignal()
    const holding = database.transaction('interruptions.hold', async (tx) => {
      await tx.rows(sql`set local idle_in_transaction_session_timeout = 0`)
      await tx.rows(sql`lock table connection in access exclusive mode`)
      isHeld.reach()
      await mayGo.reached
    })
    await isHeld.reached
    await harness.startEngine({ database: workers })
    const runId = await harness.enqueue(sync)
    while (!(await terminateWaiting())) {
      // Each look is a round trip to the database.
    }
    mayGo.reach()
    await holding
    expect(await waitForStoredEnd(database, runId)).toMatchObject({
      ...WHOLE,
      outcomes: ['released', 'completed'],
    })
    expectEachOnce()
  })

  async function terminateWaiting(): Promise<boolean> {
    const ended = await database.rows(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
        and query like '%from "connection"%'`)
    return ended.length > 0
  }

  it('does not cost a run its only attempt', async () => {
    const sync = await harness.seedSync({ pageSize: 2 })
    const cut = { name: 'ledger.complete', when: 'before' } as const
    expect(await runCut(sync, [cut], { cause: 'retry', attemptAllowance: 1 })).toMatchObject(WHOLE)
    expectEachOnce()
  })

  it('does not bring back what somebody canceled meanwhile', async () => {
    const sync = await harness.seedSync({ pageSize: 2 })
    cutting.cut({ name: 'pages.checkpoint', when: 'before' })
    await harness.startEngine({
      database: cutting.database,
      faults: async (point, runId) => {
        if (point === 'beforeCheckpoint') {
          await database.rows(sql`update run set cancel_requested_at = now() where id = ${runId}`)
        }
      },
    })
    const run = await waitForStoredEnd(database, await harness.enqueue(sync))
    expect(run).toMatchObject({ status: 'canceled', spent: 0, outcomes: ['canceled'] })
  })

  describe('time after time', () => {
    const ALWAYS = 1_000
    const FREE = Array<string>(MAX_FREE_INTERRUPTIONS).fill('released')

    it('and lets the run get no further counts, after so many in a row, like any failure', async () => {
      const sync = await harness.seedSync({ pageSize: 2 })
      const cut = { name: 'ledger.openPage', when: 'before', times: ALWAYS } as const
      const run = await runCut(sync, [cut], { attemptAllowance: 2 })
      expect(run).toMatchObject({
        status: 'failed',
        spent: 2,
        outcomes: [...FREE, 'postponed', 'failed'],
        detail: GONE,
      })
      expect(destination.applied).toEqual([])
    })

    it('and lets it get further each time does not count', async () => {
      const sync = await harness.seedSync({ pageSize: 1 })
      for (let rank = 6; rank < 10; rank += 1) {
        source.put(scriptedRow(`r${rank}`, rank))
      }
      // Of each checkpoint the answer is lost: more often than may be free in a row.
      const cut = { name: 'pages.checkpoint', when: 'after', times: ALWAYS } as const
      const run = await runCut(sync, [cut], { attemptAllowance: 2 })
      expect(run).toMatchObject(WHOLE)
      expect(run.outcomes.length).toBeGreaterThan(FREE.length + 1)
      expectEachOnce()
    })
  })

  it('is another thing than a statement that is wrong, which counts (the control)', async () => {
    const sync = await harness.seedSync({ pageSize: 2 })
    await database.rows(sql`
      create function refuse_page() returns trigger language plpgsql as $$
      begin raise exception 'refused' using errcode = 'P0001'; end $$`)
    await database.rows(sql`
      create trigger refuse_page before insert on open_page execute function refuse_page()`)
    const run = await runCut(sync, [], { attemptAllowance: 2 })
    await database.rows(sql`drop trigger refuse_page on open_page`)
    expect(run).toMatchObject({ status: 'failed', spent: 2, outcomes: ['postponed', 'failed'] })
  })
})

/** What the worker asks for beside its attempts, and how it claims and ends runs. */
const OF_OTHERS =
  /^(workers|stopWishes|partitions|schedules|runEnds|sealedTexts)\.|^runs\.claimRuns$|^(quarantine\.forgetEnded|commandKeys\.forgetCommandKeys|endedPages\.forgetEndedPages)$/
const GONE = 'The database of this installation was out of reach (CONNECTION_CLOSED).'
const cutCalls = (kind: string, calls: readonly number[]) =>
  inject('isExhaustive') || kind === PAGE_BY_PAGE ? calls : calls.slice(-1)
const isHeld = (record: unknown) => (record as { email: string }).email === 'r3@example.com'
const BUSY: Reaction = {
  ...{ kind: 'answer', status: 429, body: '{}' },
  headers: { 'retry-after': '0' },
}
const REJECTED = { status: 'rejected', reason: 'email is not valid' }
const WRITTEN = { status: 'written', id: 'x' }

/** The source tells how many rows it has, so that an attempt has that to store as well. */
const opensWithTotal =
  ({ open, rows }: ScriptedSource): ScriptedSource['open'] =>
  async (request) => ({ ...(await open(request)), totalRecords: rows.size })
