/** A read changes nothing, so it is tried again inside the attempt where that may help, and waits as the other system asks. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { SourceReader } from '../../src/connectors/source.ts'
import { MAX_CALL_TRIES } from '../../src/domain/retry.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createWaitingClock, hurriedClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import { WHOLE, waitForStoredEnd } from '../support/stored-end.ts'

const HOUR_MS = 3_600_000

describe.each(DATABASE_KINDS)('a source that cannot be read for a moment, on %s', (kind) => {
  const database = useDatabase(kind)
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness
  let reads: number

  beforeEach(async () => {
    source = createScriptedSource(scriptedRows(6))
    destination = await startRecordingDestination()
    harness = createEngineHarness({ database: database(), source, destination })
    reads = 0
  })
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** The reads of these numbers, from 1, fail. */
  function fail(error: ConnectorError, numbers: readonly number[]): void {
    const { open } = source
    Object.assign(source, {
      open: async (request: Parameters<typeof open>[0]): Promise<SourceReader> => {
        const reader = await open(request)
        return {
          ...reader,
          readPage: (asked) =>
            numbers.includes(++reads) ? Promise.reject(error) : reader.readPage(asked),
        }
      },
    })
  }

  const run = async () => {
    const runId = await harness.enqueue(await harness.seedSync({ pageSize: 2 }))
    return await waitForStoredEnd(database(), runId)
  }

  it.each(['provider_unavailable', 'provider_rate_limited'] as const)(
    'is read again inside the attempt (%s)',
    async (code) => {
      fail(new ConnectorError(code, 'Not now.'), [2, 3, 5])
      await harness.startEngine({ clock: hurriedClock })
      expect(await run()).toMatchObject({ ...WHOLE, written: 6, outcomes: ['completed'] })
      expect(reads).toBe(4 + 3)
    },
  )

  it('is given up after so many tries, and then by the attempt', async () => {
    fail(new ConnectorError('provider_unavailable', 'Not now.'), [1, 2, 3, 4])
    await harness.startEngine({ clock: hurriedClock })
    expect(await run()).toMatchObject({ written: 6, outcomes: ['postponed', 'completed'] })
    expect(reads).toBe(MAX_CALL_TRIES + 4)
  })

  it('is not read again where that cannot help', async () => {
    fail(new ConnectorError('node_failed', 'The table is gone.'), [1])
    await harness.startEngine({ clock: hurriedClock })
    expect(await run()).toMatchObject({ outcomes: ['postponed', 'completed'] })
    expect(reads).toBe(1 + 4)
  })

  it('is left alone for as long as it asks, by the next attempt where that is long', async () => {
    const slowDown = new ConnectorError('provider_rate_limited', 'Slow.', { retryAfterMs: HOUR_MS })
    fail(slowDown, [1])
    await harness.startEngine()
    const runId = await harness.enqueue(await harness.seedSync())
    await harness.waitFor(runId, ({ status, sequence }) => status === 'queued' && sequence.n > 0)
    const [due] = await database().rows<{ inMs: number }>(sql`
      select (extract(epoch from due_at - now()) * 1000)::float8 as "inMs"
      from run where id = ${runId}`)
    expect(due?.inMs).toBeGreaterThan(HOUR_MS - 60_000)
    expect(reads).toBe(1)
  })

  it('is left alone for a minute inside the attempt, and a pause ends that', async () => {
    const clock = createWaitingClock(59_000, 120_000)
    const slowDown = new ConnectorError('provider_rate_limited', 'Slow.', { retryAfterMs: 60_000 })
    fail(slowDown, [1])
    await harness.startEngine({ clock })
    const sync = await harness.seedSync()
    const runId = await harness.enqueue(sync)
    await clock.waiting
    await createPerson(database(), harness, sync).pause()
    clock.pass()
    expect(await waitForStoredEnd(database(), runId)).toMatchObject({
      status: 'failed',
      written: 0,
    })
    expect(destination.requests).toEqual([])
  })
})
