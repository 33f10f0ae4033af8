/**
 * What was sent without an answer and is sent no more, because its row has left its page, cannot be mapped or is
 * refused: it may have been written, so nothing older of its names is written over it (I11), and nothing else
 * waits for it.
 */
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, it } from 'vitest'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  breaksAt,
  breaksWhenever,
  counts,
  leftOf,
  notesOf,
  rejecting,
} from '../support/deliveries.ts'
import { republish } from '../support/engine-harness.ts'
import { ASIDE, BY_EMAIL, NEVER, useQuarantineStage } from '../support/quarantine-stage.ts'
import type { SeededSync } from '../support/store-seed.ts'

/** Takes numbers for a note, and rejects every other row. */
const STRICT: SyncConfig['mapping'] = {
  email: { $path: 'email' },
  note: { $number: { value: { $path: 'note' } } },
}
const WITHOUT_Y: SyncConfig['mapping'] = {
  email: { $lookup: { value: { $path: 'email' }, table: { x: 'x' } } },
  note: { $path: 'note' },
}
const HELD = { onRejected: 'HOLD', objectOptions: BY_EMAIL, mapping: STRICT } as const
const SET_ASIDE = { ...ASIDE, mapping: STRICT } as const
const WAITS = 'A later record of the same identity'

describe.each(ENGINE_DATABASE_KINDS)('what was sent and is sent no more, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)
  beforeEach(() => stage().start())

  const put = (identity: string, rank: number, email: string, note: string) =>
    stage().source.put({ identity, rank, fields: { email, note } })
  const rejectNotes = (...notes: readonly number[]) =>
    stage().destination.decide(rejecting(({ note }) => notes.includes(Number(note))))
  const noted = () => notesOf(stage().destination, 'x').map(Number)
  const intents = async (sync: SeededSync) => (await leftOf(database(), sync.syncId)).intents
  /** The positions of each intent. */
  const places = async ({ syncId }: SeededSync) =>
    (
      await database().rows<{ positions: string }>(sql`
        select positions::text as positions from delivery_intent where sync_id = ${syncId}`)
    ).map(({ positions }) => positions)
  const reasons = async (sync: SeededSync) =>
    (await stage().person(sync).listRejected()).map(({ reason }) => reason)

  /** An older record of the name that was refused, and a newer one that was sent and not answered. */
  async function sendUnanswered(
    given: Partial<SyncConfig>,
    rejected: readonly number[] = [],
    rank = 1,
  ): Promise<SeededSync> {
    put('old', 0, 'x', '1')
    rejectNotes(1, ...rejected)
    const sync = await stage().harness.seedSync({ pageSize: 1, ...given })
    await stage().harness.run(sync)
    put('new', rank, 'x', '2')
    stage().faults = breaksWhenever('afterSend', () => noted().length > 0)
    await stage().harness.run(sync, { attemptAllowance: 1 })
    expect(noted()).toEqual([2])
    stage().faults = NEVER
    await stage().passQuietTime(sync)
    return sync
  }
  describe('as its row has moved to a page where it cannot be mapped,', () => {
    it('keeps an older one that is held waiting, until the newer one is mended', async () => {
      const sync = await sendUnanswered(HELD)
      put('new', 5, 'x', 'bad')
      await stage().harness.run(sync)
      rejectNotes()
      for (let runs = 0; runs < 2; runs += 1) {
        const { counters } = await stage().harness.run(sync)
        expect(counters).toEqual(counts({ read: 2, rejected: 2 }))
      }
      expect(noted()).toEqual([2])
      expect(await reasons(sync)).toContainEqual(expect.stringContaining(WAITS))

      put('new', 5, 'x', '3')
      // The older one is looked at first, and waits once more.
      await stage().harness.run(sync)
      expect(await stage().harness.run(sync)).toMatchObject({ status: 'succeeded' })
      expect(noted()).toEqual([2, 3])
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })

    it('keeps an older one waiting also when a draft was tested meanwhile, which reads no source to its end', async () => {
      const sync = await sendUnanswered(HELD)
      put('new', 5, 'x', 'bad')
      rejectNotes()
      stage().faults = breaksAt('afterReadPage', 1)
      await stage().harness.run(sync, { attemptAllowance: 1 })
      stage().faults = NEVER
      await stage().passQuietTime(sync)
      const { runId } = await stage().person(sync).test(1)
      expect(await stage().harness.waitForEnd(runId)).toMatchObject({ status: 'succeeded' })
      await stage().harness.run(sync)
      expect(noted()).toEqual([2])
    })

    it('keeps an older one that is set aside waiting, also when it is brought back', async () => {
      const sync = await sendUnanswered(SET_ASIDE)
      put('new', 5, 'x', 'bad')
      await stage().harness.run(sync)
      rejectNotes()
      const [old = ''] = (await stage().person(sync).listRejected()).map(({ id }) => id)
      for (let runs = 0; runs < 2; runs += 1) {
        await stage().redrive(sync, [old])
        expect(noted()).toEqual([2])
      }
      put('new', 6, 'x', '3')
      await stage().harness.run(sync)
      expect((await stage().states(sync))[0]).toBe('superseded')
      expect(noted()).toEqual([2, 3])
      await stage().harness.run(sync)
      expect(await intents(sync)).toBe(0)
    })
  })

  it('as its row has moved, keeps an older one waiting until the source has been read to its end', async () => {
    const sync = await sendUnanswered(HELD)
    put('new', 5, 'x', '3')
    rejectNotes()
    stage().faults = breaksAt('afterReserve')
    await stage().harness.run(sync, { attemptAllowance: 1 })
    expect(noted()).toEqual([2])
    // Open are the page of the older one and the one to which the newer one has moved.
    expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 2, intents: 2, held: 1 })
    await stage().harness.run(sync)
    expect(noted()).toEqual([2, 3])
  })

  it('as its row is gone, keeps an older one waiting no longer: that is the only one there is', async () => {
    const sync = await sendUnanswered(HELD)
    stage().source.rows.delete('new')
    rejectNotes()
    expect(await stage().harness.run(sync)).toMatchObject({ counters: { rejected: 1 } })
    expect(noted()).toEqual([2])
    expect(await stage().harness.run(sync)).toMatchObject({ status: 'succeeded' })
    expect(noted()).toEqual([2, 1])
    expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
  })

  it('and that a person has given up, keeps an older one waiting no longer', async () => {
    const sync = await sendUnanswered(SET_ASIDE)
    put('new', 5, 'x', 'bad')
    await stage().harness.run(sync)
    const [old = '', moved = ''] = (await stage().person(sync).listRejected()).map(({ id }) => id)
    rejectNotes()
    await stage().redrive(sync, [old])
    expect(noted()).toEqual([2])
    await stage().person(sync).discard([moved])
    await stage().redrive(sync, [old])
    expect(noted()).toEqual([2, 1])
  })

  it('as its row is away and comes back to its place, keeps an older one waiting while it cannot be mapped there', async () => {
    put('filler', 1, 'z', '5')
    put('held', 3, 'y', '7')
    const sync = await sendUnanswered({ ...HELD, pageSize: 2 }, [7], 2)
    stage().source.rows.delete('new')
    stage().faults = breaksAt('afterCheckpoint', 2)
    await stage().harness.run(sync, { attemptAllowance: 1 })
    stage().faults = NEVER
    put('new', 2, 'x', 'bad')
    await stage().harness.run(sync)
    rejectNotes(7)
    await stage().harness.run(sync)
    expect(noted()).toEqual([2])
  })

  it.each([0, 200])(
    'is remembered by no clock: also where the first run was made by one that is %i hours ahead',
    async (hours) => {
      const now = () => new Date(Date.now() + hours * 3_600_000)
      const id = createIdSource({ ...systemClock, now }, systemRandom).next()
      put('old', 0, 'x', '1')
      put('ok', 1, 'z', '9')
      rejectNotes(1)
      const sync = await stage().harness.seedSync({ pageSize: 1, ...HELD })
      expect(await stage().harness.run(sync, { id })).toMatchObject({ status: 'partial' })
      put('new', 2, 'x', '2')
      stage().faults = breaksWhenever('afterSend', () => noted().length > 0)
      await stage().harness.run(sync, { attemptAllowance: 1 })
      await stage().passQuietTime(sync)
      put('new', 5, 'x', '3')
      rejectNotes()
      stage().faults = breaksAt('afterReadPage')
      await stage().harness.run(sync, { attemptAllowance: 1 })
      stage().faults = NEVER
      expect(noted()).toEqual([2])
      await stage().harness.run(sync)
      expect(noted()).toEqual([2, 3])
    },
  )

  it('as its row is gone, leaves nothing where nothing older waits', async () => {
    const sync = await sendUnanswered(HELD)
    rejectNotes()
    put('old', 2, 'x', '3')
    stage().source.rows.delete('new')
    await stage().harness.run(sync)
    await stage().harness.run(sync)
    expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    expect(noted()).toEqual([2, 3])
  })

  it('as another content of it is refused, keeps an older one waiting', async () => {
    const sync = await sendUnanswered(HELD)
    put('new', 1, 'x', '3')
    rejectNotes(1, 3)
    await stage().harness.run(sync)
    rejectNotes(3)
    await stage().harness.run(sync)
    expect(noted()).toEqual([2])
    expect(await reasons(sync)).toContainEqual(expect.stringMatching(/may have been written/))
    rejectNotes()
    await stage().harness.run(sync)
    await stage().harness.run(sync)
    expect(noted()).toEqual([2, 3])
  })

  it('as another content of it is refused, is set aside as any other, and keeps an older one waiting', async () => {
    const sync = await sendUnanswered(SET_ASIDE)
    put('new', 1, 'x', '3')
    rejectNotes(1, 3)
    await stage().harness.run(sync)
    expect(await stage().states(sync)).toEqual(['quarantined', 'quarantined'])
    const [old = '', newer = ''] = (await stage().person(sync).listRejected()).map(({ id }) => id)
    rejectNotes()
    await stage().redrive(sync, [old])
    expect(noted()).toEqual([2])
    await stage().redrive(sync, [newer])
    expect(noted()).toEqual([2, 3])
    expect(await stage().states(sync)).toEqual(['superseded', 'delivered'])
  })

  it('as it is refused itself, keeps nothing waiting: the answer says what became of it', async () => {
    const sync = await sendUnanswered(HELD)
    rejectNotes(1, 2)
    await stage().harness.run(sync)
    rejectNotes(2)
    await stage().harness.run(sync)
    expect(noted()).toEqual([2, 1])
  })

  describe('keeps only what may have been written:', () => {
    /** Two of a call, which nobody answered; an older one of the first is held. */
    async function sendTogether(): Promise<SeededSync> {
      put('old', 0, 'x', '1')
      put('filler', 1, 'z', '9')
      put('new', 2, 'x', '2')
      put('other', 3, 'y', '8')
      rejectNotes(1)
      stage().faults = breaksWhenever('afterSend', () => noted().length > 0)
      const sync = await stage().harness.seedSync({ ...HELD, pageSize: 2 })
      await stage().harness.run(sync, { attemptAllowance: 1 })
      stage().faults = NEVER
      await stage().passQuietTime(sync)
      return sync
    }

    it('an answered record of the same call keeps nothing waiting', async () => {
      const sync = await sendTogether()
      put('other', 3, 'y', 'bad')
      rejectNotes(1, 2)
      await stage().harness.run(sync)
      rejectNotes(2)
      await stage().harness.run(sync)
      expect(noted()).toEqual([2, 1])
      expect(await places(sync)).toEqual(['{1}'])
    })

    it('what cannot be mapped keeps nothing waiting for a row of the same call that is gone', async () => {
      const sync = await sendTogether()
      stage().source.rows.delete('new')
      put('other', 3, 'y', 'bad')
      rejectNotes()
      await stage().harness.run(sync)
      await stage().harness.run(sync)
      expect(noted()).toEqual([2, 1])
      expect(await places(sync)).toEqual(['{1}'])
    })

    it('also among records that were brought back', async () => {
      put('old', 0, 'x', '1')
      put('filler', 1, 'z', '9')
      put('new', 2, 'x', '2')
      put('other', 3, 'y', '8')
      stage().destination.decide(rejecting(({ email }) => email !== 'z'))
      const sync = await stage().harness.seedSync({ ...ASIDE })
      await stage().harness.run(sync)
      const [old = '', ...newer] = (await stage().person(sync).listRejected()).map(({ id }) => id)
      expect(newer).toHaveLength(2)
      rejectNotes()
      stage().faults = breaksWhenever('afterSend', () => noted().length > 0)
      await stage().redrive(sync, newer)
      stage().faults = NEVER
      await stage().passQuietTime(sync)
      const sent = noted().length

      const strict = await republish(database(), sync, { mapping: WITHOUT_Y })
      rejectNotes(2)
      await stage().redrive(strict, newer)
      expect(await stage().states(sync)).toEqual(['quarantined', 'quarantined', 'redriving'])
      await stage().redrive(strict, [old])
      expect(noted().slice(sent)).toEqual([1])
      expect(new Set(await places(sync))).toEqual(new Set(['{1}']))
    })
  })
})
