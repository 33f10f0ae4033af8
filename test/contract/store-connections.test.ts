/**
 * Connections to PostgreSQL that break or fall silent: whoever asked is told, the process lives on, and the next
 * one who asks is served.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
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
