/** While nobody can say who holds a sync, nothing of it is sent; the run is tried again (I1). */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CoordinationUnavailableError, type Leases } from '../../src/coordination/lease.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'

describe('a run that cannot ask for its lease', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    destination = await startRecordingDestination({ honoursKeys: false })
    const source = createScriptedSource(scriptedRows(3))
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('sends nothing, and is tried again after the wait', async () => {
    let asked = 0
    const leases: Leases = {
      ...harness.leases,
      take: (...given) => {
        asked += 1
        return asked === 1
          ? Promise.reject(new CoordinationUnavailableError('Redis is away.'))
          : harness.leases.take(...given)
      },
    }
    let sentBefore = -1
    await harness.startEngine({
      leases,
      faults: (point) => {
        if (point === 'afterLease') {
          sentBefore = destination.calls()
        }
      },
    })
    const run = await harness.run(await harness.seedSync())
    expect(run).toMatchObject({ status: 'succeeded', counters: { read: 3, written: 3 } })
    const attempts = await database().rows(sql`
      select outcome, failure_code as code from attempt
      where run_id = ${run.runId} order by number`)
    expect(attempts).toEqual([
      { outcome: 'postponed', code: 'lease_unavailable' },
      { outcome: 'completed', code: null },
    ])
    expect(sentBefore).toBe(0)
    expect([...destination.effects.values()]).toEqual([1, 1, 1])
  })
})
