/**
 * Requests to publish a version.
 *
 * Invariant (I22): whoever opens or closes one holds the row of its sync, and a closed one never changes.
 */
import { and, eq, sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { PublicationRequestStatus, RequestVerdict } from '../domain/publication-request.ts'
import { readSyncConfig, type SyncConfig } from '../domain/sync.ts'
import { assert } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import { keepVersion } from './publications.ts'
import { publicationRequest, syncVersion } from './schema-configuration.ts'

export interface StoredRequest {
  readonly id: string
  readonly syncId: string
  readonly versionDigest: string
  readonly status: PublicationRequestStatus
  readonly reason: string
  readonly requestedBy: string
  readonly requestedByTokenId: string
}

/** Who acts, as it is kept with what was done. */
interface Signature {
  readonly tokenId: string
  readonly tokenName: string
}

const COLUMNS = {
  id: publicationRequest.id,
  syncId: publicationRequest.syncId,
  versionDigest: publicationRequest.versionDigest,
  status: publicationRequest.status,
  reason: publicationRequest.reason,
  requestedBy: publicationRequest.requestedBy,
  requestedByTokenId: publicationRequest.requestedByTokenId,
}

/** Opens a request; the sync has none that is open. */
export async function insertRequest(
  tx: Handle,
  made: {
    readonly id: string
    readonly workspaceId: string
    readonly syncId: string
    readonly versionDigest: string
    readonly config: SyncConfig
    readonly reason: string
    readonly by: Signature
  },
): Promise<void> {
  const { id, workspaceId, syncId, versionDigest, config, reason, by } = made
  await keepVersion(tx, { syncId, versionDigest, config })
  await tx.orm.insert(publicationRequest).values({
    ...{ id, workspaceId, syncId, versionDigest, reason },
    ...{ requestedBy: by.tokenName, requestedByTokenId: by.tokenId },
  })
}

export async function findRequest(
  handle: Handle,
  workspaceId: string,
  id: string,
): Promise<StoredRequest | null> {
  const found = await handle.orm
    .select(COLUMNS)
    .from(publicationRequest)
    .where(and(eq(publicationRequest.workspaceId, workspaceId), eq(publicationRequest.id, id)))
  return found[0] ?? null
}

export async function findOpenRequest(
  handle: Handle,
  syncId: string,
): Promise<StoredRequest | null> {
  const found = await handle.orm
    .select(COLUMNS)
    .from(publicationRequest)
    .where(and(eq(publicationRequest.syncId, syncId), eq(publicationRequest.status, 'open')))
  return found[0] ?? null
}

/** The configuration of a version that is kept. */
export async function getVersionConfig(
  handle: Handle,
  syncId: string,
  digest: string,
): Promise<SyncConfig> {
  const [found] = await handle.orm
    .select({ config: syncVersion.config })
    .from(syncVersion)
    .where(and(eq(syncVersion.syncId, syncId), eq(syncVersion.digest, digest)))
  assert(found !== undefined, 'A version that is named is kept.')
  return readSyncConfig(found.config satisfies JsonObject)
}

/** Closes a request that is open. `publicationId`: what its approval made. */
export async function closeRequest(
  tx: Handle,
  requestId: string,
  closing: {
    readonly status: RequestVerdict | 'superseded'
    readonly by: Signature
    readonly reason: string | null
    readonly publicationId: string | null
  },
): Promise<void> {
  const { status, by, reason, publicationId } = closing
  const closed = await tx.orm
    .update(publicationRequest)
    .set({
      ...{ status, closedBy: by.tokenName, closedByTokenId: by.tokenId },
      ...{ closedAt: sql`now()`, closingReason: reason, publicationId },
    })
    .where(and(eq(publicationRequest.id, requestId), eq(publicationRequest.status, 'open')))
    .returning({ id: publicationRequest.id })
  assert(closed.length === 1, 'A request is closed by whoever holds its sync, once.')
}
