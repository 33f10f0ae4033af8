/**
 * Old never overwrites new (I11), also where a rejected record is overtaken in the very moment in which it is set
 * aside. Deterministic by row locks, so on PostgreSQL.
 */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { Database, Handle } from '../../src/store/database.ts'
import { complete, reserve } from '../../src/store/ledger.ts'
import type { checkpoint } from '../../src/store/pages.ts'
import { createTestDatabase, DATABASE_KINDS } from '../support/databases.ts'
import { counts } from '../support/deliveries.ts'
import { listRejected, rejected, storePage, takeCheckpoint } from '../support/rejected-records.ts'
import { createSignal } from '../support/signal.ts'
import { seedChunk, seedClaimedRun, seedPage, seedSync } from '../support/store-seed.ts'

describe.runIf(DATABASE_KINDS.includes('postgresql'))(
  'a record that is overtaken while it is set aside',
  () => {
    /** A held record, and the call of a worker that was taken over, which carries a newer one of its identity. */
    async function prepare(database: Database) {
      const sync = await seedSync(database)
      const { holder } = await seedClaimedRun(database, sync)
      const older = seedPage(sync, { from: 'a', to: 'b', values: ['old'] })
      const newer = seedPage(sync, { from: 'b', to: 'c', values: ['new'] })
      await storePage(database, holder, older)
      const record = rejected(older, 0)
      await takeCheckpoint(database, holder, older, {
        ...{ isClean: false, held: [record], counters: counts({ read: 1, rejected: 1 }) },
      })
      await storePage(database, holder, newer)
      const chunk = seedChunk(sync, newer)
      await reserve(database, { holder, pageDigest: newer.page.pageDigest, chunk })
      const overtake = (handle: Parameters<typeof complete>[0]) =>
        complete(handle, {
          ...{
            intentId: chunk.intentId,
            epoch: holder.epoch,
            remaining: null,
            hasHeldRecords: true,
          },
          written: [{ index: 0, result: null }],
        })
      const setAside = (handle: Parameters<typeof checkpoint>[0]) => {
        const counters = counts({ read: 1, quarantined: 1 })
        return takeCheckpoint(handle, holder, older, { setAside: [record], counters })
      }
      return { sync, steps: { overtake, setAside } }
    }

    it.each([
      ['overtake', 'setAside'],
      ['setAside', 'overtake'],
    ] as const)(
      '%s first, and %s behind its row: it is superseded, and nothing of it is kept',
      async (one, other) => {
        const test = await createTestDatabase()
        try {
          const database = await test.open()
          const { sync, steps } = await prepare(database)
          const isFirstDone = createSignal()
          const first = database.transaction('test.first', async (tx) => {
            await steps[one](tx)
            isFirstDone.reach()
            while (!(await isSomebodyWaiting(tx))) {
              // Each look is a round trip to the database.
            }
          })
          await isFirstDone.reached
          await Promise.all([steps[other](await test.open()), first])
          expect(await listRejected(database, sync)).toMatchObject([
            { state: 'superseded', isKept: false },
          ])
          const [row] = await database.rows(sql`select state, ordinal is not null as is_set_aside
        from held_record where sync_id = ${sync.syncId}`)
          expect(row).toEqual({ state: 'quarantined', is_set_aside: true })
        } finally {
          await test.drop()
        }
      },
    )
  },
)

async function isSomebodyWaiting(tx: Handle): Promise<boolean> {
  // What a transaction sees of other sessions is kept from its first look on.
  await tx.rows(sql`select pg_stat_clear_snapshot()`)
  const rows = await tx.rows(sql`select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return rows.length === 1
}
