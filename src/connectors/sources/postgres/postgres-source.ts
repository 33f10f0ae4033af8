/**
 * The `postgres` source: a table or a query, read in the order of a column that grows with every change.
 *
 * Invariant: nothing is written to the server that is read. Sessions are read-only, and every statement has a time
 * limit there and here. How a cursor works stands in postgres-cursor.ts, what is done about rows that are committed
 * late in horizon.ts, and what a mapping gets in column-values.ts.
 */
import type { Clock } from '../../../runtime/clock.ts'
import { FREE_GATE, type OpenGate } from '../../call-gate.ts'
import type { OpenConnection } from '../../connector.ts'
import {
  type ConnectSocket,
  connectAnywhere,
  postgresConnectionConfig,
  postgresCredentials,
  storedPostgresConfig,
  storedPostgresCredentials,
} from '../../postgres-connection.ts'
import { asConnectorError } from '../../postgres-faults.ts'
import { describeTableNameProblem } from '../../postgres-names.ts'
import { openSession, type PostgresSession } from '../../postgres-session.ts'
import { withoutUndefined } from '../../settings.ts'
import type { OpenSource, SourceConnector, SourceReader } from '../../source.ts'
import { countStray, PostgresReader, readBounds } from './postgres-reader.ts'
import { postgresStreamOptions } from './stream-options.ts'
import { planStream, refuseStray } from './stream-plan.ts'

export interface PostgresSourceOptions {
  readonly clock: Clock
  /** Not given: any address may be connected to. */
  readonly connect?: ConnectSocket
  /** Not given: nothing holds a call up. */
  readonly openGate?: OpenGate
}

/** For the connection and the sign-in together. */
const CONNECT_MS = 10_000
const TEST_TIMEOUT_MS = 5_000
/** Nothing that reads waits for a table that is being rebuilt. */
const LOCK_TIMEOUT_MS = 5_000
/** No transaction is open while nobody reads. */
const IDLE_IN_TRANSACTION_MS = 10_000

export function createPostgresSource(source: PostgresSourceOptions): SourceConnector {
  return {
    type: 'postgres',
    connectionConfig: storedPostgresConfig,
    credentials: storedPostgresCredentials,
    testConnection: (request) => testPostgres(source, request),
    streamOptions: postgresStreamOptions.transform(withoutUndefined),
    describeStreamProblem: (stream, options) =>
      Promise.resolve(
        postgresStreamOptions.parse(options).query === undefined
          ? describeTableNameProblem('stream', stream)
          : null,
      ),
    listFields: () => Promise.resolve(null),
    open: (request) => openReader(source, request),
  }
}

/** The same for both ends of a connection. */
export async function testPostgres(
  parts: PostgresSourceOptions,
  request: OpenConnection,
): Promise<void> {
  try {
    const session = await openReadSession(parts, request, TEST_TIMEOUT_MS)
    try {
      const bounds = { deadlineMs: TEST_TIMEOUT_MS, signal: request.signal }
      await session.query({ ...bounds, text: '/* postgres.test */ select 1' })
    } finally {
      await session.close()
    }
  } catch (error) {
    request.signal.throwIfAborted()
    throw asConnectorError(error)
  }
}

function openReadSession(
  { clock, connect = connectAnywhere }: PostgresSourceOptions,
  request: OpenConnection,
  statementTimeoutMs: number,
): Promise<PostgresSession> {
  return openSession({
    config: postgresConnectionConfig.parse(request.config),
    credentials: postgresCredentials.parse(request.credentials),
    connect,
    clock,
    deadlineMs: CONNECT_MS,
    signal: request.signal,
    settings: {
      default_transaction_read_only: 'on',
      statement_timeout: String(statementTimeoutMs),
      lock_timeout: String(LOCK_TIMEOUT_MS),
      idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
    },
  })
}

async function openReader(
  source: PostgresSourceOptions,
  request: OpenSource,
): Promise<SourceReader> {
  const { stream, signal, connectionId } = request
  const options = postgresStreamOptions.parse(request.options)
  const { host, port } = postgresConnectionConfig.parse(request.config)
  const { openGate = () => FREE_GATE } = source
  const open = (until: AbortSignal) =>
    openReadSession(source, { ...request, signal: until }, options.statementTimeoutMs)
  try {
    const session = await open(signal)
    try {
      const bounds = readBounds(options, signal)
      const plan = await planStream(session, { stream, options, ...bounds })
      refuseStray(await countStray(session, plan, bounds), options)
      return new PostgresReader({
        plan,
        options,
        session,
        gate: openGate({ connectionId, host: `${host}:${port}` }),
        openSession: open,
      })
    } catch (error) {
      await session.close()
      throw error
    }
  } catch (error) {
    signal.throwIfAborted()
    throw asConnectorError(error)
  }
}
