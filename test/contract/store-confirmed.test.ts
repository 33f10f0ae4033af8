/** On both databases: the writes that the destination has confirmed, as they are kept for a control question. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS, NO_COUNTS } from '../../src/domain/delivery.ts'
import { listConfirmedKeys, listDeliveredKeys } from '../../src/store/confirmed-keys.ts'
import { complete, openPage } from '../../src/store/ledger.ts'
import { checkpoint } from '../../src/store/pages.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  keyOf,
  newId,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from '../support/store-seed.ts'

const HOUR_MS = 3_600_000

describe.each(DATABASE_KINDS)('confirmed writes on %s', (kind) => {
  const database = useDatabase(kind)

  /** A sync with a page of which the first two records are delivered and the third is not. */
  async function seed() {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    const { pageDigest, toCursor } = seeded.page
    const chunk = seedChunk(sync, seeded)
    const page = { holder, page: seeded.page, chunk, resendsUnknown: true }
    await openPage(database(), { ...page, retentionMs: LEDGER_RETENTION_MS })
    await complete(database(), {
      intentId: chunk.intentId,
      epoch: holder.epoch,
      written: [0, 1].map((index) => ({ index, result: null })),
      remaining: { intentId: newId(), indexes: [2], keepsImport: false },
      hasHeldRecords: false,
    })
    const keep = (positions: readonly number[], given = holder) =>
      checkpoint(database(), {
        ...{ holder: given, pageDigest, toCursor, isClean: false, advances: true },
        ...{ counters: NO_COUNTS, firstSends: 0, firstSendsRejected: 0 },
        ...{
          held: [],
          leftBehind: [],
          setAside: [],
          released: [],
          retentionMs: LEDGER_RETENTION_MS,
        },
        confirmedKeys: positions.map((position) => keyOf(seeded, position)).join('') || null,
      })
    const listAged = (retentionMs = LEDGER_RETENTION_MS) =>
      listConfirmedKeys(database(), { syncId: sync.syncId, retentionMs })
    const list = async (retentionMs?: number) => (await listAged(retentionMs)).map(({ key }) => key)
    const find = async (
      given: { settlingMs?: number; retentionMs?: number; limit?: number } = {},
    ) =>
      (
        await listDeliveredKeys(database(), {
          ...{ syncId: sync.syncId, retentionMs: LEDGER_RETENTION_MS, settlingMs: 0, limit: 3 },
          ...given,
        })
      ).map(({ key }) => key)
    const age = (key: string | undefined) =>
      database().rows(sql`update delivery set completed_at = now() - interval '2 hours'
        where encode(key, 'hex') = ${key ?? ''}`)
    const keys = [0, 1].map((position) => keyOf(seeded, position))
    return { sync, holder, keep, list, listAged, find, age, keys }
  }

  it('are those that the last checkpoint named, in its order; one that names none leaves them', async () => {
    const { keep, list, keys } = await seed()
    expect(await list()).toEqual([])
    await keep([1, 0])
    expect(await list()).toEqual([...keys].reverse())
    await keep([])
    expect(await list()).toEqual([...keys].reverse())
    await keep([0])
    expect(await list()).toEqual(keys.slice(0, 1))
  })

  it('are nothing that the ledger does not know, or has forgotten', async () => {
    const { sync, keep, list, age, keys } = await seed()
    await keep([2, 1, 0])
    expect(await list()).toEqual([...keys].reverse())
    await age(keys[0])
    expect(await list(HOUR_MS)).toEqual(keys.slice(1))
    expect(
      await listConfirmedKeys(database(), { ...sync, syncId: newId(), retentionMs: 1 }),
    ).toEqual([])
  })

  it('are kept by nobody whose fence was raised', async () => {
    const { holder, keep, list } = await seed()
    expect(await keep([0], { ...holder, epoch: holder.epoch - 1 })).toBeNull()
    expect(await list()).toEqual([])
  })

  it('are as old as the ledger says', async () => {
    const { keep, listAged, age, keys } = await seed()
    await keep([1, 0])
    await age(keys[0])
    const [young, old] = (await listAged()).map(({ ageMs }) => ageMs)
    expect(young).toBeLessThan(HOUR_MS)
    expect(old).toBeGreaterThanOrEqual(2 * HOUR_MS)
  })

  describe('that no checkpoint has named', () => {
    it('are found by the pages that are open, those that are old enough first', async () => {
      const { find, age, keys } = await seed()
      expect((await find()).sort()).toEqual([...keys].sort())
      expect(await find({ limit: 1 })).toHaveLength(1)
      await age(keys[1])
      expect(await find({ settlingMs: HOUR_MS })).toEqual([...keys].reverse())
      expect(await find({ settlingMs: 0 })).toEqual(keys)
      expect(await find({ retentionMs: HOUR_MS })).toEqual(keys.slice(0, 1))
    })

    it('are found by what is in flight, where the page is not open any more', async () => {
      const { sync, find, keys } = await seed()
      await database().rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
      expect((await find()).sort()).toEqual([...keys].sort())
      await database().rows(sql`delete from delivery_intent where sync_id = ${sync.syncId}`)
      expect(await find()).toEqual([])
    })

    it('are those of their own sync only', async () => {
      const { keys } = await seed()
      const other = await seed()
      expect((await other.find()).sort()).toEqual([...other.keys].sort())
      expect(other.keys).not.toEqual(keys)
    })
  })
})
