/**
 * Opens the database: PostgreSQL through a pool, or the embedded PGlite through one connection.
 *
 * The only file of the store that knows which one it is. Invariants: schema migrations run one process
 * at a time; inside a transaction only its own handle is used (on one connection anything else would
 * wait for ever, so it throws).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { InvariantError } from '../runtime/assert.ts'
import { systemClock } from '../runtime/clock.ts'
import { dense, denseQuery, sendUnsent } from './driver-rows.ts'
import { transact } from './driver-transaction.ts'
import { type EmbeddedServer, startEmbedded } from './embedded/embedded.ts'
import { openRenewedConnections } from './renewed-connections.ts'
import { nameUnavailable } from './unavailable.ts'

/** Rows of a raw statement: 64-bit integers as numbers, bytea as bytes, dates and times as text. */
export type Row = Readonly<Record<string, unknown>>

/** What a store function works through: the pool, or one transaction. */
export interface Handle {
  readonly orm: PostgresJsDatabase
  /** Runs one statement, prepared once a connection. Throws the driver's error, or {@link DatabaseUnavailableError}. */
  rows<R extends Row>(statement: SQL): Promise<readonly R[]>
}

export interface Database extends Handle {
  readonly isEmbedded: boolean
  /** Commits what `work` did, or nothing. `name` (file.function) is the transaction's first comment. */
  transaction<T>(name: string, work: (tx: Handle) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** A PostgreSQL address, or the directory of the embedded database. */
  readonly at: { readonly url: string } | { readonly directory: string }
  /** Connections of the pool; the embedded database always has one. */
  readonly maxConnections: number
  readonly applicationName: string
  /** How long an answer of PostgreSQL is awaited. Default: longer than a statement may take. */
  readonly answerDeadlineMs?: number
}

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url))
/** Any constant: every process of this product takes the same advisory lock to migrate. */
const MIGRATION_LOCK_ID = 7_260_912
const CONNECT_TIMEOUT_S = 10
/** Between two statements of a migration. */
const MIGRATION_IDLE_TIMEOUT_MS = 10_000
const CLOSE_TIMEOUT_S = 5
const STATEMENT_TIMEOUT_MS = 30_000
/** PostgreSQL ends a statement before. */
const ANSWER_DEADLINE_MS = STATEMENT_TIMEOUT_MS + 5_000
/** Longest wait between two tries to connect again. */
const MAX_RECONNECT_WAIT_S = 1

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if ('url' in options.at) {
    const { url } = options.at
    await migrateServer(url)
    const { answerDeadlineMs = ANSWER_DEADLINE_MS } = options
    const client = openRenewedConnections({
      clock: systemClock,
      answerDeadlineMs,
      graceS: Math.min(CLOSE_TIMEOUT_S, answerDeadlineMs / 1_000),
      open: () => connect(url, options),
    })
    return wrap(client, null)
  }
  const server = await startEmbedded(options.at.directory)
  try {
    const client = connect(server, { ...options, maxConnections: 1 })
    await migrate(drizzle(client), { migrationsFolder: MIGRATIONS })
    return wrap(client, server)
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Brings a server's schema up to date. Processes that start together wait for the first one. */
export async function migrateServer(url: string): Promise<void> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connect_timeout: CONNECT_TIMEOUT_S,
    fetch_types: false,
    // Stopped in the middle of it, a process must not keep all others from their tables. No lock timeout:
    // processes that start together wait for the first one, however long it takes.
    connection: { idle_in_transaction_session_timeout: MIGRATION_IDLE_TIMEOUT_MS },
  })
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK_ID})`
    await migrate(drizzle(client), { migrationsFolder: MIGRATIONS })
    await client`select pg_advisory_unlock(${MIGRATION_LOCK_ID})`
  } finally {
    await client.end({ timeout: CLOSE_TIMEOUT_S })
  }
}

function connect(
  at: string | EmbeddedServer,
  options: Pick<DatabaseOptions, 'maxConnections' | 'applicationName'>,
): postgres.Sql {
  const shared = {
    max: options.maxConnections,
    onnotice: () => undefined,
    connect_timeout: CONNECT_TIMEOUT_S,
    keep_alive: 10,
    // The driver's own waits grow to 20 s: so long after an outage nothing would beat or be taken over.
    backoff: (tries: number) => Math.min(0.05 * 2 ** tries, MAX_RECONNECT_WAIT_S),
    // Else the driver asks for the types of arrays first, and whoever breaks that ends this process: nobody awaits it.
    fetch_types: false,
    types: { safeInteger: SAFE_INTEGER, wholeNumbers: WHOLE_NUMBERS },
    connection: {
      application_name: options.applicationName,
      // A stopped process must not hold a lock for ever (a take-over would wait for it).
      idle_in_transaction_session_timeout: 3_000,
      lock_timeout: 2_000,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    },
  }
  return typeof at === 'string'
    ? postgres(at, shared)
    : postgres({ ...shared, path: at.socketPath, user: 'postgres', database: 'postgres' })
}

const SAFE_INTEGER: postgres.PostgresType<number> = {
  to: 20,
  from: [20],
  serialize: (value: number) => String(value),
  parse: (text: string) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) {
      throw new InvariantError(`The integer ${text} does not fit a number.`)
    }
    return value
  },
}

/** `int[]`, the only arrays that statements return. */
const WHOLE_NUMBERS: postgres.PostgresType<number[]> = {
  to: 1007,
  from: [1007],
  serialize: (values: readonly number[]) => `{${values.join(',')}}`,
  parse: (text: string) => JSON.parse(`[${text.slice(1, -1)}]`) as number[],
}

interface OpenTransaction {
  readonly name: string
  isOpen: boolean
}

const currentTransaction = new AsyncLocalStorage<OpenTransaction>()

function wrap(client: postgres.Sql, server: EmbeddedServer | null): Database {
  const orm = drizzle(guardPool(client))
  const dialect = new PgDialect()
  return {
    isEmbedded: server !== null,
    orm,
    rows: (statement) => {
      refuseInsideTransaction()
      return runPrepared(client, dialect, statement)
    },
    transaction: (name, work) => {
      refuseInsideTransaction()
      const open: OpenTransaction = { name, isOpen: true }
      return currentTransaction.run(open, async () => {
        try {
          return await sendUnsent(() =>
            transact(client, async (session) => {
              const tx = drizzle(asClient(session, client))
              return await work({
                orm: tx,
                rows: (statement) => runPrepared(session, dialect, statement),
              })
            }),
          )
        } catch (error) {
          throw nameUnavailable(error)
        } finally {
          open.isOpen = false
        }
      })
    },
    close: async () => {
      await client.end({ timeout: CLOSE_TIMEOUT_S })
      await server?.stop()
    },
  }
}

async function runPrepared<R extends Row>(
  client: postgres.Sql,
  dialect: PgDialect,
  statement: SQL,
): Promise<readonly R[]> {
  const query = dialect.sqlToQuery(statement)
  try {
    const parameters = query.params as postgres.ParameterOrJSON<never>[]
    const rows = await sendUnsent(() =>
      client.unsafe<R[]>(query.sql, parameters, { prepare: true }),
    )
    return dense(rows)
  } catch (error) {
    throw nameUnavailable(error)
  }
}

/** drizzle() sets type parsers on `options`, which a transaction's client lacks; they are the pool's. */
function asClient(session: postgres.Sql, pool: postgres.Sql): postgres.Sql {
  return Object.assign(session, { options: pool.options })
}

/** The pool as the query builder sees it: inside a transaction it throws, and its answers have no holes. */
function guardPool(client: postgres.Sql): postgres.Sql {
  return new Proxy(client, {
    get: (target, property, receiver) => {
      if (property === 'unsafe' || property === 'begin') {
        refuseInsideTransaction()
      }
      return property === 'unsafe'
        ? (...args: Parameters<typeof client.unsafe>) => denseQuery(() => target.unsafe(...args))
        : Reflect.get(target, property, receiver)
    },
  })
}

function refuseInsideTransaction(): void {
  const open = currentTransaction.getStore()
  if (open?.isOpen) {
    throw new InvariantError(`The pool was used inside the transaction ${open.name}.`)
  }
}
