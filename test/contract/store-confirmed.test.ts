/** On both databases: the writes that the destination has confirmed, as they are kept for a control question. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS, NO_COUNTS } from '../../src/domain/delivery.ts'
import { complete, listConfirmedKeys, openPage } from '../../src/store/ledger.ts'
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
    const list = (retentionMs = LEDGER_RETENTION_MS) =>
      listConfirmedKeys(database(), { syncId: sync.syncId, retentionMs })
    return { sync, holder, keep, list, keys: [0, 1].map((position) => keyOf(seeded, position)) }
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
    const { sync, keep, list, keys } = await seed()
    await keep([2, 1, 0])
    expect(await list()).toEqual([...keys].reverse())
    await database().rows(sql`update delivery set completed_at = now() - interval '2 hours'
      where encode(key, 'hex') = ${keys[0] ?? ''}`)
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
})
