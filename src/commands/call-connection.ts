/** Opens a connection for a command that calls its tool, and tells what the call showed. */
import { ConnectorError, type OpenConnection } from '../connectors/connector.ts'
import type { ConnectionTestOutcome } from '../domain/connection-test.ts'
import { type FailureCode, failure } from '../domain/failure.ts'
import type { StoredConnection } from '../store/connections.ts'
import { keepCredentials, unsealCredentials } from '../store/kept-credentials.ts'
import type { CommandContext } from './context.ts'
import { OutOfTime } from './outside-calls.ts'
import { NotConnected } from './refusals.ts'

/** Throws {@link NotConnected}. */
export function openConnection(
  { database, sealer }: CommandContext,
  options: {
    readonly workspaceId: string
    readonly connection: StoredConnection
    readonly signal: AbortSignal
  },
): OpenConnection {
  const { workspaceId, connection, signal } = options
  if (connection.disconnectedAt !== null) {
    throw new NotConnected(connection.name)
  }
  return {
    connectionId: connection.id,
    config: connection.config,
    credentials: unsealCredentials(sealer, connection),
    kept: keepCredentials({
      ...{ database, sealer, workspaceId, connection },
      whenMissing: ({ name }) => new NotConnected(name),
    }),
    signal,
  }
}

/** What a call that failed has shown. */
export interface SeenTrouble {
  readonly outcome: Exclude<ConnectionTestOutcome, 'works'>
  /** Technical detail, without personal data and secrets. */
  readonly detail: string
}

/** Null: the error says nothing of the other system. */
export function toTrouble(error: unknown): SeenTrouble | null {
  if (error instanceof OutOfTime) {
    return { outcome: 'out_of_reach', detail: error.message }
  }
  if (!(error instanceof ConnectorError)) {
    return null
  }
  const { detail } = failure(error.code, { detail: error.message })
  return { outcome: OUTCOMES[error.code] ?? 'out_of_reach', detail: detail ?? '' }
}

const OUTCOMES: Readonly<Partial<Record<FailureCode, SeenTrouble['outcome']>>> = {
  connection_unauthorized: 'refused',
  node_failed: 'misconfigured',
}
