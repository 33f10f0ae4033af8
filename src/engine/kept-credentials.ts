/**
 * The credentials of a connection, for a connector that renews them while it uses them.
 *
 * Invariants: they leave this process sealed only; what a person has connected meanwhile is never replaced.
 */
import type { KeptCredentials } from '../connectors/connector.ts'
import { failure } from '../domain/failure.ts'
import { canonicalJson, isJsonObject, type JsonObject } from '../domain/json.ts'
import { InvariantError } from '../runtime/assert.ts'
import type { Sealer } from '../runtime/seal.ts'
import { findConnections, replaceCredentials, type StoredConnection } from '../store/connections.ts'
import type { Database } from '../store/database.ts'
import { failAttempt } from './attempt-stop.ts'

export interface KeptCredentialsOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly workspaceId: string
  readonly connection: StoredConnection
}

/** Its functions throw an attempt's stop (`connection_missing`) once the tool is not connected any more. */
export function keepCredentials(options: KeptCredentialsOptions): KeptCredentials {
  const { database, sealer, workspaceId, connection } = options
  const findStored = async (): Promise<StoredConnection> => {
    const [found] = await findConnections(database, workspaceId, [connection.id])
    if (!found || found.disconnectedAt !== null) {
      throw failAttempt(failure('connection_missing', { subject: connection.name }))
    }
    return found
  }
  return {
    find: async () => unsealCredentials(sealer, await findStored()),
    replace: async (before, after) => {
      const stored = await findStored()
      if (canonicalJson(unsealCredentials(sealer, stored)) !== canonicalJson(before)) {
        return false
      }
      return await replaceCredentials(database, {
        id: connection.id,
        before: stored.sealedCredentials,
        after: sealer.seal(JSON.stringify(after), connection.id),
      })
    },
  }
}

export function unsealCredentials(sealer: Sealer, connection: StoredConnection): JsonObject {
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
