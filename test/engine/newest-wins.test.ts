/**
 * Old never overwrites new (I11): whatever withheld the older record (a rejection, a lost answer, a crash),
 * and whatever changed meanwhile, and never is the newer one withheld for it.
 *
 * The destination knows contacts by their e-mail and takes every write, as an upsert by a natural key
 * does: the order of its writes tells whether something old came last.
 */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  answering,
  breaksAt,
  type Contact,
  counts,
  hurriedClock,
  leftOf,
  notesOf,
  rejecting,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'

const OTHER_MAPPING: SyncConfig['mapping'] = {
  email: { $path: 'email' },
  note: { $path: 'note' },
  extra: { $const: 1 },
}
/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 25, embedded: 8 } as const satisfies Record<DatabaseKind, number>
const REJECTED = answering(() => ({ status: 'rejected', reason: 'no' }))
const BY_EMAIL = { path: 'PAGE', identityField: 'email' }

describe.each(ENGINE_DATABASE_KINDS)(
  'of records of one identity the newest wins, on %s:',
  (kind) => {
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

    const put = (rank: number, email: string, note: string) =>
      source.put({ ...scriptedRow(`row${rank}`, rank), fields: { email, note } })
    const rejectNotes = (...notes: readonly string[]) =>
      destination.decide(rejecting(({ note }) => notes.includes(note)))

    it('skips a rejected older one for good, also while another record keeps its page open', async () => {
      put(0, 'x', 'old')
      put(1, 'z', 'z')
      put(2, 'x', 'new')
      put(3, 'y', 'y')
      await harness.startEngine()
      const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
      rejectNotes('old', 'z')
      await harness.run(sync)
      const second = await harness.run(sync)
      expect(second.counters).toEqual(counts({ read: 2, rejected: 1, skipped: 1 }))
      rejectNotes()
      const third = await harness.run(sync)
      expect(third).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 2, written: 1, skipped: 1 }),
      })
      expect(notesOf(destination, 'x')).toEqual(['new'])
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })

    it('skips a rejected older one that stands in the same page, which stays open', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      put(2, 'z', 'z')
      await harness.startEngine()
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: BY_EMAIL })
      rejectNotes('old', 'z')
      await harness.run(sync)
      rejectNotes()
      const second = await harness.run(sync)
      expect(second).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 3, written: 1, replayed: 1, skipped: 1 }),
      })
      expect(notesOf(destination, 'x')).toEqual(['new'])
    })

    it.each([
      ['afterReserve', 2],
      ['afterSend', 2],
      ['afterComplete', 2],
      ['beforeCheckpoint', 1],
      ['afterCheckpoint', 1],
    ] as const)(
      'skips it where the attempt broke at %s, call %i, and the rejection was forgotten',
      async (point, nth) => {
        put(0, 'x', 'old')
        put(1, 'x', 'new')
        await harness.startEngine({ faults: breaksAt(point, nth) })
        const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
        destination.script(REJECTED)
        const run = await harness.run(sync)
        expect(run.status).toBe('succeeded')
        expect(new Set(notesOf(destination, 'x'))).toEqual(new Set(['new']))
      },
    )

    it.each([
      ['too large', { note: 'o'.repeat(2_000) }, {}],
      ['broken', { note: 'old' }, { problem: 'line 2: has 1 column, the header has 2' }],
    ])(
      'skips one that was %s before it had a name, by its source identity',
      async (_, bad, given) => {
        const row = { identity: 'id1', rank: 0, fields: { email: 'x', ...bad } }
        source.rows.set('a', { ...row, ...given })
        source.rows.set('b', { identity: 'id1', rank: 1, fields: { email: 'x', note: 'new' } })
        await harness.startEngine()
        const small = { ...BY_EMAIL, maxBodyBytes: 1_000 }
        const sync = await harness.seedSync({ pageSize: 1, objectOptions: small })
        const first = await harness.run(sync)
        expect(first.counters).toEqual(counts({ read: 2, written: 1, rejected: 1 }))
        source.rows.set('a', row)
        const other = await republish(database(), sync, { objectOptions: BY_EMAIL })
        const second = await harness.run(other)
        expect(second.counters).toEqual(counts({ read: 1, skipped: 1 }))
        expect(notesOf(destination, 'x')).toEqual(['new'])
      },
    )

    it('lets a held one wait while the newer one is in flight, and skips it afterwards', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      await harness.startEngine({ faults: breaksAt('afterSend', 2) })
      const sync = await harness.seedSync({ pageSize: 1, objectOptions: BY_EMAIL })
      destination.script(REJECTED)
      await harness.run(sync, { attemptAllowance: 1 })
      const second = await harness.run(sync)
      expect(second).toMatchObject({
        status: 'partial',
        counters: counts({ read: 2, written: 1, rejected: 1 }),
      })
      const third = await harness.run(sync)
      expect(third).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 1, skipped: 1 }),
      })
      // Sent again, as nobody knew that it was applied.
      expect(notesOf(destination, 'x')).toEqual(['new', 'new'])
    })

    it('does not send what was delivered of an open page again because it maps to something else now', async () => {
      put(0, 'x', 'old')
      put(1, 'z', 'z')
      put(2, 'x', 'new')
      await harness.startEngine()
      const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
      rejectNotes('z')
      await harness.run(sync)
      const other = await republish(database(), sync, { mapping: OTHER_MAPPING })
      const second = await harness.run(other)
      expect(second.counters).toEqual(counts({ read: 2, replayed: 1, rejected: 1 }))
      expect(notesOf(destination, 'x')).toEqual(['old', 'new'])
    })

    describe('and the newer one is not withheld', () => {
      it.each([1, 2, 3])(
        'when it is the rejected one (pages of %i): the next run writes it',
        async (pageSize) => {
          put(0, 'x', 'old')
          put(1, 'x', 'new')
          put(2, 'y', 'y')
          await harness.startEngine()
          const sync = await harness.seedSync({ pageSize, objectOptions: BY_EMAIL })
          rejectNotes('new')
          const first = await harness.run(sync)
          expect(first.counters).toEqual(counts({ read: 3, written: 2, rejected: 1 }))
          rejectNotes()
          expect((await harness.run(sync)).status).toBe('succeeded')
          expect(notesOf(destination, 'x')).toEqual(['old', 'new'])
        },
      )

      it('when several were rejected: the last of them is written, and no other', async () => {
        put(0, 'x', '1')
        put(1, 'x', '2')
        put(2, 'x', '3')
        await harness.startEngine()
        const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
        rejectNotes('1', '3')
        await harness.run(sync)
        rejectNotes()
        expect((await harness.run(sync)).status).toBe('succeeded')
        expect(notesOf(destination, 'x')).toEqual(['2', '3'])
      })

      it('when its mapping changed and nothing was delivered behind it', async () => {
        put(0, 'x', 'new')
        await harness.startEngine({ faults: breaksAt('beforeCheckpoint') })
        const sync = await harness.seedSync({ objectOptions: BY_EMAIL })
        await harness.run(sync, { attemptAllowance: 1 })
        const other = await republish(database(), sync, { mapping: OTHER_MAPPING })
        const second = await harness.run(other)
        expect(second.counters).toEqual(counts({ read: 1, written: 1 }))
        expect(destination.applied.at(-1)?.record).toMatchObject({ extra: 1 })
      })

      it('because a held one of another identity stands in its page', async () => {
        put(0, 'z', 'z')
        put(1, 'x', 'new')
        await harness.startEngine()
        const sync = await harness.seedSync({ pageSize: 2, objectOptions: BY_EMAIL })
        rejectNotes('z', 'new')
        await harness.run(sync)
        put(2, 'z', 'z2')
        rejectNotes()
        const second = await harness.run(sync)
        expect(second.status).toBe('succeeded')
        expect(notesOf(destination, 'x')).toEqual(['new'])
        expect(notesOf(destination, 'z').at(-1)).toBe('z2')
      })
    })

    /** One run: what is rejected in it, and where its first attempt breaks. */
    const plannedRun = fc.record({
      rejected: fc.uniqueArray(fc.nat(5), { maxLength: 4 }),
      breaks: fc.option(
        fc.record({
          point: fc.constantFrom(
            'afterReserve',
            'afterSend',
            'afterComplete',
            'beforeCheckpoint',
            'afterCheckpoint',
          ),
          nth: fc.integer({ min: 1, max: 4 }),
        } as const),
      ),
    })

    it('whatever is rejected and wherever attempts break: no write of an identity is older than the one before it', async () => {
      let faults = breaksAt('afterClaim', Number.POSITIVE_INFINITY)
      await harness.startEngine({
        clock: hurriedClock,
        faults: (point, runId) => faults(point, runId),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom('x', 'y'), { minLength: 2, maxLength: 6 }),
          fc.integer({ min: 1, max: 3 }),
          fc.constantFrom('PAGE', 'RECORD'),
          fc.array(plannedRun, { minLength: 1, maxLength: 3 }),
          async (emails, pageSize, path, runs) => {
            source.rows.clear()
            for (const [rank, email] of emails.entries()) {
              put(rank, email, String(rank))
            }
            const sync = await harness.seedSync({
              pageSize,
              objectOptions: { ...BY_EMAIL, path, requestDeadlineMs: 1_000 },
            })
            const before = destination.applied.length
            for (const { rejected, breaks } of runs) {
              rejectNotes(...rejected.map(String))
              faults = breaksAt(breaks?.point ?? 'afterClaim', breaks?.nth ?? 1_000)
              await harness.run(sync)
            }
            rejectNotes()
            faults = breaksAt('afterClaim', 1_000)
            await harness.run(sync)
            const last = await harness.run(sync)
            const applied = destination.applied.slice(before)
            for (const email of new Set(emails)) {
              const ranks = applied.flatMap(({ record }) => {
                const contact = record as Contact
                return contact.email === email ? [Number(contact.note)] : []
              })
              expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
              expect(ranks.at(-1)).toBe(emails.lastIndexOf(email))
            }
            expect(last.status).toBe('succeeded')
            expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
          },
        ),
        { numRuns: RUNS[kind] },
      )
    }, 120_000)
  },
)
