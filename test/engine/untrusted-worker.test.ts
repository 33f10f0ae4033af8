/**
 * A worker whose beats do not come through (a dead connection, a lock on its row) while the rest of the
 * database answers: it may not write, so a run that it takes fails as `lease_lost` at its first call.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import { newId } from '../support/store-seed.ts'

describe('a worker that is not trusted', () => {
  const database = useDatabase('postgresql')
  let destination: RecordingDestination
  let harness: EngineHarness
  beforeEach(async () => {
    const source = createScriptedSource()
    for (const row of scriptedRows(3)) {
      source.put(row)
    }
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('takes no run, and spends none of its attempts', async () => {
    const workerId = newId()
    await harness.startEngine({ workerId })
    const sync = await harness.seedSync()
    // Beats wait for this row, and give up after the lock timeout, until the trust window is over.
    const isHeld = createSignal()
    const release = createSignal()
    const holding = database().transaction('test.holdBeat', async (tx) => {
      await tx.rows(sql`select id from worker where id = ${workerId} for update`)
      isHeld.reach()
      for (let n = 0; n < 15; n += 1) {
        await tx.rows(sql`select pg_sleep(0.1)`)
      }
      release.reach()
      for (let n = 0; n < 30; n += 1) {
        await tx.rows(sql`select pg_sleep(0.1)`)
      }
    })
    await isHeld.reached
    await release.reached
    const runId = await harness.enqueue(sync)
    await holding
    const end = await harness.waitForEnd(runId)
    const attempts = await database().rows<{ outcome: string; code: string | null }>(sql`
      select outcome, failure_code as code from attempt where run_id = ${runId} order by number`)
    expect(attempts.filter(({ code }) => code === 'lease_lost')).toEqual([])
    expect(end.status).toBe('succeeded')
  })
})
