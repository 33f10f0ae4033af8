/** What becomes of a run whose worker stops: it goes back to the queue at its next safe point, at no cost. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import { createRegistry } from '../../src/connectors/registry.ts'
import type { Engine, EngineOptions } from '../../src/engine/engine.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { createTestDatabase, DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createLocalClient } from '../support/local-client.ts'
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
import { startTcpProxy } from '../support/tcp-proxy.ts'

const DEPLOYS = 10

/** A destination that does not honour keys: whatever is sent twice, is there twice. */
const NONE = { deliveryClass: 'NONE', concurrency: 1 }

describe('a worker that stops in the middle of a run', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(6))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    // The workers of the next test must not find this one's run.
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where status = 'queued'`)
  })

  const effects = () => [...destination.effects.values()]
  const readQueued = () => readRunRow(database())

  it('hands it back after the call under way, and the next worker sends only the rest', async () => {
    const sync = await harness.seedSync({ objectOptions: { ...NONE, path: 'PAGE' }, pageSize: 2 })
    const answer = createSignal()
    destination.script({ kind: 'apply', until: answer.reached })
    const engine = await harness.startEngine()
    const called = destination.nextRequest()
    const runId = await harness.enqueue(sync)
    await called
    const stopped = engine.stop()
    answer.reach()
    await stopped
    expect(await readQueued()).toMatchObject({
      status: 'queued',
      spent: 0,
      takeOvers: 0,
      intents: 0,
    })
    await harness.startEngine()
    const end = await harness.waitForEnd(runId)
    expect(end).toMatchObject({ status: 'succeeded', counters: { read: 6 } })
    expect(effects()).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('claims nothing more, and what a claim under way brings is handed back unread', async () => {
    const sync = await harness.seedSync()
    const engine = await harness.startEngine({
      faults: (point) => {
        if (point === 'afterClaim') {
          engine.beginDrain()
        }
        return Promise.resolve()
      },
    })
    const runId = await harness.enqueue(sync)
    await harness.waitFor(runId, ({ status }) => status === 'running')
    await engine.stop()
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0 })
    expect(destination.requests).toHaveLength(0)
    expect(source.reads).toHaveLength(0)
  })

  it(`does not end a run that goes through ${DEPLOYS} deploys, nor count them`, async () => {
    for (const row of scriptedRows(2 * DEPLOYS + 4)) {
      source.put(row)
    }
    const sync = await harness.seedSync({ objectOptions: { ...NONE, path: 'PAGE' }, pageSize: 2 })
    const runId = await harness.enqueue(sync, { attemptAllowance: 1 })
    for (let deploy = 0; deploy < DEPLOYS; deploy += 1) {
      await stopAfterOneCall(harness)
    }
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0, takeOvers: 0 })
    await harness.startEngine()
    const end = await harness.waitForEnd(runId)
    expect(end).toMatchObject({ status: 'succeeded', counters: { read: 2 * DEPLOYS + 4 } })
    expect(effects().every((n) => n === 1)).toBe(true)
    expect(await listOutcomes(database(), runId)).toEqual([
      ...Array<string>(DEPLOYS).fill('released'),
      'completed',
    ])
  })

  it.each(['NONE', 'IDEMPOTENT'])(
    'does not wait for the next try of a call (class %s): what was not applied is not in doubt',
    async (deliveryClass) => {
      const objectOptions = { path: 'PAGE', deliveryClass, concurrency: 1 }
      const sync = await harness.seedSync({ objectOptions, pageSize: 6 })
      // The page is refused as a whole; its first half is to be tried again in a minute.
      destination.script(
        { kind: 'answer', status: 422, body: '{"message":"no"}' },
        { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '60' } },
      )
      const engine = await harness.startEngine()
      const runId = await harness.enqueue(sync)
      await destination.nextRequest()
      await destination.nextRequest()
      await engine.stop()
      expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0, intents: 0 })
      await harness.startEngine()
      const end = await harness.waitForEnd(runId)
      expect(end).toMatchObject({ status: 'succeeded', counters: { written: 6, inDoubt: 0 } })
      expect(effects()).toEqual([1, 1, 1, 1, 1, 1])
    },
  )

  it('leaves an unknown outcome in its intent, which an idempotent destination is sent again', async () => {
    const sync = await harness.seedSync({ objectOptions: { path: 'PAGE' }, pageSize: 6 })
    destination.script({ kind: 'reset' })
    const engine = await harness.startEngine()
    const runId = await harness.enqueue(sync)
    await destination.nextRequest()
    await engine.stop()
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0, intents: 1 })
    await harness.startEngine()
    expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
    const [first, again] = destination.requests
    expect(again?.keys).toEqual(first?.keys)
  })

  it('leaves a record in doubt in its intent, and hands the run back all the same', async () => {
    const sync = await harness.seedSync({ objectOptions: { ...NONE, path: 'RECORD' }, pageSize: 6 })
    const answer = createSignal()
    destination.script({ kind: 'reset', isApplied: true }, { kind: 'apply', until: answer.reached })
    const engine = await harness.startEngine()
    const runId = await harness.enqueue(sync)
    await destination.nextRequest()
    await destination.nextRequest()
    const stopped = engine.stop()
    answer.reach()
    await stopped
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0, intents: 1 })
    await harness.startEngine()
    const end = await harness.waitForEnd(runId)
    expect(end).toMatchObject({ status: 'partial', counters: { read: 6, inDoubt: 1 } })
    expect(effects()).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('stops reading, whatever the reader makes of it', async () => {
    const sync = await harness.seedSync()
    const reading = createSignal()
    const engine = await harness.startEngine(hangingSource(source, () => reading.reach()))
    await harness.enqueue(sync)
    await reading.reached
    await engine.stop()
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0 })
  })

  it('waits for a call also past the deadline of the drain, and keeps its lease and its beat meanwhile', async () => {
    const sync = await harness.seedSync({ objectOptions: { ...NONE, path: 'PAGE' }, pageSize: 6 })
    const answer = createSignal()
    destination.script({ kind: 'apply', until: answer.reached })
    const engine = await harness.startEngine({
      engine: {
        slots: 4,
        pollMs: 200,
        beatMs: 50,
        silentAfterMs: 1_000,
        schedulerMs: 50,
        drainDeadlineMs: 50,
      },
    })
    const runId = await harness.enqueue(sync)
    await destination.nextRequest()
    const stopped = engine.stop()
    await until(() => harness.logger.count('drain.late') > 0)
    const beats = await countBeats(database())
    await until(async () => (await countBeats(database())) > beats)
    expect(await harness.leases.findHolder(`lease.${sync.syncId}`)).toContain(runId)
    answer.reach()
    await stopped
    expect(await readQueued()).toMatchObject({ status: 'queued', spent: 0, intents: 0 })
    expect(effects()).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('wakes the others: they need not poll to find the run', async () => {
    const sync = await harness.seedSync({ objectOptions: { ...NONE, path: 'PAGE' }, pageSize: 2 })
    const runId = await harness.enqueue(sync)
    await stopAfterOneCall(harness, async () => {
      await harness.startEngine({ engine: { ...SLOW_POLL } })
    })
    expect(await harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a worker whose database is away', () => {
  it('gives up recording an end with the deadline of the drain, and recovery goes on', async () => {
    const test = await createTestDatabase()
    const { hostname: host, port } = new URL(test.url)
    const proxy = await startTcpProxy({ host, port: Number(port) })
    const url = Object.assign(new URL(test.url), { host: `127.0.0.1:${proxy.port}` }).href
    const proxied = await openDatabase({ at: { url }, maxConnections: 3, applicationName: 'test' })
    const destination = await startRecordingDestination()
    const source = createScriptedSource(scriptedRows(4))
    const harness = createEngineHarness({ database: await test.open(), source, destination })
    try {
      const answer = createSignal()
      destination.script({ kind: 'apply', until: answer.reached })
      const engine = await harness.startEngine({
        database: proxied,
        engine: { ...SLOW_POLL, drainDeadlineMs: 300 },
      })
      const runId = await harness.enqueue(await harness.seedSync())
      await destination.nextRequest()
      await proxy.close()
      void engine.stop()
      answer.reach()
      await until(() => harness.logger.count('attempt.broken') === 1)
      expect(harness.logger.count('drain.late')).toBe(1)
      await harness.startEngine()
      const end = await harness.waitForEnd(runId)
      expect(end).toMatchObject({ status: 'succeeded', counters: { read: 4 } })
      expect([...destination.effects.values()]).toEqual([1, 1, 1, 1])
    } finally {
      // First: what the stopped worker still asks of it is refused then.
      await proxied.close()
      await harness.close()
      await destination.close()
      await test.drop()
    }
  })
})

/** A poll that comes after the test's own deadline. */
const SLOW_POLL = {
  slots: 4,
  pollMs: 60_000,
  beatMs: 100,
  silentAfterMs: 10_000,
  schedulerMs: 50,
  drainDeadlineMs: 15_000,
}

/** Starts a worker that begins to drain when its first call was answered, and stops it. */
async function stopAfterOneCall(
  harness: EngineHarness,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const called = createSignal()
  let engine: Engine | null = null
  engine = await harness.startEngine({
    faults: async (point) => {
      if (point === 'afterSend' && engine) {
        await meanwhile()
        engine.beginDrain()
        called.reach()
      }
    },
  })
  await called.reached
  await engine.stop()
}

/** A source whose reads end only by the signal, with an error of their own. */
function hangingSource(source: ScriptedSource, onRead: () => void): Partial<EngineOptions> {
  const hanging = {
    ...source,
    open: async (request: Parameters<ScriptedSource['open']>[0]) => ({
      ...(await source.open(request)),
      readPage: ({ signal }: { readonly signal: AbortSignal }) =>
        new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('The connection was closed.')))
          onRead()
        }),
    }),
  }
  const client = createLocalClient()
  return { registry: createRegistry([hanging], [createHttpDestination({ client })]) }
}

/** Asks again with each turn of the loop, until the answer is yes. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function countBeats(database: Database): Promise<number> {
  const [row] = await database.rows<{ beats: number }>(sql`
    select beat_n as beats from worker order by started_at desc limit 1`)
  return row?.beats ?? 0
}

async function listOutcomes(database: Database, runId: string): Promise<readonly string[]> {
  const rows = await database.rows<{ outcome: string }>(sql`
    select outcome from attempt where run_id = ${runId} order by number`)
  return rows.map(({ outcome }) => outcome)
}

/** The newest run, and how many intents of its sync are open. */
async function readRunRow(database: Database) {
  const [row] = await database.rows(sql`
    select run.status, run.attempts_spent as spent, run.take_overs as "takeOvers",
           (select count(*)::int from delivery_intent where sync_id = run.sync_id) as intents
    from run order by run.id desc limit 1`)
  return row
}
