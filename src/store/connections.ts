/**
 * Connections: tools connected in a workspace. Credentials lie here sealed only.
 *
 * Invariants: the configuration of a connection never changes. Intents name places below its address, at which
 * their writes and imports are asked for; at another address these would be other places. What somebody saw of the
 * access to a tool counts for that access only (I24): it is told with the epoch that was read before the tool was called,
 * so a refusal does not outlive a fresh authorisation or a later success, and a success from before a refusal does not hide it.
 */
import { and, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
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
  /** Since when the other system refuses our access; null: it does not, as far as anybody has seen. */
  readonly refusedAt: Instant | null
  /** Raised whenever it is connected, disconnected, refused or let in again. */
  readonly accessEpoch: number
}

/** The access to a tool as it was before it was called. */
export type SeenAccess = Pick<StoredConnection, 'id' | 'accessEpoch'>

const COLUMNS = {
  id: connection.id,
  name: connection.name,
  type: connection.type,
  config: connection.config,
  sealedCredentials: connection.sealedCredentials,
  disconnectedAt: connection.disconnectedAt,
  refusedAt: connection.refusedAt,
  accessEpoch: connection.accessEpoch,
}

const RAISED_EPOCH = sql`${connection.accessEpoch} + 1`

/** False: the workspace has a connection of that name. */
export async function insertConnection(
  tx: Handle,
  workspaceId: string,
  created: Omit<StoredConnection, 'disconnectedAt' | 'refusedAt' | 'accessEpoch'>,
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
    .set({
      ...{ sealedCredentials: null, disconnectedAt: sql`now()`, updatedAt: sql`now()` },
      ...NOT_REFUSED,
      accessEpoch: RAISED_EPOCH,
    })
    .where(eq(connection.id, id))
}

const NOT_REFUSED = { refusedAt: null, refusalDetail: null }

/** Gives a connection whose row is held what it is connected with from now on. */
export async function markConnected(
  tx: Handle,
  id: string,
  sealedCredentials: string | null,
): Promise<void> {
  await tx.orm
    .update(connection)
    .set({
      ...{ sealedCredentials, disconnectedAt: null, updatedAt: sql`now()` },
      ...NOT_REFUSED,
      accessEpoch: RAISED_EPOCH,
    })
    .where(eq(connection.id, id))
}

/** Longest that is kept of what the other system said, in characters. */
const MAX_REFUSAL_LENGTH = 2_000

/**
 * Notes that the other system refuses the access that was seen (I24). False: it is another access by now, or none. One that is
 * refused already stays so since then, with the newer words. `detail`: without personal data and secrets.
 */
export async function markRefused(
  handle: Handle,
  { id, accessEpoch }: SeenAccess,
  detail: string,
): Promise<boolean> {
  const isNew = sql`${connection.refusedAt} is null`
  const marked = await handle.orm
    .update(connection)
    .set({
      refusedAt: sql`coalesce(${connection.refusedAt}, now())`,
      refusalDetail: detail.slice(0, MAX_REFUSAL_LENGTH),
      accessEpoch: sql`${connection.accessEpoch} + (${isNew})::int`,
      updatedAt: sql`now()`,
    })
    .where(
      and(
        eq(connection.id, id),
        eq(connection.accessEpoch, accessEpoch),
        isNull(connection.disconnectedAt),
      ),
    )
    .returning({ id: connection.id })
  return marked.length > 0
}

/**
 * Notes that the access that was seen works (I24). False: nothing was to be cleared, or it was refused since then. A refusal
 * that somebody saw before comes too late from here on.
 */
export async function clearRefusal(
  handle: Handle,
  { id, accessEpoch }: SeenAccess,
): Promise<boolean> {
  const cleared = await handle.orm
    .update(connection)
    .set({ ...NOT_REFUSED, accessEpoch: RAISED_EPOCH, updatedAt: sql`now()` })
    .where(
      and(
        eq(connection.id, id),
        eq(connection.accessEpoch, accessEpoch),
        isNotNull(connection.refusedAt),
      ),
    )
    .returning({ id: connection.id })
  return cleared.length > 0
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
