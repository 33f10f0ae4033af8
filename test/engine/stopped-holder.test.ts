/**
 * A process that stops inside a transaction, with the row in its hands that a take-over needs. Nobody can tell
 * it from one that thinks; PostgreSQL ends its transaction, because every connection of ours asks it to. The
 * process is real, and the time is that of the database's clock.
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { Recovery } from '../../src/engine/recovery.ts'
import type { Database } from '../../src/store/database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { startScript } from '../support/processes.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { BREAKER_PARTS, newId, seedClaimedRun, seedSync } from '../support/store-seed.ts'

const LOOK_MS = 5_000
const SILENT_AFTER_MS = 20_000
/** From the stop to the take-over. */
const BAR_MS = 5_000

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a process stopped in a transaction', () => {
  let test: TestDatabase
  let database: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
  })
  afterAll(() => test.drop())

  /** A silent worker's run whose fence the stopped process holds, and a recovery that is about to take it over. */
  async function stopHolder(environment: Readonly<Record<string, string>>) {
    const sync = await seedSync(database)
    const { holder } = await seedClaimedRun(database, sync)
    const clock = createHandClock()
    const logger = createRecordingLogger()
    const recovery = new Recovery({
      ...{ database, clock, logger, bus: createMemoryBus(logger), workerId: newId() },
      ...{ intervalMs: LOOK_MS, silentAfterMs: SILENT_AFTER_MS, isAlone: false },
      ...{ ...BREAKER_PARTS, ownRunIds: () => new Set<string>() },
    })
    for (let ms = 0; ms < SILENT_AFTER_MS; ms += LOOK_MS) {
      await recovery.look()
      clock.advance(LOOK_MS)
    }
    const stopped = startScript('test/support/stopping-process.ts', {
      ...{ DATABASE_URL: test.url, SYNC_ID: sync.syncId, ...environment },
    })
    const pid = Number(await stopped.find(/holds as (\d+)/))
    /** Asks for the run once; how many milliseconds after the stop that was over, and whether it was taken. */
    const tryOnce = async () => {
      await recovery.look()
      const [row] = await database.rows<{ status: string; sinceMs: number }>(sql`
        select run.status,
               (extract(epoch from clock_timestamp() - ${stoppedAt}::timestamptz) * 1000)::float8
                 as "sinceMs"
        from run where id = ${holder.runId}`)
      return { isTaken: row?.status === 'queued', sinceMs: row?.sinceMs ?? 0 }
    }
    const stoppedAt = await findIdleSince(pid)
    return { stopped, logger, tryOnce, sync, holder }
  }

  /** When the session became idle in its transaction; each look is a round trip. */
  async function findIdleSince(pid: number): Promise<string> {
    for (;;) {
      const [row] = await database.rows<{ since: string }>(sql`
        select state_change::text as since from pg_stat_activity
        where pid = ${pid} and state = 'idle in transaction'`)
      if (row) {
        return row.since
      }
    }
  }

  it(`holds up a take-over for less than ${BAR_MS} ms, and changes nothing when it goes on`, async () => {
    const { stopped, logger, tryOnce, sync, holder } = await stopHolder({})
    const tries = [await tryOnce()]
    while (tries.at(-1)?.isTaken === false) {
      tries.push(await tryOnce())
    }
    expect(tries.at(-1)?.sinceMs).toBeLessThan(BAR_MS)
    // What was tried before gave up, and did not hold up the rest of its round.
    expect(logger.count('run.not_recovered')).toBe(tries.length - 1)
    process.kill(stopped.pid, 'SIGCONT')
    expect(await stopped.find(/^stopping: (\w+)$/m)).toBe('DatabaseUnavailableError')
    expect(await stopped.exited).toBe(0)
    const fence = sql`select epoch, reached from sync_fence where sync_id = ${sync.syncId}`
    expect(await database.rows(fence)).toEqual([{ epoch: holder.epoch + 1, reached: null }])
  })

  it('would hold it up until its end on a connection without our settings (the control)', async () => {
    const { stopped, tryOnce } = await stopHolder({ BARE: 'yes' })
    const tries = [await tryOnce()]
    while ((tries.at(-1)?.sinceMs ?? 0) < BAR_MS) {
      tries.push(await tryOnce())
    }
    expect(tries.filter(({ isTaken }) => isTaken)).toEqual([])
    await stopped.kill('SIGKILL')
    expect(await tryOnce()).toMatchObject({ isTaken: true })
  })
})
