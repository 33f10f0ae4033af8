/**
 * A transaction whose connection ends, on PostgreSQL: nothing of it is done, and nothing of it is sent any
 * more, also where its work goes on and the pool has opened the connection again.
 */
import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { workspace } from '../../src/store/schema-configuration.ts'
import { DatabaseUnavailableError } from '../../src/store/unavailable.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { createSignal } from '../support/signal.ts'
import { newId } from '../support/store-seed.ts'

const addWorkspace = (name: string) =>
  sql`insert into workspace (id, name) values (${newId()}, ${name})`

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a transaction whose connection ends', () => {
  let test: TestDatabase
  let observer: Database
  /** One connection, so that what takes its place is the same one. */
  let database: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    observer = await test.open()
    database = await openDatabase({
      at: { url: test.url },
      maxConnections: 1,
      applicationName: 'torn',
    })
  })
  afterAll(async () => {
    await database.close()
    await test.drop()
  })
  beforeEach(() => observer.rows(sql`delete from workspace`))

  const names = async () =>
    (await observer.rows(sql`select name from workspace order by name`)).map(({ name }) => name)
  const endOwnConnection = (tx: Handle) =>
    tx.rows(sql`select pg_terminate_backend(pg_backend_pid())`)
  async function endConnectionOf(pid: unknown): Promise<void> {
    await observer.rows(sql`select pg_terminate_backend(${Number(pid)}::int)`)
    let left: readonly unknown[]
    do {
      left = await observer.rows(
        sql`select 1 from pg_stat_activity where pid = ${Number(pid)}::int`,
      )
    } while (left.length > 0)
  }

  it.each([
    ['in the middle of a statement', endOwnConnection],
    [
      'in the middle of a statement of the query builder',
      (tx: Handle) => tx.orm.execute(sql`select pg_terminate_backend(pg_backend_pid())`),
    ],
  ])('%s is undone, and the pool goes on', async (_, end) => {
    const torn = database.transaction('torn', async (tx) => {
      await tx.rows(addWorkspace('first'))
      await end(tx)
    })
    await expect(torn).rejects.toThrow(DatabaseUnavailableError)
    expect(await database.rows(sql`select 1 as one`)).toEqual([{ one: 1 }])
    expect(await names()).toEqual([])
  })

  it('and whose work takes no notice is undone all the same', async () => {
    const torn = database.transaction('torn', async (tx) => {
      await tx.rows(addWorkspace('first'))
      await endOwnConnection(tx).catch(() => undefined)
      return 'done'
    })
    await expect(torn).rejects.toThrow(DatabaseUnavailableError)
    expect(await database.rows(sql`select 1 as one`)).toEqual([{ one: 1 }])
    expect(await names()).toEqual([])
  })

  it('between two statements sends the second one nowhere, though the pool has connected again', async () => {
    const isGone = createSignal()
    const begun = createSignal()
    const told: unknown[] = []
    let pid: unknown = null
    const work = async (tx: Handle) => {
      await tx.rows(addWorkspace('first'))
      pid = (await tx.rows(sql`select pg_backend_pid() as pid`))[0]?.['pid']
      begun.reach()
      await isGone.reached
      for (const send of [
        () => tx.rows(addWorkspace('second')),
        () => tx.orm.insert(workspace).values({ id: newId(), name: 'third' }),
      ]) {
        await Promise.resolve(send()).then(
          () => told.push('sent'),
          () => told.push('refused'),
        )
      }
    }
    let working: Promise<void> = Promise.resolve()
    const torn = database.transaction('torn', (tx) => {
      working = work(tx)
      return working
    })
    const failed = expect(torn).rejects.toThrow(DatabaseUnavailableError)
    await begun.reached
    await endConnectionOf(pid)
    await failed
    expect(await database.rows(sql`select 1 as one`)).toEqual([{ one: 1 }])
    isGone.reach()
    await working
    expect(told).toEqual(['refused', 'refused'])
    expect(await database.rows(sql`select 1 as one`)).toEqual([{ one: 1 }])
    expect(await names()).toEqual([])
  })

  it('would send it on the connection that took its place, to be kept by itself (the control)', async () => {
    const client = postgres(test.url, { max: 1, fetch_types: false, onnotice: () => undefined })
    const begun = createSignal()
    const isGone = createSignal()
    const isSent = createSignal()
    let pid: unknown = null
    const torn = client.begin(async (tx) => {
      await tx`insert into workspace (id, name) values (${newId()}, 'first')`
      pid = (await tx`select pg_backend_pid() as pid`)[0]?.['pid']
      begun.reach()
      await isGone.reached
      await tx`insert into workspace (id, name) values (${newId()}, 'second')`
      isSent.reach()
    })
    const failed = expect(torn).rejects.toThrow(/CONNECTION_CLOSED/)
    await begun.reached
    await endConnectionOf(pid)
    await failed
    await client`select 1`
    isGone.reach()
    await isSent.reached
    expect(await names()).toEqual(['second'])
    await client.end()
  })
})
