/** Syncs, connections and the workspace as people see them. Every read names the workspace. */
import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import { readSyncConfig, type SyncStatus } from '../../domain/sync.ts'
import type { Handle } from '../database.ts'
import {
  connection,
  publication,
  sync,
  syncSchedule,
  syncVersion,
  workspace,
} from '../schema-configuration.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

export async function findSyncsByIds(handle: Handle, workspaceId: string, ids: readonly string[]) {
  return await selectSyncs(
    handle,
    and(eq(sync.workspaceId, workspaceId), inArray(sync.id, [...ids])),
  )
}

export interface SyncFilter {
  /** Any of these; empty: any. */
  readonly statuses?: readonly SyncStatus[]
  /** Part of their names, in either case. */
  readonly name?: string
}

export async function listSyncs(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: SyncFilter },
) {
  const { page, filter } = options
  const isWanted = keysetRange(
    sync.id,
    page,
    eq(sync.workspaceId, workspaceId),
    filter.statuses?.length ? inArray(sync.status, [...filter.statuses]) : undefined,
    filter.name === undefined
      ? undefined
      : sql`position(lower(${filter.name}) in lower(${sync.name})) > 0`,
  )
  return await selectSyncs(handle, isWanted, page)
}

/** Those whose draft or published version names the connection. */
export async function listSyncsOfConnection(
  handle: Handle,
  workspaceId: string,
  options: { readonly connectionId: string; readonly page: KeysetPage },
) {
  const { connectionId, page } = options
  const ends = [
    eq(sync.sourceConnectionId, connectionId),
    eq(sync.destinationConnectionId, connectionId),
    sql`${syncVersion.config} ->> 'sourceConnectionId' = ${connectionId}`,
    sql`${syncVersion.config} ->> 'destinationConnectionId' = ${connectionId}`,
  ]
  const isWanted = keysetRange(sync.id, page, eq(sync.workspaceId, workspaceId), or(...ends))
  return await selectSyncs(handle, isWanted, page)
}

export type HistoricSync = Awaited<ReturnType<typeof findSyncsByIds>>[number]

async function selectSyncs(handle: Handle, isWanted: SQL | undefined, page?: KeysetPage) {
  const query = handle.orm
    .select({
      id: sync.id,
      name: sync.name,
      status: sync.status,
      pauseCause: sync.pauseCause,
      pauseReason: sync.pauseReason,
      pausedBy: sync.pausedBy,
      pausedAt: sync.pausedAt,
      pausedByRunId: sync.pausedByRunId,
      draft: sync.draft,
      createdAt: sync.createdAt,
      updatedAt: sync.updatedAt,
      publicationId: publication.id,
      versionDigest: publication.versionDigest,
      publishedBy: publication.publishedBy,
      approvedBy: publication.approvedBy,
      publishedAt: publication.publishedAt,
      publishedConfig: syncVersion.config,
      scheduleAnchorAt: syncSchedule.anchorAt,
      firedAt: syncSchedule.firedAt,
      coalescedTicks: syncSchedule.coalesced,
    })
    .from(sync)
    .leftJoin(publication, eq(publication.id, sync.publicationId))
    .leftJoin(
      syncVersion,
      and(eq(syncVersion.syncId, sync.id), eq(syncVersion.digest, publication.versionDigest)),
    )
    .leftJoin(syncSchedule, eq(syncSchedule.syncId, sync.id))
    .where(isWanted)
    .$dynamic()
  const rows = await (page ? query.orderBy(keysetOrder(sync.id, page)).limit(page.limit) : query)
  return rows.map((row) => ({
    ...row,
    draft: readSyncConfig(row.draft),
    publishedConfig: row.publishedConfig ? readSyncConfig(row.publishedConfig) : null,
  }))
}

export async function findConnectionsByIds(
  handle: Handle,
  workspaceId: string,
  ids: readonly string[],
) {
  return await selectConnections(handle).where(
    and(eq(connection.workspaceId, workspaceId), inArray(connection.id, [...ids])),
  )
}

export async function listConnections(handle: Handle, workspaceId: string, page: KeysetPage) {
  return await selectConnections(handle)
    .where(keysetRange(connection.id, page, eq(connection.workspaceId, workspaceId)))
    .orderBy(keysetOrder(connection.id, page))
    .limit(page.limit)
}

export type HistoricConnection = Awaited<ReturnType<typeof findConnectionsByIds>>[number]

/** Whether there are credentials, never the credentials. */
function selectConnections(handle: Handle) {
  return handle.orm
    .select({
      id: connection.id,
      name: connection.name,
      type: connection.type,
      config: connection.config,
      hasCredentials: sql<boolean>`${connection.sealedCredentials} is not null`,
      disconnectedAt: connection.disconnectedAt,
      refusedAt: connection.refusedAt,
      refusalDetail: connection.refusalDetail,
      createdAt: connection.createdAt,
    })
    .from(connection)
}

export async function findWorkspaceName(
  handle: Handle,
  workspaceId: string,
): Promise<string | null> {
  return (await findWorkspace(handle, workspaceId))?.name ?? null
}

/** Whether publishing needs an approval in the workspace. */
export async function findPublishingPolicy(handle: Handle, workspaceId: string): Promise<boolean> {
  return (await findWorkspace(handle, workspaceId))?.publishingNeedsApproval ?? false
}

async function findWorkspace(handle: Handle, workspaceId: string) {
  const found = await handle.orm
    .select({
      name: workspace.name,
      publishingNeedsApproval: workspace.publishingNeedsApproval,
    })
    .from(workspace)
    .where(eq(workspace.id, workspaceId))
  return found[0] ?? null
}
