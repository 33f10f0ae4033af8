/**
 * Records that are brought back among others of their identity: never over something newer (I11), never while
 * their identity is in doubt (I16), whatever is rejected and wherever attempts break.
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  type Contact,
  counts,
  hurriedClock,
  leftOf,
  notesOf,
} from '../support/deliveries.ts'
import { ENGINE_SETTINGS, republish } from '../support/engine-harness.ts'
import {
  ASIDE,
  BY_EMAIL,
  NEVER,
  NONE,
  POINTS,
  type QuarantineStage,
  useQuarantineStage,
} from '../support/quarantine-stage.ts'
import type { SeededSync } from '../support/store-seed.ts'

const LOST = { kind: 'reset', isApplied: true } as const
/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 25, embedded: 8 } as const satisfies Record<DatabaseKind, number>

describe.each(ENGINE_DATABASE_KINDS)('a record brought back among others, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)

  describe('and whose answer is lost', () => {
    const leaveDoubt = async () => {
      await stage().start()
      const sync = await stage().setAside(['a', 'b', 'c'], ['b'], { objectOptions: NONE })
      stage().destination.script(LOST)
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 1, inDoubt: 1 }),
      })
      const [doubt] = await stage().person(sync).listDoubts()
      expect(doubt).toMatchObject({ position: 1 })
      await stage().passQuietTime(sync)
      return { sync, intentId: doubt?.intentId ?? '' }
    }

    it('is over once it is settled as delivered', async () => {
      const { sync, intentId } = await leaveDoubt()
      await stage().person(sync).settle({ intentId, position: 1, settlement: 'delivered' })
      expect(await stage().states(sync)).toEqual(['delivered'])
      expect(await stage().harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({}),
      })
      expect(notesOf(stage().destination, 'b')).toEqual(['b'])
      expect(await leftOf(database(), sync.syncId)).toMatchObject({ intents: 0 })
    })

    it('is sent once more when it is settled as to be sent again', async () => {
      const { sync, intentId } = await leaveDoubt()
      await stage().person(sync).settle({ intentId, position: null, settlement: 'send_again' })
      expect(await stage().harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 1, written: 1 }),
      })
      expect(await stage().states(sync)).toEqual(['delivered'])
      expect(notesOf(stage().destination, 'b')).toEqual(['b', 'b'])
    })

    it('cannot be discarded: it may have been written', async () => {
      const { sync, intentId } = await leaveDoubt()
      const person = stage().person(sync)
      const ids = (await person.listRejected()).map(({ id }) => id)
      const items = [{ status: 'in_doubt' }]
      expect(await person.discard(ids)).toMatchObject({ status: 'noop', discarded: 0, items })
      await person.settle({ intentId, position: null, settlement: 'send_again' })
      expect(await person.discard(ids)).toMatchObject({ status: 'done', discarded: 1 })
      expect(await stage().harness.run(sync)).toMatchObject({ counters: counts({}) })
    })

    it('stays in doubt when the cursor is reset: nothing of its identity is sent', async () => {
      const { sync } = await leaveDoubt()
      await stage().person(sync).reset()
      stage().put(1, 'b', 'changed')
      for (let runs = 0; runs < 2; runs += 1) {
        expect(await stage().harness.run(sync)).toMatchObject({ status: 'partial' })
      }
      expect(notesOf(stage().destination, 'b')).toEqual(['b'])
      expect(await stage().person(sync).listDoubts()).toHaveLength(1)
      expect(await stage().states(sync)).toEqual([])
    })

    it('settled as delivered overtakes an older one that is set aside', async () => {
      await stage().start()
      stage().put(0, 'x', 'old')
      stage().put(1, 'x', 'new')
      const given = { ...ASIDE, pageSize: 1, objectOptions: NONE }
      const sync = await stage().harness.seedSync(given)
      stage().rejectNotes('old', 'new')
      await stage().harness.run(sync)
      stage().rejectNotes()
      const [, newer] = await stage().person(sync).listRejected()
      stage().destination.script(LOST)
      await stage().redrive(sync, [newer?.id ?? ''])
      await stage().passQuietTime(sync)
      const [doubt] = await stage().person(sync).listDoubts()
      const intentId = doubt?.intentId ?? ''
      await stage().person(sync).settle({ intentId, position: null, settlement: 'delivered' })
      expect(await stage().states(sync)).toEqual(['superseded', 'delivered'])
    })

    it('keeps others of its identity from being sent, and is kept from it by them', async () => {
      await stage().start()
      const sync = await stage().setAside(['x'], ['x'], { objectOptions: NONE })
      stage().put(1, 'x', '2')
      stage().destination.script(LOST)
      await stage().harness.run(sync)
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 2, inDoubt: 2 }),
      })
      expect(await stage().states(sync)).toEqual(['redriving'])
      expect(notesOf(stage().destination, 'x')).toEqual(['2'])
    })
  })

  describe('and is in doubt', () => {
    /** A page of two of which the first is brought back and in doubt, and the second is in doubt itself. */
    const leaveTwoDoubts = async () => {
      await stage().start()
      stage().put(0, 'a', 'a')
      stage().put(1, 'b', 'b')
      const sync = await stage().harness.seedSync({ ...ASIDE, objectOptions: NONE })
      const rejected = { status: 'rejected', reason: 'no' }
      const isBad = (record: unknown) => (record as Contact).note === 'a'
      stage().destination.script(
        { kind: 'results', of: (_, record) => (isBad(record) ? rejected : null) },
        LOST,
      )
      await stage().harness.run(sync)
      await stage().redrive(sync)
      await stage().passQuietTime(sync)
      const doubts = await stage().person(sync).listDoubts()
      expect(doubts.map(({ position }) => position).sort()).toEqual([0, 1])
      return { sync, of: (at: number) => doubts.find((d) => d.position === at)?.intentId ?? '' }
    }

    it('does not keep its page open, which it has left', async () => {
      const { sync, of } = await leaveTwoDoubts()
      await stage()
        .person(sync)
        .settle({ intentId: of(1), position: 1, settlement: 'delivered' })
      expect((await stage().harness.run(sync)).counters).toEqual(
        counts({ read: 3, inDoubt: 1, replayed: 1, skipped: 1 }),
      )
      expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 1 })
    })

    it('is not kept in doubt by its page, once it is settled', async () => {
      const { sync, of } = await leaveTwoDoubts()
      await stage()
        .person(sync)
        .settle({ intentId: of(0), position: 0, settlement: 'delivered' })
      expect((await stage().harness.run(sync)).counters).toEqual(
        counts({ read: 2, inDoubt: 1, skipped: 1 }),
      )
      expect(await stage().states(sync)).toEqual(['delivered'])
    })

    it('keeps its row from being sent also where that has another name at the destination now', async () => {
      const { sync } = await leaveTwoDoubts()
      const [row] = [...stage().source.rows.values()]
      const fields = { email: 'moved', note: 'moved' }
      stage().source.put({ identity: row?.identity ?? '', rank: 7, fields })
      expect((await stage().harness.run(sync)).counters).toMatchObject({ inDoubt: 3 })
      expect(notesOf(stage().destination, 'moved')).toEqual([])
    })
  })

  describe('of one identity', () => {
    /** Three records of one contact, set aside by one run. */
    const setThreeAside = async (pageSize: number) => {
      await stage().start()
      const sync = await stage().harness.seedSync({ ...ASIDE, pageSize })
      for (const rank of [0, 1, 2]) {
        stage().put(rank, 'x', String(rank))
      }
      stage().rejectNotes('0', '1', '2')
      await stage().harness.run(sync)
      stage().rejectNotes()
      return sync
    }

    it('is superseded by a later delivery, and not sent whoever asks for it', async () => {
      await stage().start()
      const sync = await stage().setAside(['x'], ['x'])
      stage().put(1, 'x', 'newer')
      await stage().harness.run(sync)
      expect(await stage().person(sync).listRejected()).toMatchObject([
        { state: 'superseded', isKept: false, endedAt: expect.any(Date) },
      ])
      expect(await stage().person(sync).redrive()).toMatchObject({ status: 'noop', runId: null })
      expect(notesOf(stage().destination, 'x')).toEqual(['newer'])
    })

    it('is superseded also by the very next page, which waits until it is set aside', async () => {
      const { harness, destination } = stage()
      await stage().start()
      stage().put(0, 'x', 'old')
      stage().put(1, 'x', 'newer')
      stage().rejectNotes('old')
      let checkpoints = 0
      stage().faults = async (point) => {
        if (point === 'beforeCheckpoint') {
          checkpoints += 1
          // Whatever would be sent meanwhile has time enough to be sent and recorded.
          for (let turns = 0; checkpoints === 1 && turns < 100; turns += 1) {
            await database().rows(sql`select 1 as one`)
          }
        }
      }
      const sync = await harness.seedSync({ ...ASIDE, pageSize: 1 })
      await harness.run(sync)
      expect(await stage().states(sync)).toEqual(['superseded'])
      expect(notesOf(destination, 'x')).toEqual(['newer'])
    })

    it.each([1, 3])('only the newest is sent (pages of %i)', async (pageSize) => {
      const sync = await setThreeAside(pageSize)
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 1, written: 1 }),
      })
      expect(await stage().states(sync)).toEqual(['superseded', 'superseded', 'delivered'])
      expect(notesOf(stage().destination, 'x')).toEqual(['2'])
    })

    it.each([1, 3])('the newest that is accepted is sent (pages of %i)', async (pageSize) => {
      const sync = await setThreeAside(pageSize)
      stage().rejectNotes('2')
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'partial',
        counters: counts({ read: 2, written: 1, quarantined: 1 }),
      })
      expect(await stage().states(sync)).toEqual(['superseded', 'delivered', 'quarantined'])
      stage().rejectNotes()
      await stage().redrive(sync)
      expect(notesOf(stage().destination, 'x')).toEqual(['1', '2'])
    })

    it('an older one that is held is overtaken', async () => {
      await stage().start({ settings: { ...ENGINE_SETTINGS, quarantineAfterRuns: 2 } })
      stage().put(0, 'x', 'old')
      stage().put(1, 'x', 'new')
      const sync = await stage().harness.seedSync({ ...ASIDE, pageSize: 1 })
      stage().rejectNotes('new')
      stage().destination.script({ kind: 'answer', status: 422, body: '{"error":"no"}' })
      await stage().harness.run(sync)
      // As if the older one had been rejected once less.
      await database().rows(sql`update held_record set runs = 0
        where sync_id = ${sync.syncId} and page_digest = (
          select page_digest from open_page where sync_id = ${sync.syncId} order by ordinal limit 1)`)
      stage().rejectNotes('new', 'old')
      await stage().harness.run(sync)
      expect(await stage().states(sync)).toEqual(['held', 'quarantined'])
      stage().rejectNotes()
      const [, newer] = await stage().person(sync).listRejected()
      await stage().redrive(sync, [newer?.id ?? ''])
      expect(notesOf(stage().destination, 'x')).toEqual(['new'])
    })

    it('waits while a later one is on its way, and is then superseded', async () => {
      await stage().start()
      const sync = await stage().setAside(['x'], ['x'])
      stage().put(1, 'x', 'newer')
      stage().faults = breaksAt('afterSend')
      await stage().harness.run(sync, { attemptAllowance: 1 })
      expect(await stage().redrive(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 2, written: 1, skipped: 1 }),
      })
      expect(await stage().states(sync)).toEqual(['superseded'])
      expect(new Set(notesOf(stage().destination, 'x'))).toEqual(new Set(['newer']))
    })
  })

  it('goes with the cursor when that is reset: the source gives it again, and it is tried anew', async () => {
    await stage().start()
    const sync = await stage().setAside(['a', 'b', 'c'], ['b'])
    expect(await stage().person(sync).reset()).toMatchObject({ status: 'done' })
    expect(await stage().states(sync)).toEqual([])
    expect(await stage().harness.run(sync)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 3, replayed: 2, written: 1 }),
    })
    expect(notesOf(stage().destination, 'b')).toEqual(['b'])
  })

  it('waits where the source has started over and its page is open with other records in its place', async () => {
    await stage().start()
    const sync = await stage().setAside(['a', 'b'], ['b'])
    // The source begins anew at the same cursor: another record stands where the one set aside did.
    stage().source.rows.clear()
    stage().put(0, 'c', 'c')
    stage().put(1, 'd', 'd')
    await database().rows(sql`update sync_fence set reached = null, saved_cursor = null
      where sync_id = ${sync.syncId}`)
    const held = await republish(database(), sync, { onRejected: 'HOLD' })
    stage().rejectNotes('d')
    await stage().harness.run(held)
    const run = await stage().redrive(held)
    expect(run.counters).toEqual(counts({ read: 2, replayed: 1, rejected: 1 }))
    expect(await stage().states(held)).toEqual(['redriving', 'held'])
    stage().rejectNotes()
    await stage().harness.run(held)
    await stage().harness.run(held)
    expect(await stage().states(held)).toEqual(['delivered'])
    const written = ['b', 'c', 'd'].map((email) => notesOf(stage().destination, email))
    expect(written).toEqual([['b'], ['c'], ['d']])
  })

  it('whatever is rejected and wherever attempts break: nothing is lost, and no write of an identity is older than the one before it', async () => {
    const settings = { ...ENGINE_SETTINGS, quarantineAfterRuns: 2 }
    await stage().start({ clock: hurriedClock, settings })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('x', 'y', 'z'), { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom('PAGE', 'RECORD'),
        fc.array(plannedRun, { minLength: 2, maxLength: 5 }),
        async (emails, pageSize, path, runs) => {
          stage().source.rows.clear()
          for (const [rank, email] of emails.entries()) {
            stage().put(rank, email, String(rank))
          }
          const objectOptions = { ...BY_EMAIL, path, requestDeadlineMs: 1_000 }
          const sync = await stage().harness.seedSync({ ...ASIDE, pageSize, objectOptions })
          const before = stage().destination.applied.length
          for (const planned of runs) {
            await play(stage(), sync, planned)
          }
          // The destination is mended: what is left is delivered.
          await play(stage(), sync, { rejected: [], isRedrive: false, breaks: null })
          await play(stage(), sync, { rejected: [], isRedrive: true, breaks: null })
          const last = await stage().harness.run(sync)
          expect(last).toMatchObject({ status: 'succeeded', counters: counts({}) })
          expectNewestLast(emails, stage().destination.applied.slice(before))
          expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
          const over = new Set(['delivered', 'superseded'])
          expect((await stage().states(sync)).filter((state) => !over.has(state))).toEqual([])
        },
      ),
      { numRuns: RUNS[kind] },
    )
  }, 120_000)
})

/** One run: what is rejected in it, whether it is one that brings back, and where its first attempt breaks. */
interface PlannedRun {
  readonly rejected: readonly number[]
  readonly isRedrive: boolean
  readonly breaks: { readonly point: (typeof POINTS)[number]; readonly nth: number } | null
}

const plannedRun: fc.Arbitrary<PlannedRun> = fc.record({
  rejected: fc.uniqueArray(fc.nat(5), { maxLength: 4 }),
  isRedrive: fc.boolean(),
  breaks: fc.option(
    fc.record({ point: fc.constantFrom(...POINTS), nth: fc.integer({ min: 1, max: 4 }) }),
  ),
})

async function play(stage: QuarantineStage, sync: SeededSync, planned: PlannedRun): Promise<void> {
  const { rejected, isRedrive, breaks } = planned
  stage.rejectNotes(...rejected.map(String))
  stage.faults = breaks ? breaksAt(breaks.point, breaks.nth) : NEVER
  const brought = isRedrive ? await stage.person(sync).redrive() : null
  await (brought?.runId ? stage.harness.waitForEnd(brought.runId) : stage.harness.run(sync))
}

function expectNewestLast(
  emails: readonly string[],
  applied: readonly { readonly record: unknown }[],
): void {
  for (const email of new Set(emails)) {
    const ranks = applied
      .map(({ record }) => record as Contact)
      .filter((contact) => contact.email === email)
      .map(({ note }) => Number(note))
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
    expect(ranks.at(-1)).toBe(emails.lastIndexOf(email))
  }
}
