/**
 * Opens the two ends of a run as its version and its workspace's connections say.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import type { ConnectorRegistry } from '../connectors/registry.ts'
import type { SourceReader } from '../connectors/source.ts'
import { failure } from '../domain/failure.ts'
import { isJsonObject, type JsonObject } from '../domain/json.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { InvariantError } from '../runtime/assert.ts'
import type { Sealer } from '../runtime/seal.ts'
import { findConnections, type StoredConnection } from '../store/connections.ts'
import type { Database } from '../store/database.ts'
import { atStep, failAttempt } from './attempt-stop.ts'

export interface OpenConnectors {
  readonly reader: SourceReader
  readonly writer: DestinationWriter
  close(): Promise<void>
}

export interface OpenConnectorsOptions {
  readonly database: Database
  readonly registry: ConnectorRegistry
  readonly sealer: Sealer
  readonly workspaceId: string
  readonly config: SyncConfig
  readonly signal: AbortSignal
}

/**
 * Throws an attempt's stop (`connection_missing`, naming the tool or the end; `unclassified_exception` where this
 * deployment has no connector of the type, which only Tajo can mend) or what the connectors throw.
 */
export async function openConnectors(options: OpenConnectorsOptions): Promise<OpenConnectors> {
  const { database, workspaceId, config, registry, sealer, signal } = options
  const { sourceConnectionId, destinationConnectionId } = config
  const connections = await findConnections(database, workspaceId, [
    sourceConnectionId,
    destinationConnectionId,
  ])
  const from = pick(connections, sourceConnectionId, 'the source')
  const to = pick(connections, destinationConnectionId, 'the destination')
  const source = registry.sources.get(from.type) ?? refuseType(from.type)
  const destination = registry.destinations.get(to.type) ?? refuseType(to.type)
  const writer = await atStep('writing', () =>
    destination.open({
      config: to.config,
      credentials: unseal(sealer, to),
      object: config.object,
      options: config.objectOptions,
      signal,
    }),
  )
  try {
    const reader = await atStep('reading', () =>
      source.open({
        config: from.config,
        credentials: unseal(sealer, from),
        stream: config.stream,
        options: config.streamOptions,
        signal,
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

function pick(connections: readonly StoredConnection[], id: string, end: string): StoredConnection {
  const found = connections.find((connection) => connection.id === id) ?? refuse(end)
  // Also where a connector takes no credentials: what was disconnected is not read or written any more.
  return found.disconnectedAt === null ? found : refuse(found.name)
}

function refuse(subject: string): never {
  throw failAttempt(failure('connection_missing', { subject }))
}

function refuseType(type: string): never {
  const detail = `This installation has no connector of the type ${type}.`
  throw failAttempt(failure('unclassified_exception', { detail }))
}

function unseal(sealer: Sealer, connection: StoredConnection): JsonObject {
  if (connection.sealedCredentials === null) {
    return {}
  }
  const credentials: unknown = JSON.parse(
    sealer.unseal(connection.sealedCredentials, connection.id),
  )
  if (!isJsonObject(credentials)) {
    throw new InvariantError(`The credentials of connection ${connection.id} are no object.`)
  }
  return credentials
}
