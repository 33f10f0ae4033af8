/** Publications: which versions were said to run, by whom. */
import {
  findRequestsOfPublications,
  type HistoricPublicationRequest,
  listPublications,
} from '../store/history/publications.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { COLLECT_ONLY, PublicationRequestType, PublicationType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'
import { SyncConfigurationType } from './sync-configuration.ts'

PublicationType.implement({
  description: 'The attestation that one version may run.',
  fields: (t) => ({
    sync: t.field({ type: SyncType, description: 'The sync.', resolve: ({ syncId }) => syncId }),
    versionDigest: t.exposeString('versionDigest', {
      description: 'Names the version: the digest of its configuration.',
    }),
    configuration: t.expose('config', {
      type: SyncConfigurationType,
      description: 'What runs under it.',
    }),
    publishedBy: t.exposeString('publishedBy', {
      description:
        'The name of the token that published it; where it was approved, of the one that had requested it.',
    }),
    approvedBy: t.exposeString('approvedBy', {
      nullable: true,
      description: 'The name of the token that approved it; null where no approval was asked for.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      description: 'When it was published; where it was approved, when that was.',
    }),
    request: t.loadable({
      type: PublicationRequestType,
      nullable: true,
      description: 'The request that was approved; null where none was made.',
      load: (publicationIds: string[], context) =>
        findRequestsOfPublications(
          context.parts.database,
          getActor(context).workspaceId,
          publicationIds,
        ),
      sort: (request) => publicationIdOf(request),
      loaderOptions: COLLECT_ONLY,
      resolve: ({ id }) => id,
    }),
  }),
})

function publicationIdOf(request: HistoricPublicationRequest | string): string {
  return typeof request === 'string' ? request : (request.publicationId ?? '')
}

builder.objectField(SyncType, 'publications', (t) =>
  t.connection({
    type: PublicationType,
    description: 'Everything of it that was ever published, newest first.',
    resolve: ({ id }, args, context) =>
      resolveIdPage(args, (page) =>
        listPublications(context.parts.database, getActor(context).workspaceId, {
          ...{ syncId: id, page },
        }),
      ),
  }),
)
