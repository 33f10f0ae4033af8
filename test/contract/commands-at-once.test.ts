/**
 * What people ask for at the moment a run ends, on PostgreSQL: the sync's row is held by the test while they
 * queue for it, so that they get it in the order in which they came.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancelRun as cancelByPerson } from '../../src/commands/cancel-run.ts'
import { AlreadyRunning, NothingToRetry } from '../../src/commands/refusals.ts'
import { retryRun } from '../../src/commands/retry-run.ts'
import { runSync } from '../../src/commands/run-sync.ts'
import { failure } from '../../src/domain/failure.ts'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { cancelRun, completeRun, failRun, type RunHolder } from '../../src/store/run-ends.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import {
  claimRun,
  type SeededSync,
  seedClaimedRun,
  seedSync,
  seedWorker,
} from '../support/store-seed.ts'
import { actingFor } from '../support/sync-verbs.ts'

const CALLERS = 20

describe.runIf(DATABASE_KINDS.includes('postgresql'))('people at the moment a run ends', () => {
  let test: TestDatabase
  let database: Database
  /** A connection for each that waits. */
  let callers: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    const at = { url: test.url }
    callers = await openDatabase({ at, maxConnections: CALLERS + 2, applicationName: 'callers' })
  })
  afterAll(async () => {
    await callers.close()
    await test.drop()
  })

  const lockSync = (tx: Handle, { syncId }: SeededSync) =>
    tx.rows(sql`select 1 from sync where id = ${syncId} for no key update`)

  /** Starts them one after the other, each when the one before it waits for the sync; then lets them have it. */
  async function inOrder<T>(sync: SeededSync, acts: readonly (() => Promise<T>)[]): Promise<T[]> {
    const held = await holdOpen(database, (tx) => lockSync(tx, sync))
    const acting: Promise<T>[] = []
    for (const act of acts) {
      acting.push(act())
      await waitUntilBlocked(database, acting.length)
    }
    await held.release()
    return await Promise.all(acting)
  }

  describe(`${CALLERS} retries of a run, whose retry ends behind the first of them`, () => {
    const ENDS = {
      'with success': (tx: Handle, holder: RunHolder) => completeRun(tx, holder, 'succeeded'),
      'with another failure': (tx: Handle, holder: RunHolder) =>
        failRun(tx, holder, failure('provider_unavailable')),
    }

    it.each(Object.keys(ENDS) as (keyof typeof ENDS)[])(
      '%s start one run, and all of them learn its id',
      async (how) => {
        const sync = await seedSync(database)
        const failed = await seedClaimedRun(database, sync)
        await failRun(database, failed.holder, failure('lease_lost'))
        const { runId } = failed.holder
        const retry = async () => {
          try {
            return { started: (await retryRun(...actingFor(callers, sync), { runId })).runId }
          } catch (error) {
            if (error instanceof NothingToRetry) {
              return { told: error.runId, why: error.message }
            }
            throw error
          }
        }
        /** A worker that takes the new run and ends it before the next caller has the sync. */
        const runToItsEnd = async () => {
          const workerId = await seedWorker(database)
          return await callers.transaction('test.runToItsEnd', async (tx) => {
            await lockSync(tx, sync)
            const [queued] = await tx.rows<{ id: string }>(sql`
              select id from run where sync_id = ${sync.syncId} and status = 'queued'`)
            const { workspaceId } = sync
            const given = { runId: queued?.id ?? '', workerId, workspaceId }
            const { holder } = await claimRun(tx, given)
            expect(await ENDS[how](tx, holder)).not.toBeNull()
            return { ended: holder.runId }
          })
        }
        const others = Array.from({ length: CALLERS - 1 }, () => retry)
        const [first, ended, ...rest] = await inOrder<object>(sync, [retry, runToItsEnd, ...others])
        const [{ id } = { id: '' }, ...more] = await database.rows<{ id: string }>(sql`
          select id from run where retry_of = ${runId}`)
        expect(more).toEqual([])
        expect(first).toEqual({ started: id })
        expect(ended).toEqual({ ended: id })
        const why = how === 'with success' ? /already succeeded/ : /latest retry has ended/
        expect(rest).toEqual(Array(CALLERS - 1).fill({ told: id, why: expect.stringMatching(why) }))
      },
    )
  })

  describe('a run now behind a cancel', () => {
    async function seedCanceled() {
      const sync = await seedSync(database)
      const { holder } = await seedClaimedRun(database, sync)
      const { runId } = holder
      await cancelByPerson(...actingFor(callers, sync), { runId, reason: 'Not today.' })
      const runNow = () =>
        runSync(...actingFor(callers, sync), { syncId: sync.syncId }).then(
          (started) => ({ started: started.runId }),
          (error: unknown) => ({ refused: error instanceof AlreadyRunning && error.runId }),
        )
      const end = () => cancelRun(callers, holder).then((progress) => ({ end: progress?.status }))
      return { sync, runId, runNow, end }
    }

    it('that reaches the sync after the run has stopped starts a new one', async () => {
      const { sync, runId, runNow, end } = await seedCanceled()
      const [ended, started] = await inOrder<object>(sync, [end, runNow])
      expect(ended).toEqual({ end: 'canceled' })
      expect(started).toEqual({ started: expect.not.stringMatching(runId) })
    })

    it('that reaches it before is refused with the id of that run, which stops all the same', async () => {
      const { sync, runId, runNow, end } = await seedCanceled()
      expect(await inOrder<object>(sync, [runNow, end])).toEqual([
        { refused: runId },
        { end: 'canceled' },
      ])
      expect(await runNow()).toEqual({ started: expect.not.stringMatching(runId) })
    })
  })
})
