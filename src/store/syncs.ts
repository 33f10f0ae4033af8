/**
 * Syncs: configuration and standing.
 *
 * Invariants: whoever changes a sync's standing holds its row first (order: sync, fence, run); every
 * statement that acts for a person names the workspace.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import {
  type PauseCause,
  readSyncConfig,
  type SyncConfig,
  type SyncStatus,
} from '../domain/sync.ts'
import { WordedError } from '../runtime/worded-error.ts'
import type { Handle } from './database.ts'
import { isUniqueViolation } from './database-errors.ts'
import { syncFence } from './schema.ts'
import { sync } from './schema-configuration.ts'

export interface NewSync {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly draft: SyncConfig
}

export interface StoredSync {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly status: SyncStatus
  readonly pauseCause: PauseCause | null
  readonly pauseReason: string | null
  readonly draft: SyncConfig
  readonly publicationId: string | null
}

const COLUMNS = {
  id: sync.id,
  workspaceId: sync.workspaceId,
  name: sync.name,
  status: sync.status,
  pauseCause: sync.pauseCause,
  pauseReason: sync.pauseReason,
  draft: sync.draft,
  publicationId: sync.publicationId,
}

/** Stores a draft and its fence. False: the workspace has a sync of that name. */
export async function insertSync(tx: Handle, created: NewSync): Promise<boolean> {
  const { id, workspaceId, name, draft } = created
  const inserted = await tx.orm
    .insert(sync)
    .values({ id, workspaceId, name, ...draftColumns(draft) })
    .onConflictDoNothing({ target: [sync.workspaceId, sync.name] })
    .returning({ id: sync.id })
  if (inserted.length === 0) {
    return false
  }
  await tx.orm.insert(syncFence).values({ syncId: id })
  return true
}

export async function findSync(
  handle: Handle,
  workspaceId: string,
  id: string,
): Promise<StoredSync | null> {
  const found = await handle.orm.select(COLUMNS).from(sync).where(isSyncOf(workspaceId, id))
  return found[0] ? toStoredSync(found[0]) : null
}

/** Reads the sync and holds its row until the transaction ends. */
export async function findSyncForUpdate(
  tx: Handle,
  workspaceId: string,
  id: string,
): Promise<StoredSync | null> {
  const found = await tx.orm
    .select(COLUMNS)
    .from(sync)
    .where(isSyncOf(workspaceId, id))
    .for('no key update')
  return found[0] ? toStoredSync(found[0]) : null
}

/** Another sync of the workspace has the name; the transaction is over. */
export class NameTakenError extends WordedError {
  override readonly name = 'NameTakenError'
}

/** Replaces name and draft of a sync whose row is held. Throws {@link NameTakenError}. */
export async function updateDraft(
  tx: Handle,
  syncId: string,
  changed: { name: string; draft: SyncConfig },
): Promise<void> {
  try {
    await tx.orm
      .update(sync)
      .set({ name: changed.name, ...draftColumns(changed.draft), updatedAt: sql`now()` })
      .where(eq(sync.id, syncId))
  } catch (error) {
    throw isUniqueViolation(error)
      ? new NameTakenError('Another sync has this name.', { cause: error })
      : error
  }
}

/** Makes a sync whose row is held active, under the given publication. */
export async function activateSync(
  tx: Handle,
  syncId: string,
  publicationId: string,
): Promise<void> {
  await tx.orm
    .update(sync)
    .set({
      status: 'active',
      publicationId,
      pauseCause: null,
      pauseReason: null,
      pausedBy: null,
      pausedAt: null,
      pausedByRunId: null,
      activatedAt: sql`now()`,
      updatedAt: sql`now()`,
    })
    .where(eq(sync.id, syncId))
}

/** Pauses a sync whose row is held. */
export async function markSyncPaused(
  tx: Handle,
  syncId: string,
  pause: { to: 'pausing' | 'paused'; cause: PauseCause; reason: string; by: string },
): Promise<void> {
  await tx.orm
    .update(sync)
    .set({
      status: pause.to,
      pauseCause: pause.cause,
      pauseReason: pause.reason,
      pausedBy: pause.by,
      pausedAt: sql`now()`,
      updatedAt: sql`now()`,
    })
    .where(eq(sync.id, syncId))
}

function isSyncOf(workspaceId: string, id: string) {
  return and(eq(sync.workspaceId, workspaceId), eq(sync.id, id))
}

function draftColumns(draft: SyncConfig) {
  return {
    draft: draft as unknown as JsonObject,
    sourceConnectionId: draft.sourceConnectionId,
    destinationConnectionId: draft.destinationConnectionId,
  }
}

function toStoredSync(row: Omit<StoredSync, 'draft'> & { draft: JsonObject }): StoredSync {
  return { ...row, draft: readSyncConfig(row.draft) }
}
