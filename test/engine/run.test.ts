/** Runs from claim to end on both databases, against a scripted source and a recording destination; order is kept (I11). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { type Contact, counts, REFUSED, rejecting } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
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

/** Applied writes in all, and keys that were applied more than once. */
function tally(destination: RecordingDestination) {
  const effects = [...destination.effects.values()]
  return {
    writes: effects.reduce((sum, n) => sum + n, 0),
    doubled: effects.filter((n) => n > 1).length,
  }
}

/** The last record that was applied for each e-mail. */
function contacts(destination: RecordingDestination): Map<string, unknown> {
  return new Map(
    [...destination.records.values()].map((record) => {
      const { email, note } = record as Contact
      return [email, note]
    }),
  )
}

const PAGE_PATH = { objectOptions: { path: 'PAGE' } }
const isEmail =
  (id: string) =>
  ({ email }: Contact) =>
    email === `${id}@example.com`

describe.each(DATABASE_KINDS)('a run on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const fill = (count: number) => {
    for (const row of scriptedRows(count)) {
      source.put(row)
    }
  }
  const cursorsOf = async (syncId: string) => {
    const [row] = await database().rows(
      sql`select reached, saved_cursor as saved from sync_fence where sync_id = ${syncId}`,
    )
    return row
  }

  it.each([
    ['a call a record', {}],
    ['a call a page', PAGE_PATH],
  ])('delivers every record once, page by page, with %s', async (_, options) => {
    fill(25)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 10, ...options })
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 25, written: 25 }) })
    expect(tally(destination)).toEqual({ writes: 25, doubled: 0 })
    expect(await cursorsOf(sync.syncId)).toEqual({ reached: '24', saved: '24' })
  })

  it('succeeds with nothing read when the source has nothing new', async () => {
    fill(3)
    await harness.startEngine()
    const sync = await harness.seedSync()
    await harness.run(sync)
    const again = await harness.run(sync)
    expect(again).toMatchObject({ status: 'succeeded', counters: NO_COUNTS })
    expect(tally(destination).writes).toBe(3)
  })

  it('holds a rejected record, goes on with the later pages, and tries it again in the next run', async () => {
    fill(9)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 3, ...PAGE_PATH })
    destination.decide(rejecting(isEmail('r4')))
    const first = await harness.run(sync)
    expect(first, JSON.stringify(first)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 9, written: 8, rejected: 1 }),
    })
    expect(await cursorsOf(sync.syncId)).toEqual({ reached: '8', saved: '2' })
    const requests = destination.requests.length

    const second = await harness.run(sync)
    expect(second.counters).toEqual(counts({ read: 3, replayed: 2, rejected: 1 }))
    expect(second.status).toBe('partial')
    expect(destination.requests.slice(requests).flatMap((request) => request.keys)).toHaveLength(1)

    destination.always({ kind: 'apply' })
    const third = await harness.run(sync)
    expect(third).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, written: 1, replayed: 2 }),
    })
    expect(await cursorsOf(sync.syncId)).toEqual({ reached: '8', saved: '8' })
    expect(tally(destination)).toEqual({ writes: 9, doubled: 0 })
  })

  it('sends only what was not delivered after rows moved, vanished and another page size was set', async () => {
    fill(10)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 5, ...PAGE_PATH })
    destination.decide(rejecting(isEmail('r2')))
    await harness.run(sync)
    // Of the first page one row is changed and so moves to the end, and one is deleted.
    source.put(scriptedRow('r1', 11, 'changed'))
    source.rows.delete('r3')
    destination.always({ kind: 'apply' })
    const other = await republish(database(), sync, { pageSize: 3 })
    const run = await harness.run(other)
    // Re-read: r0 and r4 replayed, r2 written, the two that left replayed; onward: r1 as changed.
    expect(run).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 6, written: 2, replayed: 4 }),
    })
    expect(tally(destination)).toEqual({ writes: 11, doubled: 0 })
    expect(contacts(destination).get('r1@example.com')).toBe('changed')
  })

  it('never overwrites a newer record with an older one of its identity that was held', async () => {
    source.put({ ...scriptedRow('old', 0, 'old'), fields: { email: 'a@example.com', note: 'old' } })
    source.put({ ...scriptedRow('new', 1, 'new'), fields: { email: 'a@example.com', note: 'new' } })
    await harness.startEngine()
    const options = { objectOptions: { path: 'PAGE', identityField: 'email' } }
    const sync = await harness.seedSync({ pageSize: 1, ...options })
    destination.decide(rejecting(({ note }) => note === 'old'))
    const first = await harness.run(sync)
    expect(first.counters).toEqual(counts({ read: 2, written: 1, rejected: 1 }))
    destination.always({ kind: 'apply' })
    const second = await harness.run(sync)
    expect(second).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 1, skipped: 1 }),
    })
    expect(contacts(destination).get('a@example.com')).toBe('new')
  })

  it('keeps the order of records of one identity within a page, one call after the other', async () => {
    for (const [rank, note] of ['first', 'second', 'third'].entries()) {
      source.put({
        ...scriptedRow(`x${rank}`, rank),
        fields: { email: 'a@example.com', note },
      })
    }
    await harness.startEngine()
    const options = { objectOptions: { identityField: 'email' } }
    await harness.run(await harness.seedSync(options))
    const notes = destination.requests.map((request) => JSON.parse(request.body).note)
    expect(notes).toEqual(['first', 'second', 'third'])
  })

  it('sends an unknown outcome again with the same key, and records it once', async () => {
    fill(2)
    await harness.startEngine()
    destination.script({ kind: 'reset', isApplied: false })
    const run = await harness.run(await harness.seedSync(PAGE_PATH))
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 2, written: 2 }) })
    const [first, second] = destination.requests
    expect(second?.keys).toEqual(first?.keys)
  })

  it('leaves an unknown outcome in doubt where sending again would write twice, and sends that identity nothing more', async () => {
    fill(2)
    await harness.startEngine()
    destination.script({ kind: 'reset', isApplied: true })
    const sync = await harness.seedSync({
      objectOptions: { deliveryClass: 'NONE', concurrency: 1 },
    })
    const first = await harness.run(sync)
    expect(first, JSON.stringify(first)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 2, written: 1, inDoubt: 1 }),
    })
    source.put(scriptedRow('r0', 5, 'changed'))
    const second = await harness.run(sync)
    expect(second.status).toBe('partial')
    expect(second.counters.inDoubt).toBe(2)
    expect(second.counters.written).toBe(0)
    expect(tally(destination)).toEqual({ writes: 2, doubled: 0 })
  })

  it('splits a refused page until the guilty record is alone, and writes all the others', async () => {
    fill(64)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 64, ...PAGE_PATH })
    const guilty = 'r37@example.com'
    destination.decide((request) => (request.body.includes(guilty) ? REFUSED : { kind: 'apply' }))
    const run = await harness.run(sync)
    expect(run).toMatchObject({
      status: 'partial',
      counters: counts({ read: 64, written: 63, rejected: 1 }),
    })
    expect(tally(destination)).toEqual({ writes: 63, doubled: 0 })
    // 6 halvings and the call for what was set aside, after the refused one.
    expect(destination.requests.length).toBeLessThanOrEqual(8)
    const held = await database().rows(sql`select position, reason from held_record
      where sync_id = ${sync.syncId}`)
    expect(held).toEqual([{ position: 37, reason: expect.stringContaining('bad record') }])
  })

  it('fails with destination_rejected when every record it sent for the first time was rejected', async () => {
    fill(3)
    await harness.startEngine()
    destination.decide(rejecting(() => true))
    const run = await harness.run(await harness.seedSync(PAGE_PATH))
    expect(run).toMatchObject({
      status: 'failed',
      failureCode: 'destination_rejected',
      counters: counts({ read: 3, rejected: 3 }),
    })
  })

  it('rejects a broken row by itself, or ends the run with its place, as the sync says', async () => {
    fill(3)
    source.put({ ...scriptedRow('r1', 1), problem: 'line 3: has 2 columns, the header has 4' })
    await harness.startEngine()
    const lenient = await harness.run(await harness.seedSync())
    expect(lenient).toMatchObject({
      status: 'partial',
      counters: counts({ read: 3, written: 2, rejected: 1 }),
    })
    const strict = await harness.run(await harness.seedSync({ onBrokenRecord: 'FAIL' }), {
      attemptAllowance: 1,
    })
    expect(strict).toMatchObject({
      status: 'failed',
      failureCode: 'node_failed',
      failureDetail: 'line 3: has 2 columns, the header has 4',
    })
  })

  it('tries another attempt after a failure that may pass, and keeps what was delivered', async () => {
    fill(6)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 3, ...PAGE_PATH })
    const unavailable = { kind: 'answer' as const, status: 503, body: '{"error":"maintenance"}' }
    destination.script({ kind: 'apply' }, unavailable, unavailable, unavailable, unavailable)
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'succeeded', counters: counts({ read: 6, written: 6 }) })
    const attempts = await database().rows(sql`select number, outcome, failure_code as code
      from attempt where run_id = ${run.runId} order by number`)
    expect(attempts).toEqual([
      { number: 1, outcome: 'postponed', code: 'provider_unavailable' },
      { number: 2, outcome: 'completed', code: null },
    ])
    expect(tally(destination)).toEqual({ writes: 6, doubled: 0 })
  })

  it('ends at once, without another attempt, when the access is refused', async () => {
    fill(1)
    await harness.startEngine()
    destination.always({ kind: 'answer', status: 401, body: '{"error":"no"}' })
    const run = await harness.run(await harness.seedSync())
    expect(run).toMatchObject({ status: 'failed', failureCode: 'connection_unauthorized' })
    expect(destination.requests).toHaveLength(1)
  })

  it('never takes a read that did not finish for the end of the source', async () => {
    fill(6)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 3 })
    source.failWith(new ConnectorError('provider_unavailable', 'The source did not answer.'))
    const run = await harness.run(sync, { attemptAllowance: 1 })
    expect(run).toMatchObject({
      status: 'failed',
      failureCode: 'provider_unavailable',
      failureDetail: 'The source did not answer.',
    })
    source.failWith(null)
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
  })

  it('closes an open page whose range is gone, and starts over where the source does', async () => {
    fill(4)
    await harness.startEngine()
    const sync = await harness.seedSync({ pageSize: 2, ...PAGE_PATH })
    destination.decide(rejecting(isEmail('r1')))
    await harness.run(sync)
    source.forgetRanges()
    destination.always({ kind: 'apply' })
    const run = await harness.run(sync)
    expect(run).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, replayed: 1, skipped: 1 }),
    })
  })

  it('ends a run whose version is no longer the published one, without sending anything', async () => {
    fill(1)
    const sync = await harness.seedSync()
    const runId = await harness.enqueue(sync)
    await republish(database(), sync, { pageSize: 7 })
    await harness.startEngine()
    const run = await harness.waitForEnd(runId)
    expect(run).toMatchObject({
      status: 'failed',
      failureCode: 'attestation_publication_not_attested',
    })
    expect(destination.requests).toEqual([])
  })

  it('stops at the next checkpoint when its sync is paused, and leaves the sync paused', async () => {
    fill(50)
    const sync = await harness.seedSync({ pageSize: 5, ...PAGE_PATH })
    let checkpoints = 0
    await harness.startEngine({
      faults: async (point) => {
        if (point === 'beforeCheckpoint' && ++checkpoints === 2) {
          await database().rows(sql`update sync set status = 'pausing', pause_cause = 'person'
            where id = ${sync.syncId}`)
        }
      },
    })
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'failed', failureCode: 'attestation_rule_not_active' })
    expect(run.counters.written).toBe(10)
    const [row] = await database().rows(sql`select status from sync where id = ${sync.syncId}`)
    expect(row).toEqual({ status: 'paused' })
    const requests = destination.requests.length
    // The page that was on its way when the pause was seen is delivered, and nothing after it.
    expect(requests).toBeLessThanOrEqual(3)
  })

  it('hands a run back when its worker stops, and another worker goes on where it was', async () => {
    fill(40)
    const sync = await harness.seedSync({ pageSize: 4, ...PAGE_PATH })
    const isUnderWay = createSignal()
    let checkpoints = 0
    const engine = await harness.startEngine({
      faults: (point) => {
        if (point === 'afterCheckpoint' && ++checkpoints === 3) {
          isUnderWay.reach()
        }
      },
    })
    const runId = await harness.enqueue(sync)
    await isUnderWay.reached
    await engine.stop()
    await harness.startEngine()
    const run = await harness.waitForEnd(runId)
    expect(run.status).toBe('succeeded')
    expect(run.counters.read).toBe(40)
    expect(tally(destination)).toEqual({ writes: 40, doubled: 0 })
    const [row] = await database().rows(
      sql`select attempts_spent as spent from run where id = ${runId}`,
    )
    expect(row).toEqual({ spent: 0 })
  })
})
