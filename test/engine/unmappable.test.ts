/**
 * Records that the mapping rejects: old never overwrites new (I11) when the mapping or the row is mended,
 * whatever the source calls them, and also where something of them was sent before.
 */
import { describe, expect, it } from 'vitest'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, breaksWhenever, counts, leftOf, notesOf } from '../support/deliveries.ts'
import { republish } from '../support/engine-harness.ts'
import { ASIDE, BY_EMAIL, NEVER, useQuarantineStage } from '../support/quarantine-stage.ts'

const PLAIN: SyncConfig['mapping'] = { email: { $path: 'email' }, note: { $path: 'note' } }
/** Takes whole numbers for a note, and rejects every other row. */
const STRICT: SyncConfig['mapping'] = {
  email: { $path: 'email' },
  note: { $number: { value: { $path: 'note' } } },
}
/** Rejects the newer of two rows. */
const STRICT_NEW: SyncConfig['mapping'] = {
  email: { $path: 'email' },
  note: { $lookup: { value: { $path: 'note' }, table: { x: 'x' } } },
}
const NEVER_MENDED = STRICT_NEW
/** Tells the contact of one row only. */
const ONLY_NEW = { $lookup: { value: { $path: 'note' }, table: { new: 'x' } } } as const
const HELD = { onRejected: 'HOLD', objectOptions: BY_EMAIL } as const
describe.each(ENGINE_DATABASE_KINDS)('a record that cannot be mapped, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)

  describe('is known by the name that it has at the destination, so that a newer one', () => {
    it.each([1, 2])('supersedes it while it is held (pages of %i)', async (pageSize) => {
      await stage().start()
      stage().put(0, 'x', 'old')
      stage().put(1, 'x', '2')
      const sync = await stage().harness.seedSync({ ...HELD, pageSize, mapping: STRICT })
      await stage().harness.run(sync)
      const mended = await republish(database(), sync, { mapping: PLAIN })
      expect(await stage().harness.run(mended)).toMatchObject({ status: 'succeeded' })
      expect(notesOf(stage().destination, 'x')).toEqual([2])
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })

    it.each([1, 2])('supersedes it while it is set aside (pages of %i)', async (pageSize) => {
      await stage().start()
      stage().put(0, 'x', 'old')
      const sync = await stage().harness.seedSync({ ...ASIDE, pageSize, mapping: STRICT })
      await stage().harness.run(sync)
      expect(await stage().states(sync)).toEqual(['quarantined'])
      stage().put(1, 'x', '2')
      await stage().harness.run(sync)
      expect(await stage().states(sync)).toEqual(['superseded'])
    })

    it('supersedes it also where its name cannot be told any more', async () => {
      const { harness, destination, source } = stage()
      await stage().start()
      const row = { identity: 'row', rank: 0 }
      source.put({ ...row, fields: { email: 'x', note: 'old' } })
      const mapping = { ...PLAIN, email: { $number: { value: { $path: 'email' } } } }
      const sync = await harness.seedSync({ ...HELD, pageSize: 1 })
      stage().rejectNotes('old')
      await harness.run(sync)
      const nameless = await republish(database(), sync, { mapping })
      expect(await harness.run(nameless)).toMatchObject({ counters: { rejected: 1 } })
      source.put({ identity: 'other', rank: 1, fields: { email: 'x', note: 'new' } })
      const named = { ...PLAIN, email: ONLY_NEW }
      const partly = await republish(database(), sync, { mapping: named })
      expect(await harness.run(partly)).toMatchObject({ counters: { written: 1, rejected: 1 } })
      stage().rejectNotes()
      expect(await harness.run(await republish(database(), sync, {}))).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 1, skipped: 1 }),
      })
      expect(notesOf(destination, 'x')).toEqual(['new'])
    })

    it('supersedes it under the name that it has by now, where it was brought back meanwhile', async () => {
      const { harness, destination } = stage()
      await stage().start()
      const sync = await stage().setAside(['a'], ['a'])
      const renamed: SyncConfig['mapping'] = { ...STRICT, email: { $path: 'spare' } }
      await stage().redrive(await republish(database(), sync, { mapping: renamed }))
      expect(await stage().states(sync)).toEqual(['quarantined'])
      stage().put(1, 'spare', '2')
      await harness.run(await republish(database(), sync, { mapping: PLAIN }))
      expect(await stage().states(sync)).toEqual(['superseded'])
      expect(notesOf(destination, 'spare')).toEqual(['2'])
    })
  })

  it('that only a later mapping names is written over a newer one of that name', async () => {
    const { harness, destination } = stage()
    await stage().start()
    stage().put(0, 'x', 'old')
    stage().put(1, 'x', 'new')
    const mapping = { ...PLAIN, email: ONLY_NEW }
    const sync = await harness.seedSync({ ...HELD, pageSize: 1, mapping })
    await harness.run(sync)
    await harness.run(await republish(database(), sync, { mapping: PLAIN }))
    expect(notesOf(destination, 'x')).toEqual(['new', 'old'])
  })

  describe('and may have been written before, keeps older ones of its identity waiting', () => {
    it.each([1, 2])('while it is held (pages of %i)', async (pageSize) => {
      const { harness, destination } = stage()
      stage().faults = breaksAt('afterSend', 2)
      await stage().start()
      stage().put(0, 'x', '1')
      stage().put(1, 'x', 'new')
      const sync = await harness.seedSync({ ...HELD, pageSize })
      stage().rejectNotes('1')
      await harness.run(sync, { attemptAllowance: 1 })
      stage().rejectNotes()
      const strict = await republish(database(), sync, { mapping: STRICT })
      for (let runs = 0; runs < 2; runs += 1) {
        expect((await harness.run(strict)).counters).toEqual(counts({ read: 2, rejected: 2 }))
        await stage().passQuietTime(sync)
      }
      const reasons = (await stage().person(sync).listRejected()).map(({ reason }) => reason)
      expect(reasons.at(-1)).toMatch(/It was sent before without an answer/)
      const plain = await republish(database(), sync, { mapping: PLAIN })
      await harness.run(plain)
      expect(await harness.run(plain)).toMatchObject({ status: 'succeeded' })
      expect(new Set(notesOf(destination, 'x'))).toEqual(new Set(['new']))
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    })

    it.each([
      ['it stays set aside', NEVER_MENDED],
      ['it is brought back and delivered', PLAIN],
    ])('while it is set aside, until %s', async (_, mended) => {
      const { harness, destination } = stage()
      await stage().start()
      const sync = await stage().setAside(['x'], ['x'], { pageSize: 1 })
      stage().put(1, 'x', 'new')
      stage().faults = breaksWhenever('afterSend', () => notesOf(destination, 'x').includes('new'))
      await harness.run(sync, { attemptAllowance: 1 })
      stage().faults = NEVER
      await stage().passQuietTime(sync)
      const strict = await republish(database(), sync, { mapping: STRICT_NEW })
      expect((await harness.run(strict)).counters).toEqual(counts({ read: 1, quarantined: 1 }))
      const [old = '', newer = ''] = (await stage().person(sync).listRejected()).map(({ id }) => id)
      const later = await republish(database(), strict, { mapping: mended })
      await stage().redrive(later, [old])
      expect(notesOf(destination, 'x')).toEqual(['new'])
      if (mended === PLAIN) {
        await stage().redrive(later, [newer])
        expect(await stage().states(sync)).toEqual(['superseded', 'delivered'])
        expect(notesOf(destination, 'x')).toEqual(['new', 'new'])
      }
    })

    it('while it is brought back', async () => {
      const { harness, destination } = stage()
      await stage().start()
      stage().put(0, 'x', '1')
      stage().put(1, 'x', 'new')
      const sync = await harness.seedSync({ ...ASIDE, pageSize: 1 })
      stage().rejectNotes('1', 'new')
      await harness.run(sync)
      stage().rejectNotes()
      const ids = (await stage().person(sync).listRejected()).map(({ id }) => id)
      stage().faults = breaksWhenever('afterSend')
      expect(await stage().redrive(sync, ids.slice(1))).toMatchObject({ status: 'failed' })
      stage().faults = NEVER
      const sent = notesOf(destination, 'x').length
      const strict = await republish(database(), sync, { mapping: STRICT })
      await stage().passQuietTime(sync)
      expect((await stage().redrive(strict, ids)).counters).toEqual(
        counts({ read: 2, quarantined: 1, skipped: 1 }),
      )
      expect(await stage().states(sync)).toEqual(['redriving', 'redriving'])
      expect((await stage().person(sync).discard(ids.slice(1))).items).toEqual([
        expect.objectContaining({ status: 'in_doubt' }),
      ])
      await stage().redrive(await republish(database(), sync, { mapping: PLAIN }), ids)
      expect(await stage().states(sync)).toEqual(['superseded', 'delivered'])
      expect(notesOf(destination, 'x').slice(sent)).toEqual(['new'])
      expect(new Set(notesOf(destination, 'x'))).toEqual(new Set(['new']))
    })
  })
})
