/** Publications and the requests for them as people see them, newest first. Every read names the workspace (I13). */
import { and, eq, inArray, type SQL } from 'drizzle-orm'
import type { PublicationRequestStatus } from '../../domain/publication-request.ts'
import { readSyncConfig } from '../../domain/sync.ts'
import type { Handle } from '../database.ts'
import { publication, publicationRequest, sync, syncVersion } from '../schema-configuration.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

export async function findPublicationsByIds(
  handle: Handle,
  workspaceId: string,
  ids: readonly string[],
) {
  const isWanted = and(eq(sync.workspaceId, workspaceId), inArray(publication.id, [...ids]))
  return await selectPublications(handle, isWanted)
}

export async function listPublications(
  handle: Handle,
  workspaceId: string,
  options: { readonly syncId: string; readonly page: KeysetPage },
) {
  const { syncId, page } = options
  const isOfSync = and(eq(sync.workspaceId, workspaceId), eq(publication.syncId, syncId))
  return await selectPublications(handle, keysetRange(publication.id, page, isOfSync), page)
}

export type HistoricPublication = Awaited<ReturnType<typeof findPublicationsByIds>>[number]

async function selectPublications(handle: Handle, isWanted: SQL | undefined, page?: KeysetPage) {
  const query = handle.orm
    .select({
      id: publication.id,
      syncId: publication.syncId,
      versionDigest: publication.versionDigest,
      config: syncVersion.config,
      publishedBy: publication.publishedBy,
      approvedBy: publication.approvedBy,
      publishedAt: publication.publishedAt,
    })
    .from(publication)
    .innerJoin(sync, eq(sync.id, publication.syncId))
    .innerJoin(
      syncVersion,
      and(
        eq(syncVersion.syncId, publication.syncId),
        eq(syncVersion.digest, publication.versionDigest),
      ),
    )
    .where(isWanted)
    .$dynamic()
  const rows = await (page
    ? query.orderBy(keysetOrder(publication.id, page)).limit(page.limit)
    : query)
  return rows.map((row) => ({ ...row, config: readSyncConfig(row.config) }))
}

/** What is not given does not restrict. */
export interface PublicationRequestFilter {
  readonly syncId?: string
  readonly status?: PublicationRequestStatus
}

export async function findPublicationRequestsByIds(
  handle: Handle,
  workspaceId: string,
  ids: readonly string[],
) {
  return await selectRequests(handle, workspaceId, inArray(publicationRequest.id, [...ids]))
}

/** Those of the given syncs that wait for an answer: one each at most. */
export async function findOpenPublicationRequests(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
) {
  const isOpen = eq(publicationRequest.status, 'open')
  const isWanted = and(isOpen, inArray(publicationRequest.syncId, [...syncIds]))
  return await selectRequests(handle, workspaceId, isWanted)
}

/** Those whose approval made the given publications. */
export async function findRequestsOfPublications(
  handle: Handle,
  workspaceId: string,
  publicationIds: readonly string[],
) {
  const isWanted = inArray(publicationRequest.publicationId, [...publicationIds])
  return await selectRequests(handle, workspaceId, isWanted)
}

export async function listPublicationRequests(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: PublicationRequestFilter },
) {
  const { page, filter } = options
  const { syncId, status } = filter
  const isWanted = keysetRange(
    publicationRequest.id,
    page,
    syncId === undefined ? undefined : eq(publicationRequest.syncId, syncId),
    status === undefined ? undefined : eq(publicationRequest.status, status),
  )
  return await selectRequests(handle, workspaceId, isWanted, page)
}

export type HistoricPublicationRequest = Awaited<
  ReturnType<typeof findPublicationRequestsByIds>
>[number]

async function selectRequests(
  handle: Handle,
  workspaceId: string,
  isWanted: SQL | undefined,
  page?: KeysetPage,
) {
  const query = handle.orm
    .select({
      id: publicationRequest.id,
      syncId: publicationRequest.syncId,
      versionDigest: publicationRequest.versionDigest,
      config: syncVersion.config,
      status: publicationRequest.status,
      reason: publicationRequest.reason,
      requestedBy: publicationRequest.requestedBy,
      requestedByTokenId: publicationRequest.requestedByTokenId,
      requestedAt: publicationRequest.requestedAt,
      closedBy: publicationRequest.closedBy,
      closedAt: publicationRequest.closedAt,
      closingReason: publicationRequest.closingReason,
      publicationId: publicationRequest.publicationId,
    })
    .from(publicationRequest)
    .innerJoin(
      syncVersion,
      and(
        eq(syncVersion.syncId, publicationRequest.syncId),
        eq(syncVersion.digest, publicationRequest.versionDigest),
      ),
    )
    .where(and(eq(publicationRequest.workspaceId, workspaceId), isWanted))
    .$dynamic()
  const rows = await (page
    ? query.orderBy(keysetOrder(publicationRequest.id, page)).limit(page.limit)
    : query)
  return rows.map((row) => ({ ...row, config: readSyncConfig(row.config) }))
}
