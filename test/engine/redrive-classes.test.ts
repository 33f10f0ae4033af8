/**
 * Records that are brought back at destinations that can be asked, or take calls in for later: what nobody
 * answered is found out, and nothing is written twice (I4, I12). And while a source is read again (I11).
 */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { breaksAt, counts, hurriedClock, leftOf, notesOf } from '../support/deliveries.ts'
import { republish } from '../support/engine-harness.ts'
import { ASIDE, BY_EMAIL, POINTS, useQuarantineStage } from '../support/quarantine-stage.ts'

const LOOKUP = { ...BY_EMAIL, deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' }
const IMPORTS = { ...BY_EMAIL, importsObject: '/imports', importPollMs: 100 }
const CLASSES = {
  lookup: LOOKUP,
  'import, idempotent': { ...IMPORTS, deliveryClass: 'IDEMPOTENT' },
  'import, lookup': { ...IMPORTS, ...LOOKUP },
  'import, none': { ...IMPORTS, deliveryClass: 'NONE' },
}
const IS_IMPORT = (name: string) => name.startsWith('import')

describe.each(ENGINE_DATABASE_KINDS)('a record that is brought back, on %s,', (kind) => {
  const database = useDatabase(kind)
  const stage = useQuarantineStage(database)

  describe.each(Object.entries(CLASSES))('at a destination of the kind %s', (name, options) => {
    const points = IS_IMPORT(name) ? [...POINTS, 'afterAccept' as const] : POINTS

    it.each(points)('%s: is written once and counted once', async (point) => {
      const { harness, destination } = stage()
      await stage().start({ clock: hurriedClock })
      const sync = await stage().setAside(['a', 'b', 'c'], ['a', 'b'])
      const objectOptions = { ...options, requestDeadlineMs: 1_000 }
      const other = await republish(database(), sync, { objectOptions })
      if (IS_IMPORT(name)) {
        destination.always({ kind: 'accept' })
      }
      stage().faults = breaksAt(point)
      expect(await stage().redrive(other)).toMatchObject({
        status: 'succeeded',
        counters: { read: 2, rejected: 0, inDoubt: 0, quarantined: 0, skipped: 0 },
      })
      expect(await stage().states(sync)).toEqual(['delivered', 'delivered'])
      expect([...destination.effects.values()]).toEqual([1, 1, 1])
      expect(await leftOf(database(), sync.syncId)).toMatchObject({ pages: 0, intents: 0 })
      expect(await harness.run(other)).toMatchObject({ status: 'succeeded', counters: counts({}) })
    })
  })

  it('under another name than it had takes the newer record of that name along, which the ledger protects', async () => {
    const { harness, destination, source } = stage()
    await stage().start()
    const put = (rank: number, email: string, note: string) =>
      source.put({ identity: `row${rank}`, rank, fields: { email, note, name: 'x' } })
    put(0, 'a', 'old')
    put(1, 'x', 'new')
    const sync = await harness.seedSync({ ...ASIDE, pageSize: 1 })
    await harness.run(sync)
    await database().rows(sql`update delivery set completed_at = now() - interval '8 days'
      where key = decode(${destination.applied[0]?.key ?? ''}, 'hex')`)
    await stage().person(sync).reset()
    stage().rejectNotes('old')
    // The first page is read again and its record set aside; the second is not reached.
    stage().faults = breaksAt('afterReadPage', 2)
    await harness.run(sync, { attemptAllowance: 1 })
    expect(await stage().states(sync)).toEqual(['quarantined'])
    stage().rejectNotes()
    const mapping = { email: { $path: 'name' }, note: { $path: 'note' } }
    const other = await republish(database(), sync, { mapping })
    expect(await stage().redrive(other)).toMatchObject({
      status: 'succeeded',
      counters: counts({ read: 2, written: 2 }),
    })
    expect(notesOf(destination, 'x')).toEqual(['new', 'old', 'new'])
  })
})
