/**
 * Connections to PostgreSQL that break or fall silent: whoever asked is told, the process lives on, and the next
 * one who asks is served.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { createTornConnections, type TornConnections } from '../support/torn-connections.ts'

const ONE = sql`select 1 as one, array[2, 3] as more`
const ANSWER = [{ one: 1, more: [2, 3] }]
/** Of opening a connection, of its first statement, and of the next ones. */
const MESSAGES = [1, 2, 3, 4]

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a connection', () => {
  let test: TestDatabase
  let torn: TornConnections
  let database: Database
  let unhandled: unknown[]
  const noteUnhandled = (error: unknown) => unhandled.push(error)

  beforeEach(async () => {
    unhandled = []
    process.prependListener('unhandledRejection', noteUnhandled)
    test = await createTestDatabase()
    torn = await createTornConnections(test.url)
    database = await openDatabase({
      at: { url: torn.url },
      maxConnections: 1,
      applicationName: 'test',
    })
  })
  afterEach(async () => {
    await database.close()
    await torn.close()
    await test.drop()
    process.removeListener('unhandledRejection', noteUnhandled)
  })

  it.each(MESSAGES)('that breaks at its message %i harms nobody but who asked', async (message) => {
    torn.tearNext(message)
    while (!torn.isTorn) {
      await database.rows(ONE).catch((error: unknown) => error)
    }
    for (let turns = 0; turns < 20; turns += 1) {
      await turn()
    }
    expect(unhandled).toEqual([])
    expect(await database.rows(ONE)).toEqual(ANSWER)
  })
})

/** Of an answer; so long again the others may go on once one of them is late. */
const DEADLINE_MS = 500

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a connection that falls silent', () => {
  let test: TestDatabase
  let proxy: TcpProxy
  let database: Database

  beforeEach(async () => {
    test = await createTestDatabase()
    const { hostname: host, port } = new URL(test.url)
    proxy = await startTcpProxy({ host, port: Number(port) })
    const url = Object.assign(new URL(test.url), { host: `127.0.0.1:${proxy.port}` }).href
    const at = { at: { url }, applicationName: 'test' }
    database = await openDatabase({ ...at, maxConnections: 2, answerDeadlineMs: DEADLINE_MS })
    await Promise.all([database.rows(ONE), database.rows(ONE)])
  })
  afterEach(async () => {
    await database.close()
    await proxy.close()
    await test.drop()
  })

  it('is given up: whoever asked is told, and what comes next is served', async () => {
    proxy.freezeOpenConnections()
    const beganMs = performance.now()
    const asked = await Promise.allSettled([
      database.rows(ONE),
      database.transaction('test', (tx) => tx.rows(ONE)),
      database.orm.execute(ONE),
    ])
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    const tookMs = performance.now() - beganMs
    expect(tookMs).toBeGreaterThan(DEADLINE_MS)
    expect(tookMs).toBeLessThan(10 * DEADLINE_MS)
    expect(await database.rows(ONE)).toEqual(ANSWER)
    expect(await database.transaction('test', (tx) => tx.rows(ONE))).toEqual(ANSWER)
    expect(await database.orm.execute(ONE)).toEqual(ANSWER)
  })

  it('costs nobody an answer who has a connection that is not', async () => {
    const slow = sql`select 1 as one from pg_sleep(0.7)`
    const late = await Promise.all([database.rows(slow), database.rows(slow)])
    expect(late).toEqual([[{ one: 1 }], [{ one: 1 }]])
    expect(await database.rows(ONE)).toEqual(ANSWER)
  })

  it('leaves the types of what comes next as they were', async () => {
    proxy.freezeOpenConnections()
    await expect(database.rows(ONE)).rejects.toThrow()
    const typed = sql`select 9007199254740991::bigint as big, '{"a":1}'::jsonb as told, now() as at`
    const [row] = await database.rows(typed)
    expect(row).toEqual({ big: 9007199254740991, told: { a: 1 }, at: expect.any(String) })
    expect(row?.['at']).toMatch(/^\d{4}-\d{2}-\d{2} /)
  })
})
