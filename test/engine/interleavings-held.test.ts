/**
 * One record held while everything around it changes or time passes: what was delivered of its page is not
 * sent again (I4). The destination honours no keys and is asked what it took.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CALM_SETTINGS } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { counts, leftOf, rejecting } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness, republish } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
  scriptedRows,
} from '../support/scripted-source.ts'
import type { SeededSync } from '../support/store-seed.ts'

const IN_PAGES = { path: 'PAGE', deliveryClass: 'NONE' }
const ROWS = 100_000
/** The control sends all of them twice: fewer show the same. */
const CONTROL_ROWS = 20_000
const PAGE_SIZE = 500
/** Its calls are large, and there are many. */
const TIMEOUT_MS = 120_000

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a record that is held', () => {
  const database = useDatabase('postgresql')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false, keepsRequests: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  const fill = (count: number) => {
    for (const row of scriptedRows(count)) {
      source.put(row)
    }
  }
  /** From now on the destination rejects these, and takes everything else. */
  const refuse = (...identities: readonly string[]) => {
    const emails = new Set(identities.map((identity) => `${identity}@example.com`))
    destination.decide(rejecting(({ email }) => emails.has(email)))
  }
  /** What happened at source and destination since the last time it was asked. */
  const createMeter = () => {
    let [calls, applied, reads] = [0, 0, 0]
    return () => {
      const since = {
        calls: destination.calls() - calls,
        sent: destination.applied
          .slice(applied)
          .map(({ record }) => (record as { email: string }).email.split('@')[0]),
        reads: source.reads.slice(reads),
      }
      calls = destination.calls()
      applied = destination.applied.length
      reads = source.reads.length
      return since
    }
  }

  describe('for 8 days, past the retention of the ledger,', () => {
    /** Three pages, of which the middle one holds a record. */
    async function holdOne() {
      fill(12)
      await harness.startEngine({ settings: CALM_SETTINGS })
      const sync = await harness.seedSync({ pageSize: 4, objectOptions: IN_PAGES })
      refuse('r5')
      const meter = createMeter()
      await harness.run(sync)
      expect(meter().sent).toHaveLength(11)
      return { meter, sync }
    }
    /** Everything that was delivered was delivered so much earlier. */
    const passDays = async (days: number) => {
      await database().rows(sql`update delivery
        set completed_at = completed_at - ${days}::int * interval '1 day'`)
    }
    const HELD = { status: 'partial', counters: counts({ read: 4, replayed: 3, rejected: 1 }) }

    it.each([
      ['and is tried once then', [8]],
      ['and is tried every day', [1, 1, 1, 1, 1, 1, 1, 1]],
    ])('%s, is the only one that is sent', async (_, waits) => {
      const { meter, sync } = await holdOne()
      for (const days of waits.slice(1)) {
        await passDays(days)
        expect(await harness.run(sync)).toMatchObject(HELD)
        const { calls, sent } = meter()
        expect({ calls, sent }).toEqual({ calls: 1, sent: [] })
      }
      await passDays(waits[0] ?? 0)
      refuse()
      expect(await harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 4, written: 1, replayed: 3 }),
      })
      const { calls, sent } = meter()
      expect({ calls, sent }).toEqual({ calls: 1, sent: ['r5'] })
      expect(Math.max(...destination.effects.values())).toBe(1)
    })

    it('is so too when the ledger has dropped their partitions', async () => {
      const { meter, sync } = await holdOne()
      await database().rows(sql`delete from delivery`)
      refuse()
      await harness.run(sync)
      expect(meter().sent).toEqual(['r5'])
    })

    it('would bring its whole page once more if that kept no keys (the control)', async () => {
      const { meter, sync } = await holdOne()
      await passDays(8)
      await database().rows(sql`update open_page set completed = null`)
      refuse()
      await harness.run(sync)
      expect(meter().sent).toEqual(['r4', 'r5', 'r6', 'r7'])
    })
  })

  /** All rows are delivered but one, which is held on the first page; then its page changes. */
  async function holdOneAndChangeItsPage(rows: number) {
    fill(rows)
    await harness.startEngine({ settings: CALM_SETTINGS })
    const sync = await harness.seedSync({ pageSize: PAGE_SIZE, objectOptions: IN_PAGES })
    refuse('r250')
    const meter = createMeter()
    const first = await harness.run(sync)
    expect(first).toMatchObject({
      status: 'partial',
      counters: counts({ read: rows, written: rows - 1, rejected: 1 }),
    })
    const told = meter()
    expect(told.calls).toBe(rows / PAGE_SIZE)
    expect(told.sent).toHaveLength(rows - 1)
    source.put(scriptedRow('r7', rows + 1, 'updated'))
    source.rows.delete('r499')
    refuse()
    return { meter, sync: await republish(database(), sync, { pageSize: 300 }) }
  }

  it(
    `while a row of its page is updated, another deleted, and another page size set: of ${ROWS} rows two are sent`,
    async () => {
      const { meter, sync } = await holdOneAndChangeItsPage(ROWS)
      const second = await harness.run(sync)
      const { calls, sent, reads } = meter()
      // The held one, and the one that was updated, where it moved to.
      expect(sent).toEqual(['r250', 'r7'])
      expect(calls).toBe(2)
      // Its own page, one behind all others, and one look for more.
      expect(reads).toEqual(['-1', String(ROWS - 1), String(ROWS + 1)])
      expect(second).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: PAGE_SIZE + 1, written: 2, replayed: PAGE_SIZE - 1 }),
      })
      expect(destination.applied).toHaveLength(ROWS + 1)
      expect(await leftOf(database(), sync.syncId)).toEqual({ pages: 0, intents: 0, held: 0 })
    },
    TIMEOUT_MS,
  )

  it(
    'would cost nearly all of them if pages were not remembered (the control)',
    async () => {
      const { meter, sync } = await holdOneAndChangeItsPage(CONTROL_ROWS)
      await forgetPages(sync)
      await harness.run(sync)
      const again = new Set(meter().sent)
      again.delete('r250')
      expect(again.size).toBeGreaterThan(CONTROL_ROWS * 0.99)
    },
    TIMEOUT_MS,
  )

  /** What a product would have stored that remembers cursors only. */
  async function forgetPages({ syncId }: SeededSync): Promise<void> {
    await database().rows(sql`delete from held_record where sync_id = ${syncId}`)
    await database().rows(sql`delete from open_page where sync_id = ${syncId}`)
    await database().rows(
      sql`update sync_fence set reached = saved_cursor where sync_id = ${syncId}`,
    )
  }
})
