/** Deliveries in doubt from the lost answer to their settling, and sources that are read again from the beginning (I4, I16). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AlreadySettled, DeliveryInFlight, NotFound } from '../../src/commands/refusals.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { counts } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
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
import { newId, type SeededSync } from '../support/store-seed.ts'

const HOUR_MS = 3_600_000
const NONE = { deliveryClass: 'NONE', requestDeadlineMs: 1_000, concurrency: 1 }
const IN_PAGES = { pageSize: 3, objectOptions: { ...NONE, path: 'PAGE' } }
const LOST = { kind: 'reset' as const, isApplied: true }

describe.each(ENGINE_DATABASE_KINDS)('a delivery in doubt on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(6))
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
    await harness.startEngine()
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const person = (sync: SeededSync) => createPerson(database(), harness, sync)

  /** Everything that happened did so an hour earlier. */
  const passQuietTime = async ({ syncId }: SeededSync) => {
    await database().rows(sql`update delivery_intent
      set reserved_at = reserved_at - interval '1 hour', quiet_at = quiet_at - interval '1 hour'
      where sync_id = ${syncId}`)
    await database().rows(sql`update attempt set finished_at = attempt.finished_at - interval '1 hour'
      from run where run.id = attempt.run_id and run.sync_id = ${syncId}`)
  }

  /** How often each record was applied. */
  const effects = () => {
    const times = new Map<string, number>()
    for (const { record } of destination.applied) {
      const { email } = record as { email: string }
      times.set(
        email.replace('@example.com', ''),
        (times.get(email.replace('@example.com', '')) ?? 0) + 1,
      )
    }
    return Object.fromEntries(times)
  }

  const openPagesOf = async ({ syncId }: SeededSync) =>
    (await database().rows(sql`select 1 from open_page where sync_id = ${syncId}`)).length

  it('hangs after it was applied: it stays in doubt run after run, and settled as delivered it is never sent again', async () => {
    destination.script({ kind: 'hang', isApplied: true })
    const sync = await harness.seedSync(IN_PAGES)
    expect(await harness.run(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 6, written: 3, inDoubt: 3 }),
    })
    const requests = destination.requests.length
    for (let n = 0; n < 3; n += 1) {
      expect(await harness.run(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 3, inDoubt: 3 }),
      })
    }
    const doubts = await person(sync).listDoubts()
    expect(doubts.map(({ position }) => position)).toEqual([0, 1, 2])
    const intentId = doubts[0]?.intentId ?? ''
    await passQuietTime(sync)
    const settlement = 'delivered' as const
    for (const position of [1, null]) {
      expect(await person(sync).settle({ intentId, position, settlement })).toMatchObject({
        status: 'done',
        settled: position === null ? 2 : 1,
      })
    }
    expect(await person(sync).listDoubts()).toEqual([])
    expect(await harness.run(sync)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, replayed: 3 }),
    })
    expect(destination.requests.length).toBe(requests)
    expect(effects()).toEqual({ r0: 1, r1: 1, r2: 1, r3: 1, r4: 1, r5: 1 })
    expect(await openPagesOf(sync)).toBe(0)
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: NO_COUNTS })
  })

  it('settled as to be sent again is sent exactly once more, and the others are not', async () => {
    destination.script({ kind: 'reset', isApplied: false })
    const sync = await harness.seedSync(IN_PAGES)
    await harness.run(sync)
    await passQuietTime(sync)
    const [first] = await person(sync).listDoubts()
    const intentId = first?.intentId ?? ''
    await person(sync).settle({ intentId, position: 1, settlement: 'send_again' })
    const requests = destination.requests.length
    expect(await harness.run(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 3, written: 1, inDoubt: 2 }),
    })
    expect(destination.requests.length).toBe(requests + 1)
    expect(effects()).toEqual({ r1: 1, r3: 1, r4: 1, r5: 1 })
    await person(sync).settle({ intentId, position: null, settlement: 'send_again' })
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
    expect(effects()).toEqual({ r0: 1, r1: 1, r2: 1, r3: 1, r4: 1, r5: 1 })
    expect(await openPagesOf(sync)).toBe(0)
  })

  it('is settled by nobody before its quiet time has passed, and a run sends nothing of it meanwhile', async () => {
    destination.script(LOST)
    const objectOptions = { ...IN_PAGES.objectOptions, settlingMs: HOUR_MS }
    const sync = await harness.seedSync({ ...IN_PAGES, objectOptions })
    await harness.run(sync)
    const requests = destination.requests.length
    const again = await harness.run(sync)
    expect(again.counters).toEqual(counts({ read: 3, inDoubt: 3 }))
    expect(destination.requests.length).toBe(requests)
    const [doubt] = await person(sync).listDoubts()
    const given = { intentId: doubt?.intentId ?? '', position: 0 }
    for (const settlement of ['delivered', 'send_again'] as const) {
      const refusal = await person(sync)
        .settle({ ...given, settlement })
        .catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(DeliveryInFlight)
      const { settleableAt } = refusal as DeliveryInFlight
      expect(settleableAt).toEqual(doubt?.settleableAt)
      expect(settleableAt.getTime()).toBeGreaterThan(Date.now() + HOUR_MS / 2)
    }
    await passQuietTime(sync)
    await passQuietTime(sync)
    const settled = await person(sync).settle({ ...given, settlement: 'delivered' })
    expect(settled).toMatchObject({ status: 'done' })
  })

  it('can be settled again without effect, but not as the opposite, and not what never was', async () => {
    destination.script(LOST)
    const sync = await harness.seedSync(IN_PAGES)
    await harness.run(sync)
    await passQuietTime(sync)
    const [doubt] = await person(sync).listDoubts()
    const intentId = doubt?.intentId ?? ''
    const { settle } = person(sync)
    const parallel = await Promise.all(
      Array.from({ length: 5 }, () => settle({ intentId, position: 0, settlement: 'delivered' })),
    )
    expect(parallel.map(({ status }) => status).sort()).toEqual([
      'done',
      'noop',
      'noop',
      'noop',
      'noop',
    ])
    await expect(
      settle({ intentId, position: 0, settlement: 'send_again' }),
    ).rejects.toBeInstanceOf(AlreadySettled)
    await expect(
      settle({ intentId: newId(), position: 0, settlement: 'delivered' }),
    ).rejects.toBeInstanceOf(NotFound)
    await expect(settle({ intentId, position: 7, settlement: 'delivered' })).rejects.toThrow(
      /position/,
    )
    const audited = await database().rows(sql`select count(*)::int as entries from audit_entry
      where subject_id = ${intentId} and action = 'settleDelivery'`)
    expect(audited).toEqual([{ entries: 1 }])
  })

  it('settled as delivered keeps an older held record of its identity from overwriting it', async () => {
    source.rows.clear()
    const fields = (note: string) => ({ email: 'a@example.com', note })
    source.put({ ...scriptedRow('old', 0), fields: fields('old') })
    source.put({ ...scriptedRow('new', 1), fields: fields('new') })
    const objectOptions = { ...NONE, path: 'PAGE', identityField: 'email' }
    const sync = await harness.seedSync({ pageSize: 1, objectOptions })
    destination.script({ kind: 'results', of: () => ({ status: 'rejected', reason: 'no' }) }, LOST)
    await harness.run(sync)
    await passQuietTime(sync)
    const [doubt] = await person(sync).listDoubts()
    const intentId = doubt?.intentId ?? ''
    await person(sync).settle({ intentId, position: null, settlement: 'delivered' })
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded' })
    expect(destination.applied.map(({ record }) => (record as { note: string }).note)).toEqual([
      'new',
    ])
  })

  it('survives a reset: settled as delivered it is replayed', async () => {
    destination.script(LOST)
    const sync = await harness.seedSync(IN_PAGES)
    await harness.run(sync)
    await person(sync).reset()
    const requests = destination.requests.length
    for (let n = 0; n < 2; n += 1) {
      expect(await harness.run(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: n === 0 ? 6 : 3, replayed: n === 0 ? 3 : 0, inDoubt: 3 }),
      })
    }
    await passQuietTime(sync)
    const [doubt] = await person(sync).listDoubts()
    const intentId = doubt?.intentId ?? ''
    await person(sync).settle({ intentId, position: null, settlement: 'delivered' })
    expect(await harness.run(sync)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, replayed: 3 }),
    })
    expect(destination.requests.length).toBe(requests)
    expect(await openPagesOf(sync)).toBe(0)
  })

  it('survives a reset: nothing of its identity is sent, whatever became of its row and its page', async () => {
    destination.script(LOST)
    const sync = await harness.seedSync(IN_PAGES)
    await harness.run(sync)
    source.put(scriptedRow('r1', 9, 'changed'))
    source.rows.delete('r2')
    source.put(scriptedRow('r-1', -0.5, 'in front'))
    await person(sync).reset()
    const other = await republish(database(), sync, { pageSize: 2 })
    for (let n = 0; n < 3; n += 1) {
      const run = await harness.run(other)
      expect(run.status).toBe('partial')
      expect(run.counters.inDoubt).toBeGreaterThanOrEqual(2)
    }
    expect(effects()).toMatchObject({ 'r-1': 1, r0: 1, r1: 1, r2: 1 })
    await passQuietTime(sync)
    const [doubt] = await person(sync).listDoubts()
    const intentId = doubt?.intentId ?? ''
    await person(sync).settle({ intentId, position: null, settlement: 'send_again' })
    expect(await harness.run(other)).toMatchObject({ status: 'succeeded' })
    expect(effects()).toMatchObject({ 'r-1': 1, r0: 2, r1: 2, r2: 1 })
    expect(await openPagesOf(sync)).toBe(0)
  })
})

describe.each(ENGINE_DATABASE_KINDS)('a source that is read again on %s', (kind) => {
  const database = useDatabase(kind)

  it('from its beginning is replayed from the ledger: nothing is sent twice, held records are tried again', async () => {
    const source = createScriptedSource(scriptedRows(20))
    const destination = await startRecordingDestination({ honoursKeys: false })
    const harness = createEngineHarness({ database: database(), source, destination })
    try {
      await harness.startEngine()
      const sync = await harness.seedSync({ pageSize: 6, objectOptions: { path: 'PAGE' } })
      const person = createPerson(database(), harness, sync)
      const isBad = (record: unknown) => (record as { email: string }).email.startsWith('r7@')
      destination.always({
        kind: 'results',
        of: (_, record) => ({ status: isBad(record) ? 'rejected' : 'written', reason: 'no' }),
      })
      expect(await harness.run(sync)).toMatchObject({ status: 'partial' })
      destination.always({ kind: 'apply' })
      expect(await person.reset()).toMatchObject({ status: 'done' })
      const requests = destination.requests.length
      expect(await harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 20, replayed: 19, written: 1 }),
      })
      expect(destination.requests.slice(requests).flatMap(({ keys }) => keys)).toHaveLength(1)
      expect(await person.reset()).toMatchObject({ status: 'done' })
      expect(await harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 20, replayed: 20 }),
      })
      expect(destination.requests.length).toBe(requests + 1)
      expect([...destination.effects.values()]).toEqual(Array(20).fill(1))
      expect(await person.reset()).toMatchObject({ status: 'done' })
      expect(await person.reset()).toMatchObject({ status: 'noop' })
    } finally {
      await harness.close()
      await destination.close()
    }
  })
})
