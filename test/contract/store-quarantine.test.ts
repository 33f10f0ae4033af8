/** Rejected records on both databases: set aside, brought back, overtaken, forgotten (I2, I8, I11, I13). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { listRejectedRecords } from '../../src/store/history/rejected-records.ts'
import { reserve } from '../../src/store/ledger.ts'
import { dropSpentIntents, listLeftIntents } from '../../src/store/left-intents.ts'
import { findOpenPage, listHeldRecords } from '../../src/store/pages.ts'
import {
  bringBack,
  checkpointRedriven,
  countSetAside,
  discard,
  forgetEnded,
  listRedriven,
} from '../../src/store/quarantine.ts'
import { completeRun } from '../../src/store/run-ends.ts'
import { recoverRun } from '../../src/store/workers.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { counts } from '../support/deliveries.ts'
import { makeHeldRecords, makeRun } from '../support/factories.ts'
import { listRejected, rejected, storePage, takeCheckpoint } from '../support/rejected-records.ts'
import {
  identityOf,
  newId,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
} from '../support/store-seed.ts'

const DAY_MS = 24 * 3_600_000
/** A closed page whose records were all set aside by one run, which goes on. */
async function setPageAside(
  database: Database,
  given: { readonly values?: readonly string[]; readonly sync?: SeededSync } = {},
) {
  const { values = ['x', 'y', 'z'] } = given
  const sync = given.sync ?? (await seedSync(database))
  const { holder } = await seedClaimedRun(database, sync)
  const from = newId()
  const seeded = seedPage(sync, { from, to: newId(), values })
  await storePage(database, holder, seeded)
  const setAside = values.map((_, position) => rejected(seeded, position))
  const counters = counts({ read: values.length, quarantined: values.length })
  const done = await takeCheckpoint(database, holder, seeded, { setAside, counters })
  expect(done?.progress.counters).toEqual(counters)
  return { sync, holder, seeded, ids: setAside.map(({ id }) => id) }
}

/** The same, brought back, and claimed by a run that sends it. */
async function bringPageBack(database: Database, given: Parameters<typeof setPageAside>[1] = {}) {
  const { sync, holder: before, seeded, ids } = await setPageAside(database, given)
  await completeRun(database, before, 'partial')
  await bringBack(database, ids)
  const { holder } = await seedClaimedRun(database, sync)
  return { sync, holder, seeded, ids }
}

async function statesOf(database: Database, sync: SeededSync) {
  return (await listRejected(database, sync)).map(({ state }) => state)
}

async function payloadsOf(database: Database, { syncId }: SeededSync) {
  const rows = await database.rows<{ payload: string | null }>(sql`
    select sealed_payload as payload from held_record where sync_id = ${syncId} order by id`)
  return rows.map(({ payload }) => payload)
}

describe.each(DATABASE_KINDS)('rejected records on %s', (kind) => {
  const database = useDatabase(kind)

  describe('are set aside', () => {
    it('under the entry that they had while they were held; others get one', async () => {
      const sync = await seedSync(database())
      const { holder } = await seedClaimedRun(database(), sync)
      const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
      await storePage(database(), holder, seeded)
      const [x, y] = [rejected(seeded, 0), rejected(seeded, 1)]
      const held = { isClean: false, counters: counts({ read: 3, rejected: 1, written: 2 }) }
      await takeCheckpoint(database(), holder, seeded, { ...held, held: [x] })
      await completeRun(database(), holder, 'partial')
      const { holder: next } = await seedClaimedRun(database(), sync)
      await takeCheckpoint(database(), next, seeded, {
        advances: false,
        counters: counts({ read: 3, quarantined: 2, replayed: 1 }),
        setAside: [{ ...x, id: newId() }, y],
      })
      expect(await listRejected(database(), sync)).toMatchObject([
        {
          id: x.id,
          state: 'quarantined',
          runs: 2,
          firstRunId: holder.runId,
          lastRunId: next.runId,
        },
        { id: y.id, state: 'quarantined', runs: 1, firstRunId: next.runId, lastRunId: next.runId },
      ])
      expect(await payloadsOf(database(), sync)).toEqual(['sealed 0', 'sealed 1'])
      expect(await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)).toBeNull()
      expect(await countSetAside(database(), sync.syncId)).toBe(2)
    })

    it('while others of the page are held: to the page they are no more its own', async () => {
      const sync = await seedSync(database())
      const { holder } = await seedClaimedRun(database(), sync)
      const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
      await storePage(database(), holder, seeded)
      await takeCheckpoint(database(), holder, seeded, {
        isClean: false,
        counters: counts({ read: 2, rejected: 1, quarantined: 1 }),
        held: [rejected(seeded, 0)],
        setAside: [rejected(seeded, 1)],
      })
      const { pageDigest } = seeded.page
      const before = { isSuperseded: false, runsBefore: 0 }
      expect(await listHeldRecords(database(), { ...holder, pageDigest })).toEqual([
        { position: 0, isSetAside: false, ...before },
        { position: 1, isSetAside: true, ...before },
      ])
      // Of a page that begins at the same cursor, read anew, they are nothing.
      await database().rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
      await storePage(database(), holder, seeded)
      expect(await listHeldRecords(database(), { ...holder, pageDigest })).toEqual([
        { position: 0, isSetAside: false, ...before },
      ])
    })

    it('not by a stale fence: nothing changes', async () => {
      const sync = await seedSync(database())
      const { holder } = await seedClaimedRun(database(), sync)
      const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
      await storePage(database(), holder, seeded)
      await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })
      const done = await takeCheckpoint(database(), holder, seeded, {
        counters: counts({ read: 1, quarantined: 1 }),
        setAside: [rejected(seeded, 0)],
      })
      expect(done).toBeNull()
      expect(await statesOf(database(), sync)).toEqual([])
    })

    it('and a run that set records aside cannot be called a success', async () => {
      const { holder } = await setPageAside(database())
      await expect(completeRun(database(), holder, 'succeeded')).rejects.toThrow(/succeeded_whole/)
    })
  })

  describe('that were brought back', () => {
    it('are listed page by page, the last page and position first, until they are counted', async () => {
      const first = await setPageAside(database())
      await completeRun(database(), first.holder, 'partial')
      const second = await setPageAside(database(), { sync: first.sync, values: ['u', 'v'] })
      await completeRun(database(), second.holder, 'partial')
      await bringBack(database(), [...first.ids, ...second.ids])
      const { holder } = await seedClaimedRun(database(), first.sync)
      for (const { seeded, ids } of [second, first]) {
        const listed = await listRedriven(database(), holder)
        expect(listed.map(({ id }) => id)).toEqual([...ids].reverse())
        const { pageDigest } = seeded.page
        expect(listed[0]).toMatchObject({
          pageDigest,
          identityHash: identityOf(seeded, ids.length - 1),
        })
        const outcomes = listed.map(({ id, position, destinationIdentityHash }) => ({
          ...{ id, position, destinationIdentityHash, state: 'redriving' as const, reason: null },
        }))
        await checkpointRedriven(database(), {
          ...{ holder, pageDigest, ordinal: listed[0]?.ordinal ?? 0, outcomes },
          counters: counts({ read: ids.length, inDoubt: ids.length }),
        })
      }
      expect(await listRedriven(database(), holder)).toEqual([])
      await completeRun(database(), holder, 'partial')
      const { holder: next } = await seedClaimedRun(database(), first.sync)
      expect(await listRedriven(database(), next)).toHaveLength(2)
    })

    it('come in portions, however large they are', async () => {
      const { holder, ids } = await bringPageBack(database())
      await database().rows(sql`update held_record
        set sealed_payload = repeat('s', 20 * 1024 * 1024)
        where id = any (${`{${ids.join(',')}}`}::text::uuid[])`)
      expect((await listRedriven(database(), holder)).map(({ id }) => id)).toEqual([ids[2]])
    })

    it('end where their outcome says, each once, with the books', async () => {
      const { sync, holder, seeded, ids } = await bringPageBack(database())
      const listed = await listRedriven(database(), holder)
      const states = ['delivered', 'quarantined', 'redriving'] as const
      const options = {
        holder,
        pageDigest: seeded.page.pageDigest,
        ordinal: listed[0]?.ordinal ?? 0,
        counters: counts({ read: 3, written: 1, quarantined: 1, inDoubt: 1 }),
        outcomes: states.map((state, position) => ({
          ...{ id: ids[position] ?? '', position, state },
          destinationIdentityHash: identityOf(seeded, position),
          reason: state === 'quarantined' ? 'still no' : null,
        })),
      }
      const done = await checkpointRedriven(database(), options)
      expect(done?.progress.counters).toEqual(options.counters)
      expect(await listRejected(database(), sync)).toMatchObject([
        { state: 'delivered', runs: 1, isKept: false, endedAt: expect.any(Date) },
        {
          state: 'quarantined',
          runs: 2,
          reason: 'still no',
          lastRunId: holder.runId,
          endedAt: null,
        },
        { state: 'redriving', runs: 1, isKept: true, endedAt: null },
      ])
      const unbalanced = { ...options, counters: counts({ read: 1 }) }
      await expect(checkpointRedriven(database(), unbalanced)).rejects.toThrow(/run_books/)
    })

    it('stay as they are under a stale fence', async () => {
      const { sync, holder, seeded, ids } = await bringPageBack(database())
      const [first] = await listRedriven(database(), holder)
      await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })
      const outcomes = ids.map((id, position) => ({
        ...{ id, position, state: 'delivered' as const, reason: null },
        destinationIdentityHash: identityOf(seeded, position),
      }))
      const done = await checkpointRedriven(database(), {
        ...{ holder, pageDigest: seeded.page.pageDigest, ordinal: first?.ordinal ?? 0, outcomes },
        counters: counts({ read: 3, written: 3 }),
      })
      expect(done).toBeNull()
      expect(await statesOf(database(), sync)).toEqual(Array(3).fill('redriving'))
    })

    it('are not looked for in a page that is read again: their calls are not its own', async () => {
      const { sync, holder, seeded } = await bringPageBack(database())
      const { ordinal = 0 } = (await listRedriven(database(), holder))[0] ?? {}
      const identities = [0, 1, 2].map((position) => identityOf(seeded, position)).join('')
      const chunk = { ...seedChunk(sync, seeded), redriven: { ordinal, identities } }
      await reserve(database(), { holder, pageDigest: seeded.page.pageDigest, chunk })
      await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })
      const later = { ...holder, epoch: holder.epoch + 2 }
      await database().rows(sql`update sync_fence set epoch = ${later.epoch}
        where sync_id = ${sync.syncId}`)
      await storePage(database(), later, seeded)
      expect(await listLeftIntents(database(), later)).toMatchObject([
        { id: chunk.intentId, pageOrdinal: ordinal, identities },
      ])
      await takeCheckpoint(database(), later, seeded, { counters: counts({}) })
      expect(await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)).toBeNull()
    })

    it('and ended otherwise leave a call behind only until that can have no more effect', async () => {
      const { sync, holder, seeded, ids } = await bringPageBack(database())
      const { ordinal = 0 } = (await listRedriven(database(), holder))[0] ?? {}
      const identities = [0, 1, 2].map((position) => identityOf(seeded, position)).join('')
      const chunk = { ...seedChunk(sync, seeded), redriven: { ordinal, identities } }
      await reserve(database(), { holder, pageDigest: seeded.page.pageDigest, chunk })
      const next = { ...holder, epoch: holder.epoch + 1 }
      await database().rows(sql`update sync_fence set epoch = ${next.epoch}
        where sync_id = ${sync.syncId}`)
      const left = async () => {
        await dropSpentIntents(database(), next)
        const rows = await database().rows(sql`select 1 from delivery_intent
          where sync_id = ${sync.syncId}`)
        return rows.length
      }
      const pass = () =>
        database().rows(sql`update delivery_intent set quiet_at = now() - interval '1 second'
          where sync_id = ${sync.syncId}`)
      await discard(database(), ids.slice(0, 2))
      await pass()
      expect(await left()).toBe(1)
      await discard(database(), ids)
      expect(await left()).toBe(0)
    })
  })

  describe('that are over', () => {
    it('keep nothing of their rows', async () => {
      const { sync, ids } = await setPageAside(database())
      await discard(database(), ids.slice(1))
      expect(await payloadsOf(database(), sync)).toEqual(['sealed 0', null, null])
      await expect(
        database().rows(sql`update held_record set sealed_payload = 'x' where id = ${ids[1]}`),
      ).rejects.toThrow(/payload_while_needed/)
    })

    it('are forgotten after a while, but not while their page is open', async () => {
      const { sync, holder, seeded, ids } = await setPageAside(database())
      await discard(database(), ids)
      await database().rows(sql`update held_record set ended_at = now() - interval '8 days'
        where id <> ${ids[2]} and sync_id = ${sync.syncId}`)
      const [row] = await database().rows<{ ordinal: number }>(sql`
        select ordinal from held_record where id = ${ids[0]}`)
      await storePage(database(), holder, seeded)
      await database().rows(sql`update held_record
        set ordinal = (select ordinal from open_page where sync_id = ${sync.syncId})
        where id = ${ids[0]}`)
      expect(row?.ordinal).toBeGreaterThan(0)
      expect(await forgetEnded(database(), 7 * DAY_MS)).toBe(1)
      expect((await listRejected(database(), sync)).map(({ id }) => id)).toEqual([ids[0], ids[2]])
      await database().rows(sql`delete from open_page where sync_id = ${sync.syncId}`)
      expect(await forgetEnded(database(), 7 * DAY_MS)).toBe(1)
    })
  })

  it('are listed oldest first, each once, in the states asked for, for their workspace only', async () => {
    const sync = await seedSync(database())
    const { workspaceId, syncId } = sync
    const runId = await makeRun(database(), { workspaceId, syncId, status: 'partial', rejected: 6 })
    await makeHeldRecords(database(), { syncId, runId, count: 3 })
    await makeHeldRecords(database(), { syncId, runId, count: 3 })
    await database().rows(sql`update held_record set is_superseded = true
      where sync_id = ${syncId} and position = 1`)
    const ask = (given: Partial<Parameters<typeof listRejectedRecords>[2]>, of = workspaceId) =>
      listRejectedRecords(database(), of, {
        ...{ of: { syncId }, states: ['held'], after: null, limit: 3 },
        ...given,
      })
    const first = await ask({})
    const rest = await ask({ after: first[2]?.id ?? null })
    expect([...first, ...rest].map(({ position }) => position)).toEqual([0, 2, 0, 2])
    expect(await ask({ states: ['superseded'] })).toHaveLength(2)
    expect(await ask({ states: [] })).toEqual([])
    expect(await ask({ of: { runId } })).toHaveLength(3)
    expect(await ask({ of: { runId: newId() } })).toEqual([])
    expect(await ask({}, newId())).toEqual([])
    expect(await ask({ of: { runId } }, newId())).toEqual([])
  })
})
