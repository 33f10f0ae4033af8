/**
 * The credentials of a connection, for a connector that renews them while it uses them.
 *
 * Invariants: they leave this process sealed only; what a person has connected meanwhile is never replaced; and what was
 * renewed is not lost to a change of the key that it is sealed with.
 */
import { canonicalJson, isJsonObject, type JsonObject } from '../domain/json.ts'
import { InvariantError } from '../runtime/assert.ts'
import type { Sealer } from '../runtime/seal.ts'
import { findConnections, replaceCredentials, type StoredConnection } from './connections.ts'
import type { Database } from './database.ts'

export interface KeptCredentialsOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly workspaceId: string
  readonly connection: StoredConnection
  /** What is thrown once the tool is not connected any more. */
  whenMissing(connection: StoredConnection): Error
}

/** Tries to replace what is stored, should it be sealed anew in between. */
const MAX_TRIES = 5

/** What connectors know as `KeptCredentials`. */
export function keepCredentials(options: KeptCredentialsOptions) {
  const { database, sealer, workspaceId, connection } = options
  const findStored = async (): Promise<StoredConnection> => {
    const [found] = await findConnections(database, workspaceId, [connection.id])
    if (!found || found.disconnectedAt !== null) {
      throw options.whenMissing(connection)
    }
    return found
  }
  return {
    find: async () => unsealCredentials(sealer, await findStored()),
    replace: async (before: JsonObject, after: JsonObject) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const stored = await findStored()
        if (canonicalJson(unsealCredentials(sealer, stored)) !== canonicalJson(before)) {
          return false
        }
        const isReplaced = await replaceCredentials(database, {
          id: connection.id,
          before: stored.sealedCredentials,
          after: sealer.seal(JSON.stringify(after), connection.id),
        })
        if (isReplaced) {
          return true
        }
      }
      throw new InvariantError(`The credentials of connection ${connection.id} keep changing.`)
    },
  }
}

/** Throws `UnknownKeyError`. */
export function unsealCredentials(
  sealer: Pick<Sealer, 'unseal'>,
  { id, sealedCredentials }: Pick<StoredConnection, 'id' | 'sealedCredentials'>,
): JsonObject {
  if (sealedCredentials === null) {
    return {}
  }
  const credentials: unknown = JSON.parse(sealer.unseal(sealedCredentials, id))
  if (!isJsonObject(credentials)) {
    throw new InvariantError(`The credentials of connection ${id} are no object.`)
  }
  return credentials
}
