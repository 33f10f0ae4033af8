/**
 * One connection to a PostgreSQL server, one statement at a time.
 *
 * Invariants: a session has one socket in its life. Once that is gone, or was given up because a statement took too
 * long or its run stopped, the session is over; it never connects again by itself, and nothing of it is carried out on
 * another connection. Every value crosses as text, in both directions: what the driver makes of numbers, dates and JSON
 * is lossy. Of what the driver throws only {@link PostgresFault} gets out.
 *
 * `beforeSend` is called when the connection stands and the statement is prepared, so that what follows it is one
 * write: the driver asks the server for the types of a statement that it sees for the first time, and sends
 * the values only after the answer.
 */
import type { Socket } from 'node:net'
import postgres from 'postgres'
import type { Clock } from '../runtime/clock.ts'
import {
  type ConnectSocket,
  openServerSocket,
  type PostgresConfig,
  type PostgresCredentials,
} from './postgres-connection.ts'
import { DeadlinePassedError, PostgresFault } from './postgres-faults.ts'
import { quoteText } from './postgres-names.ts'

/** Statements that a session keeps prepared. One more, and another session takes its place. */
const MAX_PREPARED = 100
/** The server looks so often whether somebody still waits for a statement under way. PostgreSQL 14 and newer. */
const LOOK_FOR_CLIENT_MS = 1_000
/** For saying goodbye. */
const CLOSE_S = 1

export interface SessionOptions {
  readonly config: PostgresConfig
  readonly credentials: PostgresCredentials
  readonly connect: ConnectSocket
  readonly clock: Clock
  /** Settings of the server for this session, by name. */
  readonly settings: Readonly<Record<string, string>>
  /** For the connection and the sign-in together. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

export interface Statement {
  readonly text: string
  readonly values?: readonly string[]
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** Immediately before it is written; what it throws stops it. */
  beforeSend?(): void
}

/** Texts as the server writes them, null for null. */
export type TextRow = readonly (string | null)[]

export interface DescribedColumn {
  readonly name: string
  /** The oid of its type; of a domain, that of the type beneath it. */
  readonly type: number
}

/** What every session is told first, so that a text means one thing only. */
const FORMS: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'iso_8601',
  extra_float_digits: '1',
  bytea_output: 'hex',
}

/** Types that the driver would read by itself. */
const READ_BY_DRIVER = [16, 17, 20, 21, 23, 26, 114, 700, 701, 1082, 1114, 1184, 3802]
const asItStands = (value: unknown): string => String(value)

export async function openSession(options: SessionOptions): Promise<PostgresSession> {
  const { signal, deadlineMs, clock } = options
  signal.throwIfAborted()
  const settled = new AbortController()
  const stop = () => settled.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  clock.sleep(deadlineMs, settled.signal).then(
    () => settled.abort(new DeadlinePassedError(deadlineMs)),
    () => undefined,
  )
  try {
    const socket = await openServerSocket(options.config, options.connect, settled.signal)
    const session = new PostgresSession(socket, options)
    await session.query({ text: introduce(options.settings), deadlineMs, signal })
    return session
  } catch (error) {
    signal.throwIfAborted()
    throw settled.signal.aborted ? settled.signal.reason : nameFault(error)
  } finally {
    signal.removeEventListener('abort', stop)
    settled.abort()
  }
}

/** Not in the startup message: poolers in between refuse what they do not know there. */
function introduce(settings: Readonly<Record<string, string>>): string {
  const set = Object.entries({ ...FORMS, ...settings }).map(
    ([name, value]) => `set_config(${quoteText(name)}, ${quoteText(value)}, false)`,
  )
  return `/* postgres-session.introduce */
select ${set.join(', ')},
  (select set_config(name, '${LOOK_FOR_CLIENT_MS}', false)
    from pg_catalog.pg_settings where name = 'client_connection_check_interval')`
}

export class PostgresSession {
  readonly #socket: Socket
  readonly #client: postgres.Sql
  readonly #clock: Clock
  readonly #prepared = new Set<string>()
  #isOver = false

  constructor(socket: Socket, { config, credentials, clock, deadlineMs }: SessionOptions) {
    this.#socket = socket
    this.#clock = clock
    socket.once('close', () => {
      this.#isOver = true
    })
    let isTaken = false
    this.#client = postgres({
      ...DRIVER_OPTIONS,
      host: config.host,
      port: config.port,
      database: config.database,
      username: credentials.user,
      // A function: the driver takes an empty text for none, and looks for one in the environment.
      password: () => credentials.password ?? '',
      connect_timeout: Math.ceil(deadlineMs / 1000),
      socket: () => {
        if (isTaken) {
          throw new PostgresFault({ code: 'CONNECTION_CLOSED' })
        }
        isTaken = true
        return socket
      },
    } as object)
  }

  /** Whether another statement may be given to it. */
  get isUsable(): boolean {
    return !this.#isOver && this.#prepared.size < MAX_PREPARED
  }

  /** Throws PostgresFault, DeadlinePassedError, the signal's reason, or what `beforeSend` threw. */
  async query(statement: Statement): Promise<readonly TextRow[]> {
    const { text, values = [], beforeSend } = statement
    if (values.length > 0 && !this.#prepared.has(text)) {
      // The types of the parameters are told by casts in the text, so any values stand for them.
      const described = () => this.#client.unsafe(text, [...values], { prepare: true }).describe()
      await this.#settle(statement, described)
      this.#prepared.add(text)
    }
    statement.signal.throwIfAborted()
    this.#refuseWhenOver()
    beforeSend?.()
    const rows = await this.#settle(statement, () =>
      this.#client.unsafe(text, [...values], oneStatement(values.length > 0)).values(),
    )
    return dense(rows as unknown as readonly TextRow[])
  }

  /** The columns that a statement without parameters answers with; it is not carried out. */
  async describe(statement: Omit<Statement, 'values'>): Promise<readonly DescribedColumn[]> {
    const told = await this.#settle(statement, () => this.#client.unsafe(statement.text).describe())
    return told.columns.map(({ name, type }) => ({ name, type }))
  }

  /** Gives the connection up, with whatever is under way. */
  destroy(): void {
    this.#isOver = true
    this.#socket.destroy()
  }

  async close(): Promise<void> {
    const isOpen = !this.#isOver
    this.#isOver = true
    if (isOpen) {
      await this.#client.end({ timeout: CLOSE_S }).catch(() => undefined)
    }
    this.#socket.destroy()
  }

  #refuseWhenOver(): void {
    if (this.#isOver) {
      throw new PostgresFault({ code: 'CONNECTION_CLOSED' })
    }
  }

  async #settle<T>(
    { signal, deadlineMs }: Pick<Statement, 'signal' | 'deadlineMs'>,
    send: () => PromiseLike<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    this.#refuseWhenOver()
    const over = new AbortController()
    const givenUp = new Promise<never>((_, reject) => {
      const giveUp = (reason: unknown) => {
        this.destroy()
        reject(reason)
      }
      signal.addEventListener('abort', () => giveUp(signal.reason), {
        once: true,
        signal: over.signal,
      })
      this.#clock.sleep(deadlineMs, over.signal).then(
        () => giveUp(new DeadlinePassedError(deadlineMs)),
        () => undefined,
      )
    })
    givenUp.catch(() => undefined)
    try {
      return await Promise.race([Promise.resolve(send()), givenUp])
    } catch (error) {
      if (error instanceof DeadlinePassedError || signal.aborted) {
        throw error
      }
      const fault = nameFault(error)
      if (!(fault instanceof PostgresFault && fault.isAnswer)) {
        this.destroy()
      }
      throw fault
    } finally {
      over.abort()
    }
  }
}

/**
 * The extended protocol, also where there are no values: the simple one takes several statements in one text, and a
 * query that changes how the server reads literals could end the read-only transaction that it stands in.
 */
const oneStatement = (prepare: boolean) => ({ prepare, simple: false }) as object

/** After an answer that broke off the driver leaves as many holes in front of the next one. */
function dense(rows: readonly TextRow[]): readonly TextRow[] {
  return rows.length === 0 || 0 in rows ? rows : rows.filter(() => true)
}

/** All of them said: what is left out, the driver looks for in this process's environment. */
const DRIVER_OPTIONS = {
  max: 1,
  max_pipeline: 1,
  ssl: false,
  sslnegotiation: null,
  idle_timeout: 0,
  max_lifetime: 0,
  keep_alive: 10,
  backoff: false,
  prepare: true,
  debug: false,
  fetch_types: false,
  publications: 'alltables',
  onnotice: () => undefined,
  connection: { application_name: 'tajo-sync' },
  types: {
    text: { to: 25, from: READ_BY_DRIVER, serialize: asItStands, parse: asItStands },
  },
}

function nameFault(error: unknown): unknown {
  if (error instanceof PostgresFault || error instanceof DeadlinePassedError) {
    return error
  }
  // What is no error of the driver, such as an address that is refused, is told as it is.
  return error instanceof Error && 'code' in error && !(error.name === 'ConnectorError')
    ? new PostgresFault(error)
    : error
}
