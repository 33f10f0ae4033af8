/** Open pages and the checkpoint on both databases: cursors, counters and page move as one (I3). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type Counters, LEDGER_RETENTION_MS, NO_COUNTS } from '../../src/domain/delivery.ts'
import type { Database } from '../../src/store/database.ts'
import { complete, openPage, reserve } from '../../src/store/ledger.ts'
import {
  type CheckpointOptions,
  checkpoint,
  findOpenPage,
  hasHeldRecords,
  holdRecords,
  listHeldRecords,
  listOpenPages,
  type RecordToHold,
} from '../../src/store/pages.ts'
import { completeRun, type RunHolder } from '../../src/store/run-ends.ts'
import { recoverRun } from '../../src/store/workers.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  claimRun,
  digestOf,
  identityOf,
  newId,
  newRun,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
  seedWorker,
} from '../support/store-seed.ts'

function counts(given: Partial<Counters>): Counters {
  const counted = { ...NO_COUNTS, ...given }
  const { read: _, ...parts } = counted
  return { ...counted, read: Object.values(parts).reduce((sum, n) => sum + n, 0) }
}

function checkpointOf(
  holder: RunHolder,
  seeded: SeededPage,
  given: Partial<CheckpointOptions> = {},
): CheckpointOptions {
  return {
    holder,
    pageDigest: seeded.page.pageDigest,
    toCursor: seeded.page.toCursor,
    isClean: true,
    advances: true,
    counters: counts({ written: seeded.values.length }),
    firstSends: 0,
    firstSendsRejected: 0,
    held: [],
    leftBehind: [],
    setAside: [],
    released: [],
    confirmedKeys: null,
    retentionMs: LEDGER_RETENTION_MS,
    ...given,
  }
}

function toHold(seeded: SeededPage, position: number, reason = 'is not valid'): RecordToHold {
  const hash = identityOf(seeded, position)
  return {
    id: newId(),
    position,
    identityHash: hash,
    destinationIdentityHash: hash,
    reason,
    isSuperseded: false,
    isRejected: true,
    keepsIntent: false,
  }
}

async function store(database: Database, holder: RunHolder, seeded: SeededPage): Promise<void> {
  const opened = await openPage(database, {
    holder,
    page: seeded.page,
    chunk: null,
    resendsUnknown: true,
    retentionMs: LEDGER_RETENTION_MS,
  })
  expect(opened).not.toBeNull()
}

/** Stores, reserves and completes the given positions of a page. */
async function deliver(
  database: Database,
  sync: SeededSync,
  given: { holder: RunHolder; seeded: SeededPage; positions: readonly number[]; hasHeld?: boolean },
): Promise<void> {
  const { holder, seeded, positions } = given
  const chunk = seedChunk(sync, seeded, positions)
  await openPage(database, {
    holder,
    page: seeded.page,
    chunk,
    resendsUnknown: true,
    retentionMs: LEDGER_RETENTION_MS,
  })
  const isRecorded = await complete(database, {
    intentId: chunk.intentId,
    epoch: holder.epoch,
    written: positions.map((_, index) => ({ index, result: null })),
    remaining: null,
    hasHeldRecords: given.hasHeld ?? false,
  })
  expect(isRecorded).toBe(true)
}

async function readHeld(database: Database, syncId: string) {
  return await database.rows(sql`
    select position, reason, runs, is_superseded as "isSuperseded"
    from held_record where sync_id = ${syncId} order by position`)
}

async function cursorsOf(database: Database, syncId: string) {
  const [row] = await database.rows<{ reached: string | null; saved: string | null }>(
    sql`select reached, saved_cursor as saved from sync_fence where sync_id = ${syncId}`,
  )
  return row
}

describe.each(DATABASE_KINDS)('pages on %s', (kind) => {
  const database = useDatabase(kind)

  it('closes a clean page and moves both cursors past it', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    await store(database(), holder, seeded)
    const done = await checkpoint(database(), checkpointOf(holder, seeded))
    expect(done?.progress.counters).toEqual(counts({ written: 2 }))
    expect(done?.progress.sequence).toEqual({ epoch: holder.epoch, n: 1 })
    expect(done?.syncStatus).toBe('active')
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: 'b', saved: 'b' })
    expect(await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)).toBeNull()
  })

  it('keeps a page with a held record open; the saved cursor stays in front of the oldest one', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const first = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y'] })
    const second = seedPage(sync, { from: 'b', to: 'c', values: ['z'] })
    await store(database(), holder, first)
    await checkpoint(
      database(),
      checkpointOf(holder, first, {
        isClean: false,
        counters: counts({ written: 1, rejected: 1 }),
        held: [toHold(first, 1)],
      }),
    )
    await store(database(), holder, second)
    await checkpoint(database(), checkpointOf(holder, second))
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: 'c', saved: 'a' })
    expect(await hasHeldRecords(database(), sync.syncId)).toBe(true)
    const held = { position: 1, isSuperseded: false, isSetAside: false }
    const { pageDigest } = first.page
    for (const [runId, runsBefore] of [
      [holder.runId, 0],
      [newId(), 1],
    ] as const) {
      expect(await listHeldRecords(database(), { syncId: sync.syncId, pageDigest, runId })).toEqual(
        [{ ...held, runsBefore }],
      )
    }
    expect((await findOpenPage(database(), sync.syncId, first.page.pageDigest))?.isPassed).toBe(
      true,
    )
  })

  it('lists all open pages, oldest first, and which of them stand in the books of a run', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const first = seedPage(sync, { from: 'b', to: 'c', values: ['x'] })
    const second = seedPage(sync, { from: 'a', to: 'b', values: ['y'] })
    const syncId = sync.syncId
    const listed = async (runId: string) =>
      (await listOpenPages(database(), { syncId, runId })).map(({ pageDigest, isCounted }) => [
        pageDigest,
        isCounted,
      ])
    const [firstDigest, secondDigest] = [first.page.pageDigest, second.page.pageDigest]
    await store(database(), holder, first)
    await checkpoint(
      database(),
      checkpointOf(holder, first, {
        isClean: false,
        counters: counts({ rejected: 1 }),
        held: [toHold(first, 0)],
      }),
    )
    await store(database(), holder, second)
    expect(await listed(holder.runId)).toEqual([
      [firstDigest, true],
      [secondDigest, false],
    ])
    expect(await listed(newRun(sync).id)).toEqual([
      [firstDigest, false],
      [secondDigest, false],
    ])
    await checkpoint(database(), checkpointOf(holder, second))
    expect(await listed(holder.runId)).toEqual([[firstDigest, true]])
  })

  it('does not move `reached` for a page that it passed before', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const first = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const second = seedPage(sync, { from: 'b', to: 'c', values: ['y'] })
    const heldFirst = {
      isClean: false,
      counters: counts({ rejected: 1 }),
      held: [toHold(first, 0)],
    }
    await store(database(), holder, first)
    await checkpoint(database(), checkpointOf(holder, first, heldFirst))
    await store(database(), holder, second)
    await checkpoint(database(), checkpointOf(holder, second))
    await checkpoint(database(), checkpointOf(holder, first, { advances: false }))
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: 'c', saved: 'c' })
    expect(await hasHeldRecords(database(), sync.syncId)).toBe(false)
  })

  it('counts in how many runs a record was rejected, with the last reason', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const reject = (by: RunHolder, reason: string) =>
      checkpoint(
        database(),
        checkpointOf(by, seeded, {
          isClean: false,
          counters: counts({ rejected: 1 }),
          held: [toHold(seeded, 0, reason)],
        }),
      )
    await store(database(), holder, seeded)
    await reject(holder, 'first')
    await reject(holder, 'second')
    expect(await readHeld(database(), sync.syncId)).toMatchObject([{ reason: 'second', runs: 1 }])
    await completeRun(database(), holder, 'partial')
    const { holder: next } = await seedClaimedRun(database(), sync)
    await reject(next, 'third')
    expect(await readHeld(database(), sync.syncId)).toMatchObject([{ reason: 'third', runs: 2 }])
  })

  it('forgets what is released of a page that stays open, and keeps what is not spoken of, with its marks', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    await store(database(), holder, seeded)
    const keep = (given: Partial<CheckpointOptions>) =>
      checkpoint(database(), checkpointOf(holder, seeded, { isClean: false, ...given }))
    await keep({
      counters: counts({ rejected: 3 }),
      held: [toHold(seeded, 0), toHold(seeded, 1), toHold(seeded, 2)],
    })
    // A later delivery overtakes the second one.
    const later = seedPage(sync, { from: 'b', to: 'c', values: ['-', 'new'] })
    await deliver(database(), sync, { holder, seeded: later, positions: [1], hasHeld: true })
    await keep({
      advances: false,
      counters: counts({ written: 1, skipped: 1, rejected: 1 }),
      held: [toHold(seeded, 2, 'again')],
      released: [0],
    })
    const rows = await readHeld(database(), sync.syncId)
    expect(rows).toMatchObject([
      { position: 1, reason: 'is not valid', runs: 1, isSuperseded: true },
      { position: 2, reason: 'again', runs: 1, isSuperseded: false },
    ])
    await checkpoint(
      database(),
      checkpointOf(holder, seeded, { advances: false, counters: counts({ skipped: 3 }) }),
    )
    expect(await readHeld(database(), sync.syncId)).toEqual([])
  })

  it('does not close a page of which something is still in flight or in doubt', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    const chunk = seedChunk(sync, seeded)
    await store(database(), holder, seeded)
    await reserve(database(), { holder, pageDigest: seeded.page.pageDigest, chunk })
    await checkpoint(database(), checkpointOf(holder, seeded))
    const find = () => findOpenPage(database(), sync.syncId, seeded.page.pageDigest)
    // As any page that stays open: the saved cursor is in front of it, and it counts once a run.
    expect(await find()).toMatchObject({ isPassed: true })
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: 'b', saved: 'a' })
    expect(await listOpenPages(database(), holder)).toEqual([
      { pageDigest: seeded.page.pageDigest, isCounted: true },
    ])
    const written = [{ index: 0, result: null }]
    await complete(database(), {
      intentId: chunk.intentId,
      epoch: holder.epoch,
      written,
      remaining: null,
      hasHeldRecords: false,
    })
    await checkpoint(
      database(),
      checkpointOf(holder, seeded, { advances: false, counters: counts({ replayed: 1 }) }),
    )
    expect(await find()).toBeNull()
  })

  it('keeps the completed keys with a page that stays open, also when the ledger has forgotten them', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
    await deliver(database(), sync, { holder, seeded, positions: [0, 2] })
    const keep = checkpointOf(holder, seeded, {
      isClean: false,
      counters: counts({ written: 2, rejected: 1 }),
      held: [toHold(seeded, 1)],
    })
    await checkpoint(database(), keep)
    const expected = digestOf(seeded, 0) + '0'.repeat(24) + digestOf(seeded, 2)
    const before = await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)
    expect(before?.completed).toBe(expected)
    // Once more after the retention, when no key of the page counts in the ledger.
    await checkpoint(database(), {
      ...keep,
      counters: counts({ replayed: 2, rejected: 1 }),
      advances: false,
      retentionMs: 0,
    })
    const after = await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)
    expect(after?.completed).toBe(expected)
  })

  it('marks a held record as superseded when a later page delivers its identity, never a newer one', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    // Both pages have a record of the identity `id-0`.
    const older = seedPage(sync, { from: 'a', to: 'b', values: ['old'] })
    const newer = seedPage(sync, { from: 'b', to: 'c', values: ['new'] })
    const hold = (seeded: SeededPage) =>
      checkpointOf(holder, seeded, {
        isClean: false,
        counters: counts({ rejected: 1 }),
        held: [toHold(seeded, 0)],
      })
    for (const seeded of [older, newer]) {
      await store(database(), holder, seeded)
      await checkpoint(database(), hold(seeded))
    }
    const isSuperseded = async (seeded: SeededPage) =>
      (await listHeldRecords(database(), { ...holder, pageDigest: seeded.page.pageDigest }))[0]
        ?.isSuperseded
    await deliver(database(), sync, { holder, seeded: older, positions: [0], hasHeld: true })
    expect([await isSuperseded(older), await isSuperseded(newer)]).toEqual([false, false])
    await deliver(database(), sync, { holder, seeded: newer, positions: [0], hasHeld: true })
    expect([await isSuperseded(older), await isSuperseded(newer)]).toEqual([true, false])
  })

  it('changes nothing for an older epoch: cursors, counters, held records and the page stay', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    await store(database(), holder, seeded)
    const { pageDigest } = seeded.page
    const hold = () => holdRecords(database(), { holder, pageDigest, held: [toHold(seeded, 0)] })
    expect(await hold()).toBe(true)
    await database().rows(sql`delete from held_record where sync_id = ${sync.syncId}`)
    expect(await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })).not.toBeNull()
    const workerId = await seedWorker(database())
    const { workspaceId } = sync
    await claimRun(database(), { runId: holder.runId, workerId, workspaceId })
    expect(await checkpoint(database(), checkpointOf(holder, seeded))).toBeNull()
    expect(await hold()).toBe(false)
    expect(await readHeld(database(), sync.syncId)).toEqual([])
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: null, saved: null })
    expect(await findOpenPage(database(), sync.syncId, seeded.page.pageDigest)).not.toBeNull()
    const [row] = await database().rows(sql`select "read" from run where id = ${holder.runId}`)
    expect(row).toEqual({ read: 0 })
  })

  it('refuses books that do not balance, in the database itself', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x'] })
    await store(database(), holder, seeded)
    const unbalanced = checkpointOf(holder, seeded, { counters: { ...NO_COUNTS, read: 1 } })
    await expect(checkpoint(database(), unbalanced)).rejects.toThrow(/run_books/)
    expect(await cursorsOf(database(), sync.syncId)).toEqual({ reached: null, saved: null })
  })
})
