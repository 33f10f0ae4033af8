/**
 * Silence is observed and not computed (I7): a run is handed on when somebody looked successfully all the
 * while and saw no beat, and never else. Looks are taken by hand, on a clock moved by hand.
 */
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, it } from 'vitest'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { MAX_TAKE_OVERS } from '../../src/domain/run.ts'
import { Recovery, type RecoveryOptions } from '../../src/engine/recovery.ts'
import type { Database } from '../../src/store/database.ts'
import { openPage } from '../../src/store/ledger.ts'
import { checkpoint } from '../../src/store/pages.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { beat } from '../../src/store/workers.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createHandClock, type HandClock } from '../support/hand-clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { nameOf } from '../support/statement-name.ts'
import {
  BREAKER_PARTS,
  claimRun,
  newId,
  type SeededSync,
  seedClaimedRun,
  seedPage,
  seedSync,
  seedWorker,
} from '../support/store-seed.ts'

const LOOK_MS = 5_000
const SILENT_AFTER_MS = 20_000

describe.each(ENGINE_DATABASE_KINDS)('recovery on %s', (kind) => {
  const database = useDatabase(kind)
  let clock: HandClock

  beforeEach(async () => {
    clock = createHandClock()
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where status in ('queued', 'running')`)
  })

  const createRecovery = (given: Partial<RecoveryOptions> = {}) => {
    const logger = createRecordingLogger()
    return new Recovery({
      ...BREAKER_PARTS,
      database: database(),
      bus: createMemoryBus(logger),
      clock,
      logger,
      workerId: newId(),
      intervalMs: LOOK_MS,
      silentAfterMs: SILENT_AFTER_MS,
      isAlone: false,
      ownRunIds: () => new Set(),
      ...given,
    })
  }
  async function seedRunning() {
    const workerId = await seedWorker(database())
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync, { workerId })
    return { sync, holder, workerId }
  }
  const statusOf = async ({ runId }: RunHolder) => {
    const [row] = await database().rows<{ status: string }>(
      sql`select status from run where id = ${runId}`,
    )
    return row?.status
  }
  /** Looks now, and then so often, each an interval after the one before. */
  const look = async (recovery: Recovery, times: number) => {
    await recovery.look()
    for (let n = 0; n < times; n += 1) {
      clock.advance(LOOK_MS)
      await recovery.look()
    }
  }
  const LOOKS = SILENT_AFTER_MS / LOOK_MS

  it('hands a run on at the look that ends a whole silence, and at none before', async () => {
    const { holder } = await seedRunning()
    const recovery = createRecovery()
    await look(recovery, LOOKS - 1)
    expect(await statusOf(holder)).toBe('running')
    clock.advance(LOOK_MS - 1)
    await recovery.look()
    expect(await statusOf(holder)).toBe('running')
    clock.advance(1)
    await recovery.look()
    expect(await statusOf(holder)).toBe('queued')
  })

  it('never takes the run of a worker that beats, however slowly', async () => {
    const { holder, workerId } = await seedRunning()
    const recovery = createRecovery()
    await recovery.look()
    for (let n = 0; n < 20; n += 1) {
      clock.advance(LOOK_MS)
      if (n % (LOOKS - 1) === 0) {
        await beat(database(), workerId)
      }
      await recovery.look()
    }
    expect(await statusOf(holder)).toBe('running')
  })

  it('takes nothing when a beat comes between the look and the take-over', async () => {
    const { holder, workerId } = await seedRunning()
    let isLate = false
    const recovery = createRecovery({
      database: beforeRecovering(database(), async () => {
        isLate = true
        await beat(database(), workerId)
      }),
    })
    await look(recovery, LOOKS)
    expect(isLate).toBe(true)
    expect(await statusOf(holder)).toBe('running')
  })

  it('counts no silence between two looks that lie far apart, such as when the database stood still', async () => {
    const { holder } = await seedRunning()
    const recovery = createRecovery()
    await recovery.look()
    clock.advance(SILENT_AFTER_MS + LOOK_MS)
    await recovery.look()
    expect(await statusOf(holder)).toBe('running')
    await look(recovery, LOOKS)
    expect(await statusOf(holder)).toBe('queued')
  })

  it('begins anew after a look that failed', async () => {
    const { holder } = await seedRunning()
    const away = { isAway: false }
    const recovery = createRecovery({ database: whileThere(database(), away) })
    await look(recovery, LOOKS - 1)
    away.isAway = true
    clock.advance(LOOK_MS)
    await expect(recovery.look()).rejects.toThrow('The database is away.')
    away.isAway = false
    await look(recovery, LOOKS - 1)
    expect(await statusOf(holder)).toBe('running')
    clock.advance(LOOK_MS)
    await recovery.look()
    expect(await statusOf(holder)).toBe('queued')
  })

  it('recovers a run of its own worker that nobody works on, although that worker beats', async () => {
    const { holder: dropped, workerId } = await seedRunning()
    const other = await seedSync(database())
    const { holder: kept } = await seedClaimedRun(database(), other, { workerId })
    const recovery = createRecovery({ workerId, ownRunIds: () => new Set([kept.runId]) })
    await recovery.look()
    for (let n = 0; n < LOOKS; n += 1) {
      clock.advance(LOOK_MS)
      await beat(database(), workerId)
      await recovery.look()
    }
    expect([await statusOf(dropped), await statusOf(kept)]).toEqual(['queued', 'running'])
  })

  it('recovers all running runs at its start when it is alone', async () => {
    const { holder } = await seedRunning()
    const recovery = createRecovery({ isAlone: true })
    await recovery.start()
    expect(await statusOf(holder)).toBe('queued')
    await recovery.stop()
  })

  describe('of a run that ends its worker each time', () => {
    /** A worker claims the run and falls silent; before, if told so, it takes a checkpoint. */
    async function fallSilent(sync: SeededSync, runId: string, takesCheckpoint: boolean) {
      const { workspaceId } = sync
      const workerId = await seedWorker(database())
      const { holder } = await claimRun(database(), { runId, workerId, workspaceId })
      if (takesCheckpoint) {
        await takeCheckpoint(database(), sync, holder)
      }
      await look(createRecovery(), LOOKS)
    }
    const endOf = async (runId: string) => {
      const [row] = await database().rows(sql`
        select status, failure_code as code, take_overs as "takeOvers", attempts_spent as spent
        from run where id = ${runId}`)
      return row
    }

    it(`closes it at the take-over number ${MAX_TAKE_OVERS} without a checkpoint, and queues no other`, async () => {
      const { sync, holder } = await seedRunning()
      await look(createRecovery(), LOOKS)
      for (let takeOvers = 2; takeOvers < MAX_TAKE_OVERS; takeOvers += 1) {
        await fallSilent(sync, holder.runId, false)
        expect(await statusOf(holder)).toBe('queued')
      }
      await fallSilent(sync, holder.runId, false)
      expect(await endOf(holder.runId)).toEqual({
        status: 'failed',
        code: 'stale_job_swept',
        takeOvers: MAX_TAKE_OVERS,
        spent: 0,
      })
      const runs = await database().rows(sql`select id from run where sync_id = ${sync.syncId}`)
      expect(runs).toHaveLength(1)
    })

    it('goes on with it as long as each of them gets further', async () => {
      const { sync, holder } = await seedRunning()
      await look(createRecovery(), LOOKS)
      for (let n = 0; n < MAX_TAKE_OVERS; n += 1) {
        await fallSilent(sync, holder.runId, true)
      }
      expect(await endOf(holder.runId)).toMatchObject({ status: 'queued', takeOvers: 1, spent: 0 })
    })
  })
})

async function takeCheckpoint(database: Database, sync: SeededSync, holder: RunHolder) {
  const to = newId()
  const { page } = seedPage(sync, { from: newId(), to, values: ['x'] })
  const options = { holder, page, chunk: null, resendsUnknown: true, retentionMs: 1_000 }
  await openPage(database, options)
  const done = await checkpoint(database, {
    holder,
    pageDigest: page.pageDigest,
    toCursor: to,
    isClean: true,
    advances: true,
    counters: { ...NO_COUNTS, read: 1, written: 1 },
    firstSends: 1,
    firstSendsRejected: 0,
    held: [],
    leftBehind: [],
    setAside: [],
    released: [],
    confirmedKeys: null,
    retentionMs: 1_000,
  })
  expect(done).not.toBeNull()
}

/** A way to the database that fails while it is told to be away. */
function whileThere(database: Database, state: { readonly isAway: boolean }): Database {
  return {
    ...database,
    rows: (statement) =>
      state.isAway ? Promise.reject(new Error('The database is away.')) : database.rows(statement),
  }
}

/** A way to the database on which something happens just before a run is taken over. */
function beforeRecovering(database: Database, happens: () => Promise<void>): Database {
  return {
    ...database,
    rows: async (statement) => {
      if (nameOf(statement) === 'workers.recoverRun') {
        await happens()
      }
      return await database.rows(statement)
    },
  }
}
