/**
 * A take-over against what the old holder is just doing, on PostgreSQL, in both orders of their locks (I2, I7):
 * an intent that was committed meanwhile is seen, one that comes too late is not stored, and a worker that
 * beats or ends its run meanwhile is not taken over.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { failure } from '../../src/domain/failure.ts'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { openPage, reserve } from '../../src/store/ledger.ts'
import { listLeftIntents } from '../../src/store/left-intents.ts'
import { completeRun, type RunHolder } from '../../src/store/run-ends.ts'
import { sweepRun } from '../../src/store/sweeps.ts'
import { beat, closeRunOfSilentWorker, recoverRun } from '../../src/store/workers.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import {
  BREAKER_PARTS,
  claimRun,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
  seedWorker,
} from '../support/store-seed.ts'

interface Taken {
  readonly sync: SeededSync
  readonly holder: RunHolder
  readonly page: SeededPage
}

type Reserve = (tx: Handle, taken: Taken) => Promise<boolean>

/** Both statements that reserve. */
const RESERVES: Readonly<Record<string, Reserve>> = {
  'the statement that stores its page': async (tx, { sync, holder, page }) => {
    const rest = { resendsUnknown: true, retentionMs: LEDGER_RETENTION_MS }
    const chunk = seedChunk(sync, page)
    return (await openPage(tx, { holder, page: page.page, chunk, ...rest })) !== null
  },
  'a statement of its own': async (tx, { sync, holder, page }) => {
    const { pageDigest } = page.page
    return (await reserve(tx, { holder, pageDigest, chunk: seedChunk(sync, page) })) === 'reserved'
  },
}

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a take-over', () => {
  let test: TestDatabase
  let database: Database
  /** The old holder and whoever takes over, with a connection each. */
  let old: Database
  let other: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    const open = () =>
      openDatabase({ at: { url: test.url }, maxConnections: 1, applicationName: 'test' })
    old = await open()
    other = await open()
  })
  afterAll(async () => {
    await Promise.all([old.close(), other.close()])
    await test.drop()
  })

  async function seedTaken(): Promise<Taken> {
    const sync = await seedSync(database)
    const { holder } = await seedClaimedRun(database, sync)
    return { sync, holder, page: seedPage(sync, { from: 'a', to: 'b', values: ['x'] }) }
  }
  const takeOver = ({ holder }: Taken) => recoverRun(other, { ...holder, takeOvers: 0, beatN: 0 })

  /** What the next attempt sees when it begins. */
  async function listLeft({ sync, holder }: Taken) {
    const workerId = await seedWorker(database)
    const { workspaceId } = sync
    const next = await claimRun(database, { runId: holder.runId, workerId, workspaceId })
    return (await listLeftIntents(database, next.holder)).map(({ epoch }) => epoch)
  }
  const countIntents = async ({ sync }: Taken) =>
    (await database.rows(sql`select 1 from delivery_intent where sync_id = ${sync.syncId}`)).length

  describe.each(Object.keys(RESERVES))('against a reservation by %s', (name) => {
    const reserveAs: Reserve = (tx, taken) =>
      RESERVES[name]?.(tx, taken) ?? Promise.reject(new Error(`There is no ${name}.`))

    it('that is committed meanwhile: it waits, and the next attempt sees the intent', async () => {
      const taken = await seedTaken()
      const held = await holdOpen(old, async (tx) => expect(await reserveAs(tx, taken)).toBe(true))
      const takingOver = takeOver(taken)
      await waitUntilBlocked(database, 1, '%recoverRun%')
      await held.release()
      expect(await takingOver).toMatchObject({ status: 'queued' })
      expect(await listLeft(taken)).toEqual([taken.holder.epoch])
    })

    it('that comes while it is not committed yet: nothing is reserved, and nothing left', async () => {
      const taken = await seedTaken()
      const held = await holdOpen(other, (tx) =>
        recoverRun(tx, { ...taken.holder, takeOvers: 0, beatN: 0 }),
      )
      const reserving = reserveAs(old, taken)
      await waitUntilBlocked(database, 1, '%ledger.%')
      await held.release()
      expect(await reserving).toBe(false)
      expect(await countIntents(taken)).toBe(0)
      expect(await listLeft(taken)).toEqual([])
    })
  })

  it('that read the intents in the statement that raises the epoch would see none (the control)', async () => {
    const taken = await seedTaken()
    const held = await holdOpen(old, async (tx) => RESERVES['a statement of its own']?.(tx, taken))
    const takingOver = other.rows<{ seen: number }>(sql`
      with raised as (
        update sync_fence set epoch = epoch + 1
        where sync_id = ${taken.sync.syncId} returning sync_id
      )
      select count(intent.id)::int as seen
      from raised left join delivery_intent as intent on intent.sync_id = raised.sync_id`)
    await waitUntilBlocked(database)
    await held.release()
    expect(await takingOver).toEqual([{ seen: 0 }])
    expect(await countIntents(taken)).toBe(1)
  })

  const WAYS = {
    recover: takeOver,
    close: ({ holder }: Taken) =>
      closeRunOfSilentWorker(
        other,
        { ...holder, takeOvers: 4, beatN: 0 },
        failure('stale_job_swept'),
      ),
    sweep: ({ holder }: Taken) =>
      sweepRun(other, BREAKER_PARTS, { ...holder, takeOvers: 0, beatN: 0 }),
  }

  describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('(%s)', (way) => {
    const read = async ({ holder, sync }: Taken) =>
      await database.rows(sql`
        select run.id, run.status, run.epoch, fence.epoch as fence, attempt.outcome
        from run
        join sync_fence as fence on fence.sync_id = run.sync_id
        join attempt on attempt.run_id = run.id
        where run.sync_id = ${sync.syncId} and run.workspace_id = ${sync.workspaceId}
          and attempt.epoch = ${holder.epoch}`)

    it('of a worker that beats while it waits changes nothing', async () => {
      const taken = await seedTaken()
      const before = await read(taken)
      const held = await holdOpen(database, (tx) =>
        tx.rows(sql`select 1 from sync where id = ${taken.sync.syncId} for no key update`),
      )
      const takingOver = WAYS[way](taken)
      await waitUntilBlocked(database)
      await beat(old, taken.holder.workerId)
      await held.release()
      expect(await takingOver).toBeNull()
      expect(await read(taken)).toEqual(before)
    })

    it('of a run that is just being completed changes nothing', async () => {
      const taken = await seedTaken()
      const held = await holdOpen(old, (tx) => completeRun(tx, taken.holder, 'succeeded'))
      const takingOver = WAYS[way](taken)
      await waitUntilBlocked(database)
      await held.release()
      expect(await takingOver).toBeNull()
      expect(await read(taken)).toMatchObject([
        { status: 'succeeded', epoch: 1, fence: 1, outcome: 'completed' },
      ])
    })

    it('that is not committed yet lets the holder complete nothing', async () => {
      const taken = await seedTaken()
      const held = await holdOpen(old, (tx) =>
        tx.rows(sql`select 1 from worker where id = ${taken.holder.workerId} for no key update`),
      )
      // It has the sync, the fence and the run, and waits for the worker's row.
      const takingOver = WAYS[way](taken)
      await waitUntilBlocked(database)
      const completing = completeRun(database, taken.holder, 'succeeded')
      await waitUntilBlocked(database, 2)
      await held.release()
      expect(await takingOver).not.toBeNull()
      expect(await completing).toBeNull()
      expect(await read(taken)).toMatchObject([{ epoch: 2, fence: 2 }])
    })

    it('of a run that was claimed anew a moment ago changes nothing', async () => {
      const taken = await seedTaken()
      await takeOver(taken)
      const { holder, sync } = taken
      const { workerId } = holder
      const given = { runId: holder.runId, workerId, workspaceId: sync.workspaceId }
      const again = await claimRun(database, given)
      expect(await WAYS[way](taken)).toBeNull()
      expect(await read({ ...taken, holder: again.holder })).toMatchObject([
        { status: 'running', epoch: 3, fence: 3, outcome: null },
      ])
    })
  })
})
