/**
 * Connections: tools connected in a workspace. Credentials lie here sealed only.
 *
 * Invariant: the configuration of a connection never changes. Intents name places below its address, at which
 * their writes and imports are asked for; at another address these would be other places.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle } from './database.ts'
import { connection } from './schema-configuration.ts'

export interface StoredConnection {
  readonly id: string
  readonly name: string
  /** The connector's type, such as `file` or `http`. */
  readonly type: string
  readonly config: JsonObject
  /** JSON, sealed for the connection's id; null: the connector takes none. */
  readonly sealedCredentials: string | null
  /** Since when the tool is not connected any more; null: it is. */
  readonly disconnectedAt: Instant | null
}

const COLUMNS = {
  id: connection.id,
  name: connection.name,
  type: connection.type,
  config: connection.config,
  sealedCredentials: connection.sealedCredentials,
  disconnectedAt: connection.disconnectedAt,
}

/** False: the workspace has a connection of that name. */
export async function insertConnection(
  tx: Handle,
  workspaceId: string,
  created: Omit<StoredConnection, 'disconnectedAt'>,
): Promise<boolean> {
  const inserted = await tx.orm
    .insert(connection)
    .values({ ...created, workspaceId })
    .onConflictDoNothing({ target: [connection.workspaceId, connection.name] })
    .returning({ id: connection.id })
  return inserted.length > 0
}

/** Those of the ids that the workspace has, in no order. At most one page of ids. */
export async function findConnections(
  handle: Handle,
  workspaceId: string,
  ids: readonly string[],
): Promise<readonly StoredConnection[]> {
  if (ids.length === 0) {
    return []
  }
  return await handle.orm
    .select(COLUMNS)
    .from(connection)
    .where(and(eq(connection.workspaceId, workspaceId), inArray(connection.id, [...ids])))
}

/** Reads the connection and holds its row until the transaction ends. */
export async function findConnectionForUpdate(
  tx: Handle,
  workspaceId: string,
  id: string,
): Promise<StoredConnection | null> {
  const found = await tx.orm
    .select(COLUMNS)
    .from(connection)
    .where(and(eq(connection.workspaceId, workspaceId), eq(connection.id, id)))
    .for('no key update')
  return found[0] ?? null
}

/** Takes the credentials from a connection whose row is held. */
export async function markDisconnected(tx: Handle, id: string): Promise<void> {
  await tx.orm
    .update(connection)
    .set({ sealedCredentials: null, disconnectedAt: sql`now()`, updatedAt: sql`now()` })
    .where(eq(connection.id, id))
}

/** Gives a connection whose row is held what it is connected with from now on. */
export async function markConnected(
  tx: Handle,
  id: string,
  sealedCredentials: string | null,
): Promise<void> {
  await tx.orm
    .update(connection)
    .set({ sealedCredentials, disconnectedAt: null, updatedAt: sql`now()` })
    .where(eq(connection.id, id))
}

/** Gives a connection the credentials that its own were renewed to. False: it has others by now. */
export async function replaceCredentials(
  handle: Handle,
  change: { readonly id: string; readonly before: string | null; readonly after: string },
): Promise<boolean> {
  const replaced = await handle.orm
    .update(connection)
    .set({ sealedCredentials: change.after, updatedAt: sql`now()` })
    .where(
      and(
        eq(connection.id, change.id),
        sql`${connection.sealedCredentials} is not distinct from ${change.before}`,
        sql`${connection.disconnectedAt} is null`,
      ),
    )
    .returning({ id: connection.id })
  return replaced.length > 0
}
