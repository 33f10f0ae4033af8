/**
 * Unknown stays unknown (I12): whether a write was applied that nobody answered is never guessed. A
 * destination of class NONE applies the same write twice, so it is the oracle: nothing is sent to it again that
 * may have been applied, and what is known not to be applied is in nobody's way.
 */

import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { type DatabaseKind, ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  AWAY_FOR_LONG,
  answering,
  breaksAt,
  type Contact,
  contactsIn,
  counts,
  hurriedClock,
  leftOf,
  notesOf,
  REFUSED,
  timesSent,
} from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
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

const NONE = { objectOptions: { path: 'PAGE', deliveryClass: 'NONE' } }
const IDEMPOTENT = { objectOptions: { path: 'PAGE' } }
const LOST_AFTER_APPLYING: Reaction = { kind: 'reset', isApplied: true }
const LOST: Reaction = { kind: 'reset' }
/** The embedded database takes its time, and knows no other rules. */
const RUNS = { postgresql: 30, embedded: 8 } as const satisfies Record<DatabaseKind, number>

describe.each(ENGINE_DATABASE_KINDS)('a write that nobody answered, on %s', (kind) => {
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
  const sent = (identity: string) => timesSent(destination, `${identity}@example.com`)
  const is = (identity: string) => (contact: Contact) => contact.email === `${identity}@example.com`

  describe('of a call that was answered in part', () => {
    it.each([
      ['written', { status: 'written', id: '1' }, { written: 3, rejected: 1 }],
      ['in doubt', null, { written: 2, rejected: 1, inDoubt: 1 }],
      ['rejected', { status: 'rejected', reason: 'no' }, { written: 2, rejected: 2 }],
    ])('%s is not sent again when the rest of the call is refused', async (_, told, expected) => {
      fill(4)
      await harness.startEngine()
      const sync = await harness.seedSync({ pageSize: 4, ...NONE })
      destination.script(
        answering((contact) => (is('r0')(contact) ? told : { status: 'retry', retryAfterMs: 1 })),
      )
      destination.decide((request) =>
        contactsIn(request).some(is('r2')) ? REFUSED : { kind: 'apply' },
      )
      const run = await harness.run(sync)
      expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 4, ...expected }) })
      expect(sent('r0')).toBe(1)
      expect(Math.max(...destination.effects.values())).toBe(1)
    })
  })

  describe('of class NONE', () => {
    it('stays in doubt when the sync is published as IDEMPOTENT, and is not sent again', async () => {
      fill(2)
      await harness.startEngine()
      destination.script(LOST_AFTER_APPLYING)
      const sync = await harness.seedSync(NONE)
      await harness.run(sync)
      const other = await republish(database(), sync, IDEMPOTENT)
      const run = await harness.run(other)
      expect(run).toMatchObject({ status: 'partial', counters: counts({ read: 2, inDoubt: 2 }) })
      expect(destination.requests).toHaveLength(1)
      expect((await leftOf(database(), sync.syncId)).intents).toBe(1)
    })

    it('leaves an earlier record of its identity that was delivered alone: that one is replayed', async () => {
      source.put({ ...scriptedRow('a', 0), fields: { email: 'x', note: '1' } })
      source.put({ ...scriptedRow('b', 1), fields: { email: 'x', note: '2' } })
      await harness.startEngine()
      destination.script({ kind: 'apply' }, LOST_AFTER_APPLYING)
      const objectOptions = { deliveryClass: 'NONE', identityField: 'email' }
      const sync = await harness.seedSync({ pageSize: 2, objectOptions })
      const first = await harness.run(sync)
      expect(first.counters).toEqual(counts({ read: 2, written: 1, inDoubt: 1 }))
      const second = await harness.run(sync)
      expect(second.counters).toEqual(counts({ read: 2, replayed: 1, inDoubt: 1 }))
      expect(notesOf(destination, 'x')).toEqual(['1', '2'])
    })

    it('outlives the range it was read from: the same rows, read again by another way, stay in doubt', async () => {
      fill(2)
      await harness.startEngine({ faults: breaksAt('afterSend') })
      const sync = await harness.seedSync({ pageSize: 2, ...NONE })
      await harness.run(sync, { attemptAllowance: 1 })
      source.forgetRanges()
      const second = await harness.run(sync)
      expect(second.counters).toEqual(counts({ read: 2, inDoubt: 2 }))
      source.put(scriptedRow('r0', 9))
      const third = await harness.run(sync)
      expect(third.counters).toEqual(counts({ read: 3, inDoubt: 3 }))
      expect([sent('r0'), sent('r1')]).toEqual([1, 1])
    })

    it('outlives the range it was read from: other rows at the same cursor do not take its place', async () => {
      fill(2)
      await harness.startEngine({ faults: breaksAt('afterSend') })
      const sync = await harness.seedSync({ pageSize: 2, ...NONE })
      await harness.run(sync, { attemptAllowance: 1 })
      source.forgetRanges()
      source.rows.clear()
      source.put(scriptedRow('s0', 0))
      source.put(scriptedRow('s1', 1))
      const second = await harness.run(sync)
      expect(second).toMatchObject({
        status: 'partial',
        counters: counts({ read: 4, written: 2, inDoubt: 2 }),
      })
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 1, intents: 1, held: 0 })
      source.put(scriptedRow('r0', 9))
      const third = await harness.run(sync)
      expect(third.counters).toEqual(counts({ read: 5, replayed: 2, inDoubt: 3 }))
      expect([sent('r0'), sent('s0')]).toEqual([1, 1])
    })

    it('outlives the stream it was read from', async () => {
      fill(2)
      await harness.startEngine({ faults: breaksAt('afterSend') })
      const sync = await harness.seedSync({ pageSize: 2, ...NONE })
      await harness.run(sync, { attemptAllowance: 1 })
      const other = await republish(database(), sync, { stream: 'other.csv' })
      const run = await harness.run(other)
      expect(run.counters).toEqual(counts({ read: 4, inDoubt: 4 }))
      expect([sent('r0'), sent('r1')]).toEqual([1, 1])
    })
  })

  describe('is no name for what was never sent or is known not to be applied', () => {
    it.each([1, 2, 3])(
      'such as what a split had set aside when the destination went away at call %i',
      async (before) => {
        fill(8)
        await harness.startEngine()
        const sync = await harness.seedSync({ pageSize: 8, ...NONE })
        let calls = 0
        destination.decide((request) => {
          calls += 1
          if (calls > before) {
            return AWAY_FOR_LONG
          }
          return contactsIn(request).some(is('r0')) ? REFUSED : { kind: 'apply' }
        })
        const first = await harness.run(sync, { attemptAllowance: 1 })
        expect(first).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
        expect((await leftOf(database(), sync.syncId)).intents).toBe(0)
        destination.always({ kind: 'apply' })
        const second = await harness.run(sync)
        expect(second.status).toBe('succeeded')
        expect(second.counters.inDoubt).toBe(0)
        expect(destination.effects.size).toBe(8)
        expect(Math.max(...destination.effects.values())).toBe(1)
      },
    )

    it.each(['PAGE', 'RECORD'])(
      'such as what was reserved when the slot was lost, with a call a %s',
      async (path) => {
        fill(3)
        const clock = createLeapingClock()
        let reserved = 0
        await harness.startEngine({
          clock,
          faults: (point) => {
            if (point === 'afterReserve' && ++reserved === 1) {
              clock.leap(800) // as long as a beat is trusted
            }
          },
        })
        const objectOptions = { path, deliveryClass: 'NONE', concurrency: 1 }
        const sync = await harness.seedSync({ objectOptions })
        const run = await harness.run(sync)
        expect(run).toMatchObject({
          status: 'succeeded',
          counters: counts({ read: 3, written: 3 }),
        })
        const attempts = await database().rows(sql`select outcome, failure_code as code
          from attempt where run_id = ${run.runId} order by number`)
        expect(attempts[0]).toEqual({ outcome: 'postponed', code: 'lease_lost' })
        expect(Math.max(...destination.effects.values())).toBe(1)
      },
    )
  })

  describe('by a destination that is dead', () => {
    const DEAD = { ...NONE, objectOptions: { deliveryClass: 'NONE', concurrency: 1 } }

    it('ends the attempt after 3 silent calls in a row, with no more than these in doubt', async () => {
      fill(20)
      await harness.startEngine()
      const sync = await harness.seedSync(DEAD)
      destination.always(LOST)
      const first = await harness.run(sync, { attemptAllowance: 1 })
      expect(first).toMatchObject({ status: 'failed', failureCode: 'provider_unavailable' })
      expect(destination.requests).toHaveLength(3)
      destination.always({ kind: 'apply' })
      const second = await harness.run(sync)
      expect(second).toMatchObject({
        status: 'partial',
        counters: counts({ read: 20, written: 17, inDoubt: 3 }),
      })
    })

    it.each([
      ['takes a record', { kind: 'apply' } as Reaction],
      ['rejects one', REFUSED],
    ])('goes on with one that %s between its silences', async (_, answer) => {
      fill(7)
      await harness.startEngine()
      const sync = await harness.seedSync(DEAD)
      destination.script(LOST, LOST, answer, LOST, LOST)
      const run = await harness.run(sync)
      expect(run.status).toBe('partial')
      expect(run.counters).toMatchObject({ read: 7, inDoubt: 4 })
      expect(destination.requests).toHaveLength(7)
    })
  })

  /** What becomes of one call, or of its records in turn. */
  const plannedReaction = fc.oneof(
    fc.constantFrom(...Object.keys(REACTIONS)),
    fc.array(fc.constantFrom(...Object.keys(ANSWERS)), { minLength: 1, maxLength: 4 }),
  )
  const plannedRun = fc.record({
    reactions: fc.array(plannedReaction, { maxLength: 5 }),
    breaks: fc.option(
      fc.record({
        point: fc.constantFrom('afterReserve', 'afterSend', 'afterComplete', 'beforeCheckpoint'),
        nth: fc.integer({ min: 1, max: 3 }),
      } as const),
    ),
  })

  it('whatever is answered and wherever attempts break: nothing is written twice, and nothing is lost', async () => {
    let faults = breaksAt('afterClaim', 1_000)
    await harness.startEngine({
      clock: hurriedClock,
      faults: (point, runId) => faults(point, runId),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('PAGE', 'RECORD'),
        fc.array(plannedRun, { minLength: 1, maxLength: 3 }),
        async (count, pageSize, path, runs) => {
          source.rows.clear()
          fill(count)
          const objectOptions = { path, deliveryClass: 'NONE' }
          const sync = await harness.seedSync({ pageSize, objectOptions })
          const before = destination.applied.length
          for (const { reactions, breaks } of runs) {
            const left = [...reactions]
            destination.decide((request) => toReaction(left.shift() ?? 'applied', request))
            faults = breaksAt(breaks?.point ?? 'afterClaim', breaks?.nth ?? 1_000)
            await harness.run(sync, { attemptAllowance: 1 })
          }
          destination.always({ kind: 'apply' })
          faults = breaksAt('afterClaim', 1_000)
          const last = await harness.run(sync)
          const written = destination.applied
            .slice(before)
            .map(({ record }) => (record as Contact).email)
          expect(new Set(written).size).toBe(written.length)
          expect(last.counters.rejected).toBe(0)
          expect(count - written.length).toBeLessThanOrEqual(last.counters.inDoubt)
        },
      ),
      { numRuns: RUNS[kind] },
    )
  }, 120_000)
})

/** What can become of a call as a whole. */
const REACTIONS: Readonly<Record<string, Reaction>> = {
  applied: { kind: 'apply' },
  lost: LOST,
  lostAfterApplying: LOST_AFTER_APPLYING,
  brokenOff: { kind: 'halfBody', isApplied: true },
  refused: REFUSED,
  awayForLong: AWAY_FOR_LONG,
}

/** What can be said of a record: in the answer to a call for many, and in the one to its own. */
const ANSWERS: Readonly<
  Record<string, { readonly ofMany: Readonly<Record<string, unknown>> | null; alone: Reaction }>
> = {
  written: { ofMany: { status: 'written' }, alone: { kind: 'apply' } },
  rejected: { ofMany: { status: 'rejected', reason: 'no' }, alone: REFUSED },
  retry: {
    ofMany: { status: 'retry', retryAfterMs: 1 },
    alone: { kind: 'answer', status: 503, body: '{"error":"busy"}' },
  },
  silence: { ofMany: null, alone: LOST },
}

function toReaction(planned: string | readonly string[], request: RecordedRequest): Reaction {
  if (typeof planned === 'string') {
    return REACTIONS[planned] ?? { kind: 'apply' }
  }
  const [first = 'written'] = planned
  const emails = contactsIn(request).map(({ email }) => email)
  return 'records' in JSON.parse(request.body)
    ? answering(({ email }) => {
        const answer = planned[emails.indexOf(email) % planned.length] ?? 'written'
        return ANSWERS[answer]?.ofMany ?? null
      })
    : (ANSWERS[first]?.alone ?? { kind: 'apply' })
}

/** The system's clock, and a way to let time pass at once. */
function createLeapingClock(): Clock & { leap(ms: number): void } {
  let leaptMs = 0
  return {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + leaptMs,
    leap: (ms) => {
      leaptMs += ms
    },
  }
}
