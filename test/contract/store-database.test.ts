/**
 * The handle itself, on both databases: one connection is enough, answers are whole whatever became of the
 * one before, and no connection of ours holds a row for long when its process stops.
 */
import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InvariantError } from '../../src/runtime/assert.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { workspace } from '../../src/store/schema-configuration.ts'
import { DatabaseUnavailableError, findUnavailable } from '../../src/store/unavailable.ts'
import {
  createTestDatabase,
  DATABASE_KINDS,
  type DatabaseKind,
  type TestDatabase,
  useDatabase,
} from '../support/databases.ts'

const HAS_POSTGRES = DATABASE_KINDS.includes('postgresql')

/** A pool of one connection, on each database. */
function useOneConnection(kind: DatabaseKind): () => Database {
  if (kind === 'embedded') {
    return useDatabase('embedded')
  }
  let test: TestDatabase
  let database: Database
  beforeAll(async () => {
    test = await createTestDatabase()
    database = await openOne(test.url)
  })
  afterAll(async () => {
    await database.close()
    await test.drop()
  })
  return () => database
}

function openOne(url: string, maxConnections = 1): Promise<Database> {
  return openDatabase({ at: { url }, maxConnections, applicationName: 'test' })
}

const ONE = sql`select 1 as one`

describe.each(DATABASE_KINDS)('one connection on %s', (kind) => {
  const database = useOneConnection(kind)

  it.each([
    ['a statement', () => database().rows(ONE)],
    ['the query builder', () => database().orm.select().from(workspace)],
    ['another transaction', () => database().transaction('inner', (tx) => tx.rows(ONE))],
    [
      'a transaction of the query builder',
      () => database().orm.transaction((tx) => tx.execute(ONE)),
    ],
  ])('refuses %s of the pool inside a transaction, instead of waiting for ever', async (_, use) => {
    const outer = database().transaction('outer', async (tx) => {
      await tx.rows(sql`insert into workspace (id, name) values (gen_random_uuid(), 'nested')`)
      await use()
    })
    const error: unknown = await outer.catch((caught: Error) => caught.cause ?? caught)
    expect(error).toBeInstanceOf(InvariantError)
    expect(error).toMatchObject({ message: 'The pool was used inside the transaction outer.' })
    // What the transaction did is undone, and its connection serves the next one.
    expect(await database().rows(sql`select id from workspace where name = 'nested'`)).toEqual([])
  })

  it('serves the pool again to what a transaction left behind, once that is over', async () => {
    let later: () => Promise<unknown> = () => Promise.resolve()
    await database().transaction('outer', async (tx) => {
      await tx.rows(ONE)
      later = () => database().rows(ONE)
    })
    expect(await later()).toEqual([{ one: 1 }])
  })
})

describe.runIf(HAS_POSTGRES)('a bare client of one connection (the control)', () => {
  it('waits for the transaction that waits for it', async () => {
    const test = await createTestDatabase()
    const client = postgres(test.url, { max: 1, onnotice: () => undefined })
    let isAnswered = false
    let nested: Promise<unknown> = Promise.resolve()
    await client.begin(async (inner) => {
      nested = client`select 1`.then(() => {
        isAnswered = true
      })
      for (let n = 0; n < 20; n += 1) {
        await inner`select 1`
      }
      expect(isAnswered).toBe(false)
    })
    await nested
    expect(isAnswered).toBe(true)
    await client.end()
    await test.drop()
  })
})

describe.each(DATABASE_KINDS)('an answer that breaks off on %s', (kind) => {
  const database = useOneConnection(kind)
  /** Two rows, and then an error. */
  const broken = sql`select 1 / (3 - n) as n from generate_series(1, 3) as n`

  it.each([
    ['statement', () => database().rows(ONE), [{ one: 1 }]],
    ['look without a row', () => database().rows(sql`select 1 where false`), []],
    [
      'statement of the query builder',
      () => database().orm.select({ one: sql`1` }).from(sql`(values (1)) as one`),
      [{ one: 1 }],
    ],
    ['transaction', () => database().transaction('after', (tx) => tx.rows(ONE)), [{ one: 1 }]],
  ])('leaves the next %s its own', async (_, ask, expected) => {
    await expect(database().rows(broken)).rejects.toThrow(/division by zero/)
    const rows = await ask()
    expect(rows).toHaveLength(expected.length)
    expect(rows).toEqual(expected)
  })
})

describe.runIf(HAS_POSTGRES)('a connection that ends in the middle of an answer', () => {
  const database = useOneConnection('postgresql')

  it('leaves the next answer whole, on the connection that takes its place', async () => {
    // The statement's own row is sent before its backend ends.
    const ending = database().rows(sql`select pg_terminate_backend(pg_backend_pid())`)
    await expect(ending).rejects.toThrow(DatabaseUnavailableError)
    // The driver tells the end of the old connection once more, instead of sending this one.
    expect(await database().rows(ONE)).toEqual([{ one: 1 }])
  })

  it('does not keep the next transaction from beginning', async () => {
    const ending = database().rows(sql`select pg_terminate_backend(pg_backend_pid())`)
    await expect(ending).rejects.toThrow(DatabaseUnavailableError)
    let begun = 0
    const inside = await database().transaction('after', (tx) => {
      begun += 1
      return tx.rows(ONE)
    })
    expect({ inside, begun }).toEqual({ inside: [{ one: 1 }], begun: 1 })
  })

  it('is told from a statement that is wrong', async () => {
    const fail = (statement: string) =>
      database()
        .rows(sql.raw(statement))
        .then(
          () => null,
          (error: unknown) => findUnavailable(error)?.code ?? 'another error',
        )
    const raise = (code: string) =>
      fail(`do $$ begin raise exception using errcode = '${code}', message = 'told'; end $$`)
    for (const code of ['53100', '53200', '53300', '57P01', '57P02', '57P03', '08006', '58030']) {
      expect(await raise(code)).toBe(code)
    }
    for (const code of ['55P03', '40P01', '40001', '25P03']) {
      expect(await raise(code)).toBe(code)
    }
    for (const code of ['23505', '23514', '22012', '42P01', '57014', 'P0001', 'XX000']) {
      expect(await raise(code)).toBe('another error')
    }
    expect(
      findUnavailable(Object.assign(new Error('of a source'), { code: 'ECONNRESET' })),
    ).toBeNull()
  })

  it('is told also where the query builder asked', async () => {
    const ending = database().orm.execute(sql`select pg_terminate_backend(pg_backend_pid())`)
    const error = await ending.then(() => null, findUnavailable)
    expect(error).toBeInstanceOf(DatabaseUnavailableError)
    expect(error?.message).toMatch(/^The database of this installation was out of reach/)
  })
})

describe.runIf(HAS_POSTGRES)('every connection of a pool', () => {
  it('gives up a row within 2 s, and an idle transaction within 3 s', async () => {
    const test = await createTestDatabase()
    const database = await openOne(test.url, 4)
    const settings = sql`select pg_backend_pid() as pid, current_setting('lock_timeout') as "lock",
             current_setting('idle_in_transaction_session_timeout') as idle
      from pg_sleep(0.05)`
    const rows = await Promise.all(Array.from({ length: 4 }, () => database.rows(settings)))
    expect(new Set(rows.flat().map(({ pid }) => pid)).size).toBe(4)
    const [inside] = await database.transaction('settings', (tx) => tx.rows(settings))
    for (const row of [...rows.flat(), inside]) {
      expect(row).toMatchObject({ lock: '2s', idle: '3s' })
    }
    await database.close()
    await test.drop()
  })
})
