/**
 * A call that was refused as a whole is split, and one of the halves gets no answer: where the guilty
 * record is, is then not known, and nobody may be rejected for it without having been refused.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'

describe('splitting a refused call at a destination of class none', () => {
  const database = useDatabase('postgresql')
  let destination: RecordingDestination
  let harness: EngineHarness
  beforeEach(async () => {
    const source = createScriptedSource()
    for (const row of scriptedRows(4)) {
      source.put(row)
    }
    destination = await startRecordingDestination({ honoursKeys: false })
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  it('rejects no record that was not sent', async () => {
    await harness.startEngine()
    const sync = await harness.seedSync({
      pageSize: 4,
      objectOptions: { path: 'PAGE', deliveryClass: 'NONE' },
    })
    // All four are refused (the first is guilty); the first two then get no answer.
    destination.script({ kind: 'answer', status: 422, body: '{"error":"bad"}' }, { kind: 'reset' })
    const end = await harness.run(sync)
    expect(end.counters).toMatchObject({ read: 4, inDoubt: 2, written: 2, rejected: 0 })
  })
})
