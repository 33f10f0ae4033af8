/**
 * A worker whose connections to PostgreSQL neither answer nor close: its attempt ends in bounded time, another
 * worker delivers the run, and the first one works again.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { ONE_SLOT } from '../support/calm-settings.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const ROWS = 9
const DEADLINE_MS = 1_000
const NONE = { path: 'PAGE', deliveryClass: 'NONE' }
const SILENT = { ...ONE_SLOT, silentAfterMs: 1_000 }

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a worker that is cut off', () => {
  let test: TestDatabase
  let database: Database
  let proxy: TcpProxy
  let proxied: Database
  let destination: RecordingDestination
  let harness: EngineHarness

  beforeEach(async () => {
    test = await createTestDatabase()
    database = await test.open()
    const { hostname: host, port } = new URL(test.url)
    proxy = await startTcpProxy({ host, port: Number(port) })
    const url = Object.assign(new URL(test.url), { host: `127.0.0.1:${proxy.port}` }).href
    const at = { at: { url }, applicationName: 'test' }
    proxied = await openDatabase({ ...at, maxConnections: 4, answerDeadlineMs: DEADLINE_MS })
    destination = await startRecordingDestination({ honoursKeys: false })
    const source = createScriptedSource(scriptedRows(ROWS))
    harness = createEngineHarness({ database, source, destination })
  })
  afterEach(async () => {
    await harness.close()
    await proxied.close()
    await proxy.close()
    await destination.close()
    await test.drop()
  })

  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const countBeats = async (workerId: string) => {
    const [row] = await database.rows<{ beats: number }>(
      sql`select beat_n as beats from worker where id = ${workerId}`,
    )
    return row?.beats ?? 0
  }

  it.each(['afterLease', 'afterReserve', 'afterSend', 'beforeCheckpoint'] as const)(
    'at %s is taken over, gives up, and works again',
    async (point: FaultPoint) => {
      const [isThere, mayGoOn] = [createSignal(), createSignal()]
      let reached = 0
      const engine = await harness.startEngine({
        database: proxied,
        engine: SILENT,
        faults: async (at) => {
          if (at === point && ++reached === 1) {
            isThere.reach()
            await mayGoOn.reached
          }
        },
      })
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: NONE })
      const runId = await harness.enqueue(sync)
      await isThere.reached
      const [row] = await database.rows<{ workerId: string }>(
        sql`select worker_id as "workerId" from run where id = ${runId}`,
      )
      const beats = await countBeats(row?.workerId ?? '')
      proxy.freezeOpenConnections()
      mayGoOn.reach()
      const other = await harness.startEngine({ engine: SILENT })
      await harness.waitForEnd(runId)
      await until(() => engine.runIds.size === 0)
      await until(async () => (await countBeats(row?.workerId ?? '')) > beats + 1)
      await other.stop()
      // What was in doubt was not sent twice, nor is anything by the worker that is back.
      const last = await harness.run(sync)
      expect(Math.max(...destination.effects.values())).toBe(1)
      expect(ROWS - destination.applied.length).toBeLessThanOrEqual(last.counters.inDoubt)
    },
  )
})
