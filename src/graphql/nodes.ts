/**
 * The objects that have an id, as references: each is implemented in its own file, and all may refer to
 * each other.
 *
 * Loading only collects the ids of one tick into one statement, and remembers nothing: a second mutation
 * of one request, or a later event of a stream, must not see what was read before it.
 */
import { includesRole } from '../domain/role.ts'
import { findAlertsByIds, type HistoricAlert } from '../store/history/alerts.ts'
import {
  findPublicationRequestsByIds,
  findPublicationsByIds,
  type HistoricPublication,
  type HistoricPublicationRequest,
} from '../store/history/publications.ts'
import { findRunsByIds, type HistoricRun } from '../store/history/runs.ts'
import {
  findConnectionsByIds,
  findSyncsByIds,
  type HistoricConnection,
  type HistoricSync,
} from '../store/history/syncs.ts'
import { findTokensByIds, type HistoricToken } from '../store/history/tokens.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'

export const COLLECT_ONLY = { cache: false }

/** An admin's to see; for others there is none. */
export const AccessTokenType = builder.loadableNodeRef<HistoricToken>('AccessToken', {
  id: { resolve: (token) => token.id },
  load: async (ids: string[], context) => {
    const { role, workspaceId } = getActor(context)
    return includesRole(role, 'admin')
      ? await findTokensByIds(context.parts.database, workspaceId, ids)
      : []
  },
  sort: (token) => token.id,
  loaderOptions: COLLECT_ONLY,
})

export const AlertType = builder.loadableNodeRef<HistoricAlert>('Alert', {
  id: { resolve: (alert) => alert.id },
  load: (ids: string[], context) => findAlertsByIds(context.parts.database, getActor(context), ids),
  sort: (alert) => alert.id,
  loaderOptions: COLLECT_ONLY,
})

export const ConnectionType = builder.loadableNodeRef<HistoricConnection>('Connection', {
  id: { resolve: (connection) => connection.id },
  load: (ids: string[], context) =>
    findConnectionsByIds(context.parts.database, getActor(context).workspaceId, ids),
  sort: (connection) => connection.id,
  loaderOptions: COLLECT_ONLY,
})

export const RunType = builder.loadableNodeRef<HistoricRun>('Run', {
  id: { resolve: (run) => run.id },
  load: (ids: string[], context) =>
    findRunsByIds(context.parts.database, getActor(context).workspaceId, ids),
  sort: (run) => run.id,
  loaderOptions: COLLECT_ONLY,
})

export const SyncType = builder.loadableNodeRef<HistoricSync>('Sync', {
  id: { resolve: (sync) => sync.id },
  load: (ids: string[], context) =>
    findSyncsByIds(context.parts.database, getActor(context).workspaceId, ids),
  sort: (sync) => sync.id,
  loaderOptions: COLLECT_ONLY,
})

export const PublicationType = builder.loadableNodeRef<HistoricPublication>('Publication', {
  id: { resolve: (publication) => publication.id },
  load: (ids: string[], context) =>
    findPublicationsByIds(context.parts.database, getActor(context).workspaceId, ids),
  sort: (publication) => publication.id,
  loaderOptions: COLLECT_ONLY,
})

export const PublicationRequestType = builder.loadableNodeRef<HistoricPublicationRequest>(
  'PublicationRequest',
  {
    id: { resolve: (request) => request.id },
    load: (ids: string[], context) =>
      findPublicationRequestsByIds(context.parts.database, getActor(context).workspaceId, ids),
    sort: (request) => request.id,
    loaderOptions: COLLECT_ONLY,
  },
)
