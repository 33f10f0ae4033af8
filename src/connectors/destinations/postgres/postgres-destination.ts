/**
 * The `postgres` destination: rows of a table, written by their key.
 *
 * Invariants: a call is one statement, and so one transaction: all of its records are written, or none. It is of class
 * `idempotent`: the same write twice leaves the same row. What the server refuses was not applied; what was
 * sent and not answered is unknown. A call that is not sent by half of its deadline is not sent at all, and the server
 * gives a statement half of the deadline, so that nothing of a call goes on behind it but what is still on its way.
 */
import type { Outcome } from '../../../domain/delivery.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { assert } from '../../../runtime/assert.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { type CallGate, FREE_GATE, type OpenGate, type Turn } from '../../call-gate.ts'
import type {
  DeliveryAnswer,
  DeliveryCall,
  DestinationConnector,
  DestinationWriter,
  OpenDestination,
  OutgoingRecord,
} from '../../destination.ts'
import {
  type ConnectSocket,
  connectAnywhere,
  postgresConnectionConfig,
  postgresCredentials,
  storedPostgresConfig,
  storedPostgresCredentials,
} from '../../postgres-connection.ts'
import {
  asConnectorError,
  DeadlinePassedError,
  PostgresFault,
  tellFault,
} from '../../postgres-faults.ts'
import { describeTableNameProblem } from '../../postgres-names.ts'
import { openSession, type PostgresSession } from '../../postgres-session.ts'
import { withoutUndefined } from '../../settings.ts'
import { testPostgres } from '../../sources/postgres/postgres-source.ts'
import { type PostgresObjectOptions, postgresObjectOptions } from './object-options.ts'
import { identify } from './record-identity.ts'
import { asRetryable, describeRefusal, isAboutRecords } from './refusals.ts'
import {
  checkTarget,
  describeFields,
  findTarget,
  type TargetColumn,
  type TargetTable,
} from './target-table.ts'
import { groupRecords, MAX_GROUPS, type Upsert, writeProbe, writeUpsert } from './upsert.ts'

export interface PostgresDestinationOptions {
  readonly clock: Clock
  /** Not given: any address may be connected to. */
  readonly connect?: ConnectSocket
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
}

/** JSON of one call; what is more is sent in several. */
const MAX_CALL_BYTES = 32 * 1024 * 1024
/** For what was sent in the last moment and is still on its way when the deadline passes. */
const SETTLING_MS = 5_000
/** Columns that are tried one by one, when a value does not fit, to name the guilty one. */
const MAX_PROBED = 100

export function createPostgresDestination(
  destination: PostgresDestinationOptions,
): DestinationConnector {
  return {
    type: 'postgres',
    connectionConfig: storedPostgresConfig,
    credentials: storedPostgresCredentials,
    objectOptions: postgresObjectOptions.transform(withoutUndefined),
    requestDeadlineMs: (options) => postgresObjectOptions.parse(options).requestDeadlineMs,
    describeObjectProblem: (object) => describeTableNameProblem('object', object),
    testConnection: (request) => testPostgres(destination, request),
    listFields: async (request) => {
      const { session, table } = await openTarget(destination, request)
      await session.close()
      return describeFields(table)
    },
    open: async (request) => {
      const opened = await openTarget(destination, request)
      return new PostgresWriter(destination, request, opened)
    },
  }
}

interface OpenTarget {
  readonly session: PostgresSession
  readonly table: TargetTable
}

async function openTarget(
  destination: PostgresDestinationOptions,
  request: OpenDestination,
): Promise<OpenTarget> {
  const options = postgresObjectOptions.parse(request.options)
  const { signal } = request
  try {
    const session = await openWriteSession(destination, request, options)
    try {
      const bounds = { deadlineMs: options.requestDeadlineMs, signal }
      const table = await findTarget(session, request.object, bounds)
      checkTarget(table, options)
      return { session, table }
    } catch (error) {
      await session.close()
      throw error
    }
  } catch (error) {
    signal.throwIfAborted()
    throw asConnectorError(error)
  }
}

/** Half of a call's deadline is the server's for the statement, and a quarter for the connection. */
function openWriteSession(
  { clock, connect = connectAnywhere }: PostgresDestinationOptions,
  { config, credentials, signal }: Pick<OpenDestination, 'config' | 'credentials' | 'signal'>,
  { requestDeadlineMs }: PostgresObjectOptions,
): Promise<PostgresSession> {
  return openSession({
    config: postgresConnectionConfig.parse(config),
    credentials: postgresCredentials.parse(credentials),
    connect,
    clock,
    signal,
    deadlineMs: requestDeadlineMs / 4,
    settings: {
      statement_timeout: String(Math.floor(requestDeadlineMs / 2)),
      lock_timeout: String(Math.floor(requestDeadlineMs / 4)),
      idle_in_transaction_session_timeout: String(requestDeadlineMs),
    },
  })
}

class PostgresWriter implements DestinationWriter {
  readonly deliveryClass = 'idempotent'
  readonly settlingMs = SETTLING_MS
  readonly requestDeadlineMs: number
  readonly maxRecordsPerCall: number
  readonly concurrency: number
  readonly lookUp = null
  readonly imports = null
  readonly #destination: PostgresDestinationOptions
  readonly #request: OpenDestination
  readonly #options: PostgresObjectOptions
  readonly #table: TargetTable
  readonly #keys: readonly TargetColumn[]
  readonly #gate: CallGate
  /** Standing connections that nobody uses; never more than `concurrency`. */
  readonly #idle: PostgresSession[]

  constructor(
    destination: PostgresDestinationOptions,
    request: OpenDestination,
    { session, table }: OpenTarget,
  ) {
    const options = postgresObjectOptions.parse(request.options)
    const { host, port } = postgresConnectionConfig.parse(request.config)
    const { openGate = () => FREE_GATE } = destination
    this.#destination = destination
    this.#request = request
    this.#options = options
    this.#table = table
    this.#keys = options.keyColumns.flatMap((name) => table.columns.get(name) ?? [])
    this.#gate = openGate({ connectionId: request.connectionId, host: `${host}:${port}` })
    this.#idle = [session]
    this.requestDeadlineMs = options.requestDeadlineMs
    this.maxRecordsPerCall = options.path === 'PAGE' ? options.maxRecordsPerCall : 1
    this.concurrency = options.concurrency
  }

  identityOf(fields: JsonObject): string | null {
    return identify(this.#keys, fields)
  }

  describeUnsendable({ fields, json }: Pick<OutgoingRecord, 'fields' | 'json'>): string | null {
    const { keyColumns, staleGuard, maxRecordBytes } = this.#options
    const missing = [...keyColumns, ...(staleGuard === undefined ? [] : [staleGuard])].find(
      (name) => !Object.hasOwn(fields, name) || fields[name] === null,
    )
    if (missing !== undefined) {
      return `The record has no value for ${JSON.stringify(missing)}, by which the table ${missing === staleGuard ? 'tells newer from older' : 'knows it'}.`
    }
    const bytes = Buffer.byteLength(json)
    if (bytes > maxRecordBytes) {
      return `The record is ${bytes} bytes of JSON; the destination takes at most ${maxRecordBytes}.`
    }
    return UNSTORABLE.test(json)
      ? 'A text of the record contains a NUL character or half of a surrogate pair.'
      : null
  }

  takeTurn(): Promise<Turn> {
    return this.#gate.take([])
  }

  async deliver(call: DeliveryCall): Promise<DeliveryAnswer> {
    const { records, signal } = call
    assert(
      records.length >= 1 && records.length <= this.maxRecordsPerCall,
      `One call takes 1 to ${this.maxRecordsPerCall} records.`,
    )
    signal.throwIfAborted()
    const grouped = groupRecords(this.#table, records)
    if (grouped.kind === 'unknown') {
      const reason = `The table has no column ${JSON.stringify(grouped.field)} that can be written; change the mapping or the table.`
      return answerAll(call, {
        kind: 'retryable',
        failure: 'node_failed',
        reason,
        retryAfterMs: null,
      })
    }
    const bytes = records.reduce((sum, { json }) => sum + json.length, 0)
    if (records.length > 1 && (grouped.groups.length > MAX_GROUPS || bytes > MAX_CALL_BYTES)) {
      const reason =
        'The records of the call are too large, or have too many different fields, for one statement.'
      return { kind: 'refused', reason, isTooLarge: true }
    }
    return await this.#send(call, writeUpsert(this.#table, grouped.groups, this.#options))
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((session) => session.close()))
  }

  async #send(call: DeliveryCall, upsert: Upsert): Promise<DeliveryAnswer> {
    const { signal } = call
    const { monotonicMs } = this.#destination.clock
    const beganMs = monotonicMs()
    const sending = new Sending(call, () => monotonicMs() - beganMs > this.requestDeadlineMs / 2)
    const send = (over: PostgresSession) =>
      over.query({
        ...upsert,
        signal,
        deadlineMs: this.requestDeadlineMs - (monotonicMs() - beganMs),
        beforeSend: () => sending.begin(),
      })
    let session: PostgresSession | null = null
    try {
      session = await this.#takeSession(signal)
      try {
        await send(session)
      } catch (error) {
        if (sending.isSent || session.isUsable || !(error instanceof PostgresFault)) {
          throw error
        }
        // It stood idle, and was gone before anything was sent.
        session = await this.#openSession(signal)
        await send(session)
      }
      await this.#gate.note('answered')
      return answerAll(call, WRITTEN)
    } catch (error) {
      return await this.#explain(error, sending, session)
    } finally {
      await this.#giveBack(session)
    }
  }

  async #explain(
    error: unknown,
    sending: Sending,
    session: PostgresSession | null,
  ): Promise<DeliveryAnswer> {
    const { call } = sending
    if (error instanceof PostgresFault && error.isAnswer) {
      await this.#gate.note('answered')
      return isAboutRecords(error)
        ? await this.#tellRefused(error, call, session)
        : answerAll(call, asRetryable(error))
    }
    if (sending.isSent) {
      const reason = call.signal.aborted
        ? 'The run stopped before an answer came.'
        : error instanceof DeadlinePassedError
          ? `No answer came within ${this.requestDeadlineMs / 1000} s.`
          : 'The connection broke before the answer was complete.'
      await this.#gate.note(call.signal.aborted ? 'answered' : 'dead')
      return answerAll(call, { kind: 'unknown', failure: 'provider_unavailable', reason })
    }
    call.signal.throwIfAborted()
    if (error instanceof PostgresFault || error instanceof DeadlinePassedError) {
      await this.#gate.note('dead')
      const { failure, reason } = tellFault(error)
      return answerAll(call, { kind: 'retryable', failure, reason, retryAfterMs: null })
    }
    // What `beforeSend` threw, or an address that is refused.
    throw error
  }

  async #tellRefused(
    fault: PostgresFault,
    call: DeliveryCall,
    session: PostgresSession | null,
  ): Promise<DeliveryAnswer> {
    const [record, ...more] = call.records
    if (record === undefined || more.length > 0) {
      return { kind: 'refused', reason: describeRefusal(fault, null), isTooLarge: false }
    }
    const column =
      fault.code.startsWith('22') && fault.column === null && session !== null
        ? await this.#findGuilty(record, session, call.signal)
        : null
    return answerAll(call, { kind: 'rejected', reason: describeRefusal(fault, column) })
  }

  /** The column whose type refuses its value; null: none does, or it could not be found out. */
  async #findGuilty(
    record: OutgoingRecord,
    session: PostgresSession,
    signal: AbortSignal,
  ): Promise<string | null> {
    const names = Object.keys(record.fields).slice(0, MAX_PROBED)
    for (const name of names) {
      const column = this.#table.columns.get(name)
      if (column === undefined || !session.isUsable) {
        return null
      }
      const probe = writeProbe(column, record)
      try {
        await session.query({ ...probe, signal, deadlineMs: this.requestDeadlineMs / 4 })
      } catch (error) {
        return error instanceof PostgresFault && error.isAnswer ? name : null
      }
    }
    return null
  }

  async #takeSession(signal: AbortSignal): Promise<PostgresSession> {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (session.isUsable) {
        return session
      }
      await session.close()
    }
    return await this.#openSession(signal)
  }

  #openSession(signal: AbortSignal): Promise<PostgresSession> {
    return openWriteSession(this.#destination, { ...this.#request, signal }, this.#options)
  }

  async #giveBack(session: PostgresSession | null): Promise<void> {
    if (session?.isUsable) {
      this.#idle.push(session)
    } else {
      await session?.close()
    }
  }
}

/** As JSON text has them; whole pairs stand in it as they are. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/

const WRITTEN: Outcome = { kind: 'written', remoteId: null }

/** Whether the statement of a call may have reached the server. */
class Sending {
  readonly call: DeliveryCall
  isSent = false
  readonly #isTooLate: () => boolean

  constructor(call: DeliveryCall, isTooLate: () => boolean) {
    this.call = call
    this.#isTooLate = isTooLate
  }

  begin(): void {
    if (this.#isTooLate()) {
      throw new PostgresFault({ code: 'CONNECT_TIMEOUT' })
    }
    this.call.beforeSend()
    this.isSent = true
  }
}

function answerAll(call: DeliveryCall, outcome: Outcome): DeliveryAnswer {
  return { kind: 'answered', outcomes: call.records.map(() => outcome) }
}
