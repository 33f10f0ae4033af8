/**
 * A source that is read again from its beginning while the ledger has forgotten some of what was delivered:
 * what is written again must not stand in the place of something newer (I11), nor double what nobody overtook (I4).
 */
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FaultHook, FaultPoint } from '../../src/engine/fault-points.ts'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  type Contact,
  counts,
  hurriedClock,
  leftOf,
  notesOf,
  rejecting,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type AppliedWrite,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 25, embedded: 8 } as const satisfies Record<DatabaseKind, number>
const BY_EMAIL = { path: 'PAGE', identityField: 'email' }

describe.each(ENGINE_DATABASE_KINDS)(
  'a source that is read again in part from the ledger, on %s',
  (kind) => {
    const database = useDatabase(kind)
    let source: ScriptedSource
    let destination: RecordingDestination
    let harness: EngineHarness
    let faults: FaultHook

    beforeEach(async () => {
      source = createScriptedSource()
      destination = await startRecordingDestination({ honoursKeys: false })
      harness = createEngineHarness({ database: database(), source, destination })
      faults = () => undefined
      await harness.startEngine({
        clock: hurriedClock,
        faults: (point, runId) => faults(point, runId),
      })
    })
    afterEach(async () => {
      await harness.close()
      await destination.close()
    })

    const put = (rank: number, email: string, note: string) =>
      source.put({ ...scriptedRow(`row${rank}`, rank), fields: { email, note } })

    /** Rows of which the ledger has forgotten those that are noted `old` by the time of the reset. */
    async function deliverAndReset(options: {
      readonly pageSize: number
      readonly objectOptions?: object
    }) {
      const { pageSize, objectOptions = {} } = options
      const given = { pageSize, objectOptions: { ...BY_EMAIL, ...objectOptions } }
      const sync = await harness.seedSync(given)
      expect((await harness.run(sync)).status).toBe('succeeded')
      await forget('old')
      await createPerson(database(), harness, sync).reset()
      return sync
    }

    /** As if it had been delivered eight days ago. */
    async function forget(note: string, from = 0) {
      for (const { key, record } of destination.applied.slice(from)) {
        if ((record as { note: string }).note === note) {
          await database().rows(sql`update delivery set completed_at = now() - interval '8 days'
          where key = decode(${key}, 'hex')`)
        }
      }
    }

    /** Breaks the attempt that comes to that point when the destination has applied so many writes. */
    const breakAt = (point: FaultPoint, writes: number) => {
      let isBroken = false
      faults = (at) => {
        if (!isBroken && at === point && destination.applied.length >= writes) {
          isBroken = true
          throw new Error(`Broken at ${point}.`)
        }
      }
    }

    const isForgotten = async ({ syncId }: SeededSync) => {
      const rows = await database().rows(sql`
      select is_rereading from sync_fence where sync_id = ${syncId} and is_rereading
      union all
      select true from rewritten_identity where sync_id = ${syncId}`)
      return rows.length === 0
    }

    it.each([1, 2])(
      'writes what is newer than something that is written again, and nothing else (pages of %i)',
      async (pageSize) => {
        put(0, 'x', 'old')
        put(1, 'y', 'y')
        put(2, 'z', 'z')
        put(3, 'x', 'new')
        const sync = await deliverAndReset({ pageSize })
        expect(await harness.run(sync)).toMatchObject({
          status: 'succeeded',
          counters: counts({ read: 4, written: 2, replayed: 2 }),
        })
        expect(notesOf(destination, 'x')).toEqual(['old', 'new', 'old', 'new'])
        expect([notesOf(destination, 'y'), notesOf(destination, 'z')]).toEqual([['y'], ['z']])
        expect(await isForgotten(sync)).toBe(true)
      },
    )

    it('writes none of them where both stand in one page: the newer is there', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const sync = await deliverAndReset({ pageSize: 2 })
      const run = await harness.run(sync)
      expect(run.counters).toEqual(counts({ read: 2, replayed: 1, skipped: 1 }))
      expect(notesOf(destination, 'x')).toEqual(['old', 'new'])
    })

    it('writes all that come after it, in their order', async () => {
      for (const [rank, note] of ['old', '1', '2', '3'].entries()) {
        put(rank, 'x', note)
      }
      const sync = await deliverAndReset({ pageSize: 1 })
      await harness.run(sync)
      expect(notesOf(destination, 'x').slice(4)).toEqual(['old', '1', '2', '3'])
    })

    it('writes what is newer than a record that maps to something else by now', async () => {
      put(0, 'x', 'first')
      put(1, 'x', 'new')
      const sync = await harness.seedSync({ pageSize: 1, objectOptions: BY_EMAIL })
      await harness.run(sync)
      put(0, 'x', 'first, mended')
      await createPerson(database(), harness, sync).reset()
      expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, written: 2 }))
      expect(notesOf(destination, 'x')).toEqual(['first', 'new', 'first, mended', 'new'])
    })

    it.each([
      ['afterCheckpoint', 3],
      ['afterReserve', 3],
      ['afterSend', 4],
      ['afterComplete', 4],
      ['beforeCheckpoint', 4],
    ] as const)('also where the attempt breaks at %s, after %i writes', async (point, writes) => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const sync = await deliverAndReset({ pageSize: 1 })
      breakAt(point, writes)
      expect((await harness.run(sync)).status).toBe('succeeded')
      // What was in flight is sent again, as always; what was recorded is not.
      const news = point === 'afterSend' ? ['new', 'new'] : ['new']
      expect(notesOf(destination, 'x').slice(2)).toEqual(['old', ...news])
      expect(await isForgotten(sync)).toBe(true)
    })

    it('also where the run ends in between and another one goes on', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const sync = await deliverAndReset({ pageSize: 1 })
      breakAt('afterReserve', 3)
      expect((await harness.run(sync, { attemptAllowance: 1 })).status).toBe('failed')
      expect(notesOf(destination, 'x').at(-1)).toBe('old')
      expect((await harness.run(sync)).status).toBe('succeeded')
      expect(notesOf(destination, 'x').slice(2)).toEqual(['old', 'new'])
    })

    it('skips an older record that was rejected this time: the newer one is written, and so overtakes it', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const sync = await deliverAndReset({ pageSize: 1 })
      destination.decide(rejecting(({ note }) => note === 'old'))
      await harness.run(sync)
      destination.always({ kind: 'apply' })
      expect((await harness.run(sync)).status).toBe('succeeded')
      expect(notesOf(destination, 'x').at(-1)).toBe('new')
      expect(notesOf(destination, 'x').slice(2)).not.toContain('old')
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })

    it('sends nothing a second time of what was written since the reset, whatever comes later', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const sync = await deliverAndReset({ pageSize: 1 })
      await harness.run(sync)
      const applied = destination.applied.length
      await createPerson(database(), harness, sync).reset()
      expect((await harness.run(sync)).counters).toEqual(counts({ read: 2, replayed: 2 }))
      expect(destination.applied).toHaveLength(applied)
    })

    it('does not repeat what counts at a destination that would have it twice: there the older one stands', async () => {
      put(0, 'x', 'old')
      put(1, 'x', 'new')
      const objectOptions = { deliveryClass: 'NONE' }
      const sync = await deliverAndReset({ pageSize: 1, objectOptions })
      const run = await harness.run(sync)
      expect(run.counters).toEqual(counts({ read: 2, written: 1, replayed: 1 }))
      expect(notesOf(destination, 'x')).toEqual(['old', 'new', 'old'])
      expect(await isForgotten(sync)).toBe(true)
    })

    const planned = fc.record({
      emails: fc.array(fc.constantFrom('x', 'y', 'z'), { minLength: 2, maxLength: 7 }),
      forgotten: fc.uniqueArray(fc.nat(6), { maxLength: 4 }),
      rejected: fc.uniqueArray(fc.nat(6), { maxLength: 2 }),
      pageSize: fc.integer({ min: 1, max: 3 }),
      path: fc.constantFrom('PAGE', 'RECORD'),
      breaks: fc.record({
        point: fc.constantFrom('afterReserve', 'afterSend', 'afterComplete', 'beforeCheckpoint'),
        writes: fc.nat(5),
      } as const),
    })

    it('whatever was forgotten, is rejected, and wherever it breaks: the newest stands, and what nobody overtook is sent once', async () => {
      await fc.assert(
        fc.asyncProperty(planned, async ({ emails, forgotten, rejected, breaks, ...given }) => {
          faults = () => undefined
          destination.always({ kind: 'apply' })
          source.rows.clear()
          for (const [rank, email] of emails.entries()) {
            put(rank, email, String(rank))
          }
          const { pageSize, path } = given
          const objectOptions = { ...BY_EMAIL, path, requestDeadlineMs: 1_000 }
          const before = destination.applied.length
          const sync = await harness.seedSync({ pageSize, objectOptions })
          await harness.run(sync)
          for (const rank of forgotten) {
            await forget(String(rank), before)
          }
          await createPerson(database(), harness, sync).reset()
          const since = destination.applied.length
          destination.decide(rejecting(({ note }) => rejected.map(String).includes(note)))
          breakAt(breaks.point, since + breaks.writes)
          await harness.run(sync)
          destination.always({ kind: 'apply' })
          await harness.run(sync)
          expect((await harness.run(sync)).status).toBe('succeeded')
          expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
          expect(await isForgotten(sync)).toBe(true)
          for (const email of new Set(emails)) {
            const ranks = ranksOf(destination.applied.slice(since), email)
            const newest = emails.lastIndexOf(email)
            expect(ranksOf(destination.applied.slice(before), email).at(-1)).toBe(newest)
            expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
            if (!forgotten.some((rank) => emails[rank] === email)) {
              expect(ranks).toEqual([])
            }
          }
        }),
        { numRuns: RUNS[kind] },
      )
    }, 120_000)
  },
)

/** The notes with which an e-mail was written, as numbers. */
function ranksOf(applied: readonly AppliedWrite[], email: string): readonly number[] {
  return applied.flatMap(({ record }) => {
    const contact = record as Contact
    return contact.email === email ? [Number(contact.note)] : []
  })
}
