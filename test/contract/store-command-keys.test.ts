/** The keys of what people asked for, on both databases: used once, with its answer, or not at all (I21). */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import { LedgerUpkeep } from '../../src/engine/ledger-upkeep.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  deleteCommandKey,
  findKeptAnswer,
  forgetCommandKeys,
  insertCommandKey,
  type KeyedRequest,
  keepAnswer,
} from '../../src/store/command-keys.ts'
import type { Database } from '../../src/store/database.ts'
import {
  createTestDatabase,
  DATABASE_KINDS,
  type TestDatabase,
  useDatabase,
} from '../support/databases.ts'
import { makeWorkspace } from '../support/factories.ts'
import { waitUntilBlocked } from '../support/held-open.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { createSignal } from '../support/signal.ts'

const DAY_MS = 24 * 3_600_000
const ANSWER = { runId: 'r1' }

async function makeRequest(database: Database): Promise<KeyedRequest> {
  const { workspaceId } = await makeWorkspace(database)
  return {
    workspaceId,
    clientKey: 'the key',
    command: 'runSync',
    inputDigest: 'd1',
    digestKeyId: 'k1',
  }
}

/** Uses the key in one transaction, as a command does: whether it had it. */
const use = (database: Database, request: KeyedRequest) =>
  database.transaction('test.use', async (tx) => {
    const isFirst = await insertCommandKey(tx, request)
    if (isFirst) {
      await keepAnswer(tx, request, ANSWER)
    }
    return isFirst
  })

describe.each(DATABASE_KINDS)('a key of a command on %s', (kind) => {
  const database = useDatabase(kind)

  it('is used once in its workspace, and answers what was kept', async () => {
    const request = await makeRequest(database())
    expect(await findKeptAnswer(database(), request)).toBeNull()
    expect(await use(database(), request)).toBe(true)
    expect(await use(database(), { ...request, command: 'retryRun', inputDigest: 'd2' })).toBe(
      false,
    )
    expect(await findKeptAnswer(database(), request)).toEqual({
      ...{ command: 'runSync', inputDigest: 'd1', answer: ANSWER },
    })
    const elsewhere = await makeRequest(database())
    expect(await findKeptAnswer(database(), elsewhere)).toBeNull()
    expect(await use(database(), elsewhere)).toBe(true)
  })

  it('is free again when its transaction is rolled back, or gives it up', async () => {
    const request = await makeRequest(database())
    const failing = database().transaction('test.fail', async (tx) => {
      await insertCommandKey(tx, request)
      await keepAnswer(tx, request, ANSWER)
      throw new Error('refused')
    })
    await expect(failing).rejects.toThrow('refused')
    expect(await findKeptAnswer(database(), request)).toBeNull()
    await database().transaction('test.giveUp', async (tx) => {
      expect(await insertCommandKey(tx, request)).toBe(true)
      await deleteCommandKey(tx, request)
    })
    expect(await use(database(), request)).toBe(true)
  })

  it('is forgotten after a while', async () => {
    const [old, young] = [await makeRequest(database()), await makeRequest(database())]
    await use(database(), old)
    await use(database(), young)
    await database().rows(sql`update command_key set created_at = now() - interval '8 days'
      where workspace_id = ${old.workspaceId}`)
    expect(await forgetCommandKeys(database(), 9 * DAY_MS)).toBe(0)
    const logger = createRecordingLogger()
    const parts = { database: database(), clock: systemClock, logger }
    await new LedgerUpkeep({ ...parts, retentionMs: LEDGER_RETENTION_MS }).runOnce()
    expect(logger.events).toContainEqual(
      expect.objectContaining({ event: 'command_keys.forgotten', bindings: { keys: 1 } }),
    )
    expect(await findKeptAnswer(database(), old)).toBeNull()
    expect(await findKeptAnswer(database(), young)).not.toBeNull()
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a key that somebody is using', () => {
  let test: TestDatabase
  let database: Database
  let other: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    other = await test.open()
  })
  afterAll(() => test.drop())

  /** Uses it in a transaction that ends when it is told to. */
  function hold(request: KeyedRequest) {
    const [isUsed, mayEnd] = [createSignal(), createSignal()]
    const held = other.transaction('test.hold', async (tx) => {
      await tx.rows(sql`set local idle_in_transaction_session_timeout = 0`)
      await insertCommandKey(tx, request)
      await keepAnswer(tx, request, ANSWER)
      isUsed.reach()
      await mayEnd.reached
      throw new Error('refused')
    })
    held.catch(() => undefined)
    return { isUsed: isUsed.reached, end: mayEnd.reach }
  }

  it('is waited for, and had by who waits when that one fails', async () => {
    const request = await makeRequest(database)
    const { isUsed, end } = hold(request)
    await isUsed
    const second = use(database, request)
    await waitUntilBlocked(database)
    end()
    expect(await second).toBe(true)
  })

  it('is not waited for in another workspace', async () => {
    const { isUsed, end } = hold(await makeRequest(database))
    await isUsed
    expect(await use(database, await makeRequest(database))).toBe(true)
    end()
  })
})
