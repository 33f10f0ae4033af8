/** A day without a partition in the ledger: nothing is sent that could not be filed. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCutDatabase } from '../support/cut-database.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { WHOLE, waitForStoredEnd } from '../support/stored-end.ts'

describe.each(ENGINE_DATABASE_KINDS)('a day without a partition on %s', (kind) => {
  const database = useDatabase(kind)
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    destination = await startRecordingDestination({ honoursKeys: false })
    const source = createScriptedSource(scriptedRows(4))
    harness = createEngineHarness({ database: database(), source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** Starts a worker, and drops the partition when the first round of its upkeep is over. */
  async function startWithoutToday(): Promise<string> {
    const { database: watched, names } = createCutDatabase(database())
    await harness.startEngine({ database: watched })
    while (!names.has('partitions.dropDetached')) {
      await database().rows(sql`select 1`)
    }
    const [row] = await database().rows<{ name: string }>(sql`
      select 'delivery_' || to_char((now() at time zone 'UTC')::date, 'YYYYMMDD') as name`)
    const name = row?.name ?? ''
    await database().rows(sql.raw(`drop table ${name}`))
    return name
  }

  it.each(['PAGE', 'RECORD'])(
    'gets one before anything is sent, with a call a %s',
    async (path) => {
      const sync = await harness.seedSync({ pageSize: 2, objectOptions: { path } })
      await startWithoutToday()
      const runId = await harness.enqueue(sync)
      expect(await waitForStoredEnd(database(), runId)).toMatchObject({
        ...WHOLE,
        outcomes: ['completed'],
      })
      expect(harness.logger.count('ledger.partition_missing')).toBeGreaterThan(0)
      expect([...destination.effects.values()]).toEqual([1, 1, 1, 1])
    },
  )

  it('that cannot be made ends the run with a failure that says so, and nothing is sent', async () => {
    const sync = await harness.seedSync({ pageSize: 2 })
    const name = await startWithoutToday()
    await database().rows(sql.raw(`create table ${name} (in_the_way int)`))
    const runId = await harness.enqueue(sync, { attemptAllowance: 2 })
    const run = await waitForStoredEnd(database(), runId)
    await database().rows(sql.raw(`drop table ${name}`))
    expect(run).toMatchObject({
      status: 'failed',
      spent: 2,
      detail: 'The ledger has no partition for today, so nothing was reserved or sent.',
    })
    expect(destination.requests).toEqual([])
    // Its page is open: the next run delivers it.
    expect(await harness.run(sync)).toMatchObject({ status: 'succeeded', counters: { read: 4 } })
    expect([...destination.effects.values()]).toEqual([1, 1, 1, 1])
  })
})
