/**
 * Records that were set aside and are brought back: sent by the next run under their own keys, and written and
 * counted once wherever it breaks (I4, I8).
 */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { AlreadyRunning, SyncPaused } from '../../src/commands/refusals.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createSealer } from '../../src/runtime/seal.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  breaksWhenever,
  type Contact,
  counts,
  leftOf,
  notesOf,
  timesSent,
} from '../support/deliveries.ts'
import { republish } from '../support/engine-harness.ts'
import { ASIDE, NEVER, NONE, POINTS, useQuarantineStage } from '../support/quarantine-stage.ts'
import { scriptedRow } from '../support/scripted-source.ts'
import { newId } from '../support/store-seed.ts'

describe.each(ENGINE_DATABASE_KINDS)('a record that is brought back, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)

  /** Every key that was sent for a contact. */
  const keysOf = (email: string) =>
    stage().destination.requests.flatMap(({ body, keys }) => {
      const { records } = JSON.parse(body) as { records: readonly { record: Contact }[] }
      return keys.filter((_, index) => records[index]?.record.email === email)
    })

  it('is sent by the run that is queued for it, under the key that it had, and delivered', async () => {
    const { harness, destination } = stage()
    await stage().start()
    const sync = await stage().setAside(['a', 'b', 'c', 'd'], ['b'])
    const { runId, ...answer } = await stage().person(sync).redrive()
    expect(answer).toMatchObject({ status: 'started', redriven: 1, items: [] })
    expect(await harness.waitForEnd(runId ?? '')).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 1, written: 1 }),
    })
    expect(await stage().person(sync).listRejected()).toMatchObject([
      { state: 'delivered', runs: 1, isKept: false, endedAt: expect.any(Date) },
    ])
    expect(notesOf(destination, 'b')).toEqual(['b'])
    expect(keysOf('b')).toHaveLength(2)
    expect(new Set(keysOf('b')).size).toBe(1)
    const cause = await database().rows(sql`select cause from run where id = ${runId}`)
    expect(cause).toEqual([{ cause: 'redrive' }])
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: counts({}) })
  })

  it('is written again where something else was sent in its place since, and not answered', async () => {
    await stage().start()
    const sync = await stage().setAside(['x'], ['x'])
    stage().faults = breaksWhenever('beforeCheckpoint')
    await stage().redrive(sync)
    const note = { $template: '{{note}}, too' }
    const second = await republish(database(), sync, { mapping: { ...sync.config.mapping, note } })
    stage().faults = breaksWhenever('afterSend')
    await stage().harness.run(second, { attemptAllowance: 1 })
    stage().faults = NEVER
    await stage().passQuietTime(sync)
    const { mapping } = sync.config
    await stage().harness.run(await republish(database(), second, { mapping }))
    const notes = notesOf(stage().destination, 'x')
    expect([new Set(notes), notes.at(-1)]).toEqual([new Set(['x', 'x, too']), 'x'])
    expect(await stage().states(sync)).toEqual(['delivered'])
  })

  it('is not written again when its page is read again from the beginning: the ledger knows its key', async () => {
    const { harness, destination } = stage()
    await stage().start()
    const sync = await stage().setAside(['a', 'b', 'c'], ['b'])
    await stage().redrive(sync)
    await stage().person(sync).reset()
    expect(await harness.run(sync)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, replayed: 3 }),
    })
    expect(notesOf(destination, 'b')).toEqual(['b'])
  })

  it('is set aside again when it is rejected again', async () => {
    await stage().start()
    const sync = await stage().setAside(['a', 'b'], ['b'])
    stage().rejectNotes('b')
    for (const runs of [2, 3]) {
      const run = await stage().redrive(sync)
      expect(run).toMatchObject({
        status: 'partial',
        counters: counts({ read: 1, quarantined: 1 }),
      })
      expect(await stage().person(sync).listRejected()).toMatchObject([
        { state: 'quarantined', runs, isKept: true, lastRunId: run.runId },
      ])
    }
    expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
  })

  it('is mapped as the version says that is published by then', async () => {
    await stage().start()
    const sync = await stage().setAside(['a', 'b'], ['b'])
    const mapping = { email: { $path: 'email' }, note: { $path: 'spare' } }
    const other = await republish(database(), sync, { mapping })
    stage().rejectNotes('b')
    expect(await stage().redrive(other)).toMatchObject({ status: 'succeeded' })
    expect(notesOf(stage().destination, 'b')).toEqual(['spare'])
  })

  it('is not sent by its own page, where that is still open', async () => {
    const { harness, destination } = stage()
    await stage().start()
    stage().put(0, 'a', 'a')
    stage().put(1, 'b', 'b')
    const sync = await harness.seedSync({ ...ASIDE, objectOptions: NONE })
    const isBad = (record: unknown) => (record as Contact).note === 'a'
    const rejected = { status: 'rejected', reason: 'no' }
    // The answer for the other record of the page is lost, so that it stays open.
    destination.script({ kind: 'results', of: (_, record) => (isBad(record) ? rejected : null) })
    await harness.run(sync)
    expect(await stage().states(sync)).toEqual(['quarantined'])
    expect(await stage().redrive(sync)).toMatchObject({
      status: 'partial',
      counters: counts({ read: 3, written: 1, inDoubt: 1, skipped: 1 }),
    })
    expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, inDoubt: 1, skipped: 1 }))
    expect(notesOf(destination, 'a')).toEqual(['a'])
  })

  describe.each(['PAGE', 'RECORD'])('wherever the attempt breaks (path %s)', (path) => {
    const keeper = useQuarantineStage(database, { honoursKeys: true })

    it.each(POINTS)(
      '%s: is written once and counted once, where keys are honoured',
      async (point) => {
        await keeper().start()
        const sync = await keeper().setAside(['a', 'b', 'c'], ['a', 'b'], {
          objectOptions: { path },
        })
        keeper().faults = breaksAt(point)
        expect(await keeper().redrive(sync)).toMatchObject({
          status: 'succeeded',
          counters: { read: 2, rejected: 0, inDoubt: 0, quarantined: 0, skipped: 0 },
        })
        expect(await keeper().states(sync)).toEqual(['delivered', 'delivered'])
        expect([...keeper().destination.effects.values()]).toEqual([1, 1, 1])
        expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
      },
    )

    it.each(POINTS)('%s: is never written twice where they are not', async (point) => {
      const { harness, destination } = stage()
      await stage().start()
      const objectOptions = { ...NONE, path }
      const sync = await stage().setAside(['a', 'b', 'c'], ['b'], { objectOptions })
      stage().faults = breaksAt(point)
      const run = await stage().redrive(sync)
      const isUnknown = point === 'afterReserve' || point === 'afterSend'
      const [state, status, inDoubt] = isUnknown
        ? ['redriving', 'partial', 1]
        : ['delivered', 'succeeded', 0]
      expect(run.counters).toMatchObject({ read: 1, inDoubt })
      expect(await stage().states(sync)).toEqual([state])
      const counters = counts({ read: inDoubt, inDoubt })
      expect(await harness.run(sync)).toMatchObject({ status, counters })
      expect(timesSent(destination, 'b')).toBe(point === 'afterReserve' ? 1 : 2)
      expect(Math.max(...destination.effects.values())).toBe(1)
    })

    it('is set aside again, with one more run, where it is rejected', async () => {
      await stage().start()
      const sync = await stage().setAside(['a', 'b', 'c'], ['b'], { objectOptions: { path } })
      stage().rejectNotes('b')
      for (const [index, point] of POINTS.entries()) {
        stage().faults = breaksAt(point)
        expect(await stage().redrive(sync)).toMatchObject({
          status: 'partial',
          counters: counts({ read: 1, quarantined: 1 }),
        })
        const entry = { state: 'quarantined', runs: index + 2 }
        expect(await stage().person(sync).listRejected()).toMatchObject([entry])
        expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
      }
    })
  })

  describe('and cannot be sent', () => {
    it('because its sync reads another stream, is set aside again', async () => {
      await stage().start()
      const sync = await stage().setAside(['a', 'b'], ['b'])
      const other = await republish(database(), sync, { stream: 'others' })
      expect(await stage().redrive(other)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 1, quarantined: 1 }),
      })
      expect(await stage().person(sync).listRejected()).toMatchObject([
        { state: 'quarantined', reason: expect.stringContaining('stream') },
      ])
      expect(timesSent(stage().destination, 'b')).toBe(1)
    })

    it('because the key is another one now, is set aside again, and the run goes on', async () => {
      const engine = await stage().start()
      const sync = await stage().setAside(['a', 'b'], ['b'])
      await engine.stop()
      await stage().start({ sealer: createSealer(Buffer.alloc(32, 9), systemRandom) })
      stage().put(2, 'c', 'c')
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 2, written: 1, quarantined: 1 }),
      })
      expect(await stage().person(sync).listRejected()).toMatchObject([
        { state: 'quarantined', reason: expect.stringContaining('another key') },
      ])
    })

    it('because its row could not be read, stays where it is', async () => {
      await stage().start()
      stage().source.put({ ...scriptedRow('a', 0), problem: 'line 2 has 1 column' })
      const sync = await stage().harness.seedSync(ASIDE)
      await stage().harness.run(sync)
      const [entry] = await stage().person(sync).listRejected()
      expect(
        await stage()
          .person(sync)
          .redrive([entry?.id ?? '']),
      ).toMatchObject({
        status: 'noop',
        items: [{ recordId: entry?.id, status: 'not_kept' }],
      })
    })
  })

  describe('and what people may ask for', () => {
    it('is answered item by item; of twenty who ask at once one starts the run, and all learn its id', async () => {
      const engine = await stage().start()
      const sync = await stage().setAside(['a', 'b'], ['a'])
      await engine.stop()
      const [entry] = await stage().person(sync).listRejected()
      const wanted = [entry?.id ?? '', newId()]
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => stage().person(sync).redrive(wanted)),
      )
      expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1)
      expect(answers.map(({ status }) => status).sort()).toEqual([
        ...Array(19).fill('noop'),
        'started',
      ])
      const started = answers.find(({ status }) => status === 'started')
      expect(started?.items).toEqual([
        { recordId: wanted[0], status: 'started' },
        { recordId: wanted[1], status: 'not_found' },
      ])
      const audits = await database().rows(sql`select after from audit_entry
        where subject_id = ${sync.syncId} and action = 'redriveRecords'`)
      const after = { runId: started?.runId, redriven: 1, recordIds: [wanted[0]] }
      expect(audits).toEqual([{ after }])
    })

    it('is refused while a run is in flight, and while the sync is paused', async () => {
      const engine = await stage().start()
      const sync = await stage().setAside(['a', 'b', 'c'], ['a', 'b'])
      await engine.stop()
      const runId = await stage().harness.enqueue(sync)
      const refusal = await stage()
        .person(sync)
        .redrive()
        .catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(AlreadyRunning)
      expect(refusal).toMatchObject({ runId })
      const [entry] = await stage().person(sync).listRejected()
      const discarding = stage()
        .person(sync)
        .discard([entry?.id ?? ''])
      await expect(discarding).rejects.toBeInstanceOf(AlreadyRunning)
      await stage().person(sync).cancel(runId)
      await stage().person(sync).pause()
      await expect(stage().person(sync).redrive()).rejects.toBeInstanceOf(SyncPaused)
      expect(await stage().states(sync)).toEqual(['quarantined', 'quarantined'])
    })

    it('is bringing back again what a run did not get to', async () => {
      const engine = await stage().start()
      const sync = await stage().setAside(['a', 'b'], ['b'])
      await engine.stop()
      const { runId } = await stage().person(sync).redrive()
      await stage()
        .person(sync)
        .cancel(runId ?? '')
      expect(await stage().states(sync)).toEqual(['redriving'])
      await stage().start()
      expect(await stage().redrive(sync)).toMatchObject({ status: 'succeeded' })
      expect(notesOf(stage().destination, 'b')).toEqual(['b'])
    })

    it('is discarding: what is discarded is never sent, and nothing of it is kept', async () => {
      await stage().start()
      const sync = await stage().setAside(['a', 'b', 'c'], ['a', 'b'])
      const person = stage().person(sync)
      const [first] = await person.listRejected()
      const ids = [first?.id ?? '']
      const gone = newId()
      expect(await person.discard([...ids, gone])).toMatchObject({
        status: 'done',
        discarded: 1,
        items: [
          { recordId: first?.id, status: 'done' },
          { recordId: gone, status: 'not_found' },
        ],
      })
      expect(await person.discard(ids)).toMatchObject({ status: 'noop', discarded: 0 })
      const items = [{ status: 'noop' }]
      expect(await person.redrive(ids)).toMatchObject({ status: 'noop', items })
      await stage().redrive(sync)
      expect(await person.listRejected()).toMatchObject([
        { state: 'discarded', isKept: false },
        { state: 'delivered', isKept: false },
      ])
      expect(timesSent(stage().destination, 'a')).toBe(1)
      const audits = await database().rows(sql`select reason, after from audit_entry
        where subject_id = ${sync.syncId} and action = 'discardRecords'`)
      const after = { discarded: 1, recordIds: ids }
      expect(audits).toEqual([{ reason: 'Nobody needs it.', after }])
    })
  })
})
