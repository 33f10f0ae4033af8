/**
 * Opens the two ends of a run as its version and its workspace's connections say.
 */

import type { OpenConnection } from '../connectors/connector.ts'
import type { DestinationWriter } from '../connectors/destination.ts'
import type { ConnectorRegistry } from '../connectors/registry.ts'
import type { SourceReader } from '../connectors/source.ts'
import { failure } from '../domain/failure.ts'
import type { SyncConfig } from '../domain/sync.ts'
import type { Sealer } from '../runtime/seal.ts'
import { findConnections, type StoredConnection } from '../store/connections.ts'
import type { Database } from '../store/database.ts'
import { keepCredentials, unsealCredentials } from '../store/kept-credentials.ts'
import { atStep, failAttempt } from './attempt-stop.ts'

export interface OpenConnectors {
  readonly reader: SourceReader
  readonly writer: DestinationWriter
  close(): Promise<void>
}

/** The connections that a run reads from and writes to. */
export interface Ends {
  readonly from: StoredConnection
  readonly to: StoredConnection
}

export interface OpenConnectorsOptions {
  readonly database: Database
  readonly workspaceId: string
  readonly registry: ConnectorRegistry
  readonly sealer: Sealer
  readonly ends: Ends
  readonly config: SyncConfig
  readonly signal: AbortSignal
}

/** Throws an attempt's stop (`connection_missing`, naming the tool or the end). */
export async function findEnds(
  database: Database,
  workspaceId: string,
  { sourceConnectionId, destinationConnectionId }: SyncConfig,
): Promise<Ends> {
  const connections = await findConnections(database, workspaceId, [
    sourceConnectionId,
    destinationConnectionId,
  ])
  return {
    from: pick(connections, sourceConnectionId, 'the source'),
    to: pick(connections, destinationConnectionId, 'the destination'),
  }
}

/**
 * Throws an attempt's stop (`unclassified_exception` where this deployment has no connector of the type, which only
 * Tajo can mend) or what the connectors throw.
 */
export async function openConnectors(options: OpenConnectorsOptions): Promise<OpenConnectors> {
  const { config, registry } = options
  const { from, to } = options.ends
  const source = registry.sources.get(from.type) ?? refuseType(from.type)
  const destination = registry.destinations.get(to.type) ?? refuseType(to.type)
  const writer = await atStep('writing', () =>
    destination.open({
      ...connect(options, to),
      object: config.object,
      options: config.objectOptions,
    }),
  )
  try {
    const reader = await atStep('reading', () =>
      source.open({
        ...connect(options, from),
        stream: config.stream,
        options: config.streamOptions,
      }),
    )
    return {
      reader,
      writer,
      close: async () => {
        await reader.close()
        await writer.close()
      },
    }
  } catch (error) {
    await writer.close()
    throw error
  }
}

function connect(options: OpenConnectorsOptions, connection: StoredConnection): OpenConnection {
  const { sealer, signal } = options
  return {
    connectionId: connection.id,
    config: connection.config,
    credentials: unsealCredentials(sealer, connection),
    kept: keepCredentials({ ...options, connection, whenMissing: toMissing }),
    signal,
  }
}

function pick(connections: readonly StoredConnection[], id: string, end: string): StoredConnection {
  const found = connections.find((connection) => connection.id === id) ?? refuse(end)
  // Also where a connector takes no credentials: what was disconnected is not read or written any more.
  return found.disconnectedAt === null ? found : refuse(found.name)
}

function refuse(subject: string): never {
  throw toMissing({ name: subject })
}

function toMissing({ name: subject }: Pick<StoredConnection, 'name'>): Error {
  return failAttempt(failure('connection_missing', { subject }))
}

function refuseType(type: string): never {
  const detail = `This installation has no connector of the type ${type}.`
  throw failAttempt(failure('unclassified_exception', { detail }))
}
