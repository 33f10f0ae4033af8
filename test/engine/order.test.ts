/**
 * Two pages in hand at once: the later one must not overtake the earlier one's place in the ledger where
 * they share an identity. Deterministic by row locks: the earlier page's intent is held by the test.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database, Handle } from '../../src/store/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { HAS_REDIS } from '../support/redis.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRow,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'

describe.runIf(HAS_REDIS)('the order of two pages in hand', () => {
  let test: TestDatabase
  let database: Database
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    source = createScriptedSource()
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database, source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
    await test.drop()
  })

  const put = (rank: number, email: string) =>
    source.put({ ...scriptedRow(`row${rank}`, rank), fields: { email, note: String(rank) } })

  /**
   * Runs two pages of a record each while the completion of the first one is held back, and says how many
   * requests there were by then. The second page's turn is given `looks` round trips to the database.
   */
  async function sendWhileFirstIsUnrecorded(looks: number): Promise<number> {
    const isReserved = createSignal()
    const mayGoOn = createSignal()
    let reserves = 0
    await harness.startEngine({
      faults: async (point) => {
        if (point === 'afterReserve' && ++reserves === 1) {
          isReserved.reach()
          await mayGoOn.reached
        }
      },
    })
    const options = { path: 'PAGE', identityField: 'email' }
    const sync = await harness.seedSync({ pageSize: 1, objectOptions: options })
    const runId = await harness.enqueue(sync)
    await isReserved.reached
    const holder = await test.open()
    let sent = -1
    await holder.transaction('order.hold', async (tx) => {
      await tx.rows(sql`select id from delivery_intent where sync_id = ${sync.syncId} for update`)
      mayGoOn.reach()
      while (!(await isFirstPageUnrecorded(tx))) {
        // Each look is a round trip to the database.
      }
      for (let look = 0; look < looks && destination.requests.length < 2; look += 1) {
        await isFirstPageUnrecorded(tx)
      }
      sent = destination.requests.length
    })
    expect((await harness.waitForEnd(runId)).status).toBe('succeeded')
    expect(destination.requests).toHaveLength(2)
    return sent
  }

  it('sends a record of the same identity only when the earlier one is recorded', async () => {
    put(0, 'a@example.com')
    put(1, 'a@example.com')
    expect(await sendWhileFirstIsUnrecorded(100)).toBe(1)
  })

  it('and does not wait where the pages share no identity (the control)', async () => {
    put(0, 'a@example.com')
    put(1, 'b@example.com')
    expect(await sendWhileFirstIsUnrecorded(1_000)).toBe(2)
  })

  /** The first page's completion waits for the test. */
  async function isFirstPageUnrecorded(tx: Handle): Promise<boolean> {
    // What a transaction sees of other sessions is kept from its first look on.
    await tx.rows(sql`select pg_stat_clear_snapshot()`)
    const rows = await tx.rows(sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
        and query like '%ledger.complete%'`)
    return rows.length === 1
  }
})
