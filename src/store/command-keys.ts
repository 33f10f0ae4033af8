/**
 * The keys under which people asked for what was done. A key, the effect it stands for and the answer are of one
 * transaction (I21): a key that is read was committed, with its answer.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { Handle } from './database.ts'
import { commandKey } from './schema-configuration.ts'

/** Chosen by whoever asks; each workspace has its own. */
export interface CommandKey {
  readonly workspaceId: string
  readonly clientKey: string
}

export interface KeyedRequest extends CommandKey {
  /** The mutation. */
  readonly command: string
  readonly inputDigest: string
  /** The id of the key that it is digested with. */
  readonly digestKeyId: string
}

export interface KeptAnswer {
  readonly command: string
  readonly inputDigest: string
  /** Null: this very transaction has yet to keep one. */
  readonly answer: JsonObject | null
}

/** False: the key was used before. Waits for a transaction that is using it, and has the key if that one fails. */
export async function insertCommandKey(tx: Handle, request: KeyedRequest): Promise<boolean> {
  const { workspaceId, clientKey, command, inputDigest, digestKeyId } = request
  const inserted = await tx.orm
    .insert(commandKey)
    .values({ workspaceId, clientKey, command, inputDigest, digestKeyId })
    .onConflictDoNothing()
    .returning({ clientKey: commandKey.clientKey })
  return inserted.length > 0
}

/** Null: the key was not used, or so long ago that it is forgotten. */
export async function findKeptAnswer(handle: Handle, key: CommandKey): Promise<KeptAnswer | null> {
  const found = await handle.orm
    .select({
      command: commandKey.command,
      inputDigest: commandKey.inputDigest,
      answer: commandKey.answer,
    })
    .from(commandKey)
    .where(isKey(key))
  return found[0] ?? null
}

/** In the transaction that inserted the key. */
export async function keepAnswer(tx: Handle, key: CommandKey, answer: JsonObject): Promise<void> {
  await tx.orm.update(commandKey).set({ answer }).where(isKey(key))
}

/** In the transaction that inserted the key, where nothing came of it: it may be used again. */
export async function deleteCommandKey(tx: Handle, key: CommandKey): Promise<void> {
  await tx.orm.delete(commandKey).where(isKey(key))
}

function isKey({ workspaceId, clientKey }: CommandKey) {
  return and(eq(commandKey.workspaceId, workspaceId), eq(commandKey.clientKey, clientKey))
}

/** Keys that one statement deletes: it must not run into its timeout. */
const KEYS_A_DELETE = 20_000

/** Forgets the keys that were used so long ago. Returns how many there were. */
export async function forgetCommandKeys(db: Handle, afterMs: number): Promise<number> {
  let forgotten = 0
  let deleted: number
  do {
    const rows = await db.rows(sql`/* commandKeys.forgetCommandKeys */
      delete from command_key
      where (workspace_id, client_key) in (
        select workspace_id, client_key
        from command_key
        where created_at < now() - ${afterMs}::float8 * interval '1 millisecond'
        limit ${KEYS_A_DELETE})
      returning 1`)
    deleted = rows.length
    forgotten += deleted
  } while (deleted === KEYS_A_DELETE)
  return forgotten
}
