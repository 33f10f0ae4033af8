/** Requests to publish, as they are shown. What can be done with them is in publication-mutations. */
import type { PublicationRequestStatus } from '../domain/publication-request.ts'
import {
  findOpenPublicationRequests,
  listPublicationRequests,
  type PublicationRequestFilter,
} from '../store/history/publications.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { COLLECT_ONLY, PublicationRequestType, PublicationType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'
import { SyncConfigurationType } from './sync-configuration.ts'

export const PublicationRequestStatusEnum = builder.enumType('PublicationRequestStatus', {
  description: 'What has become of a request to publish.',
  values: {
    OPEN: { value: 'open', description: 'It waits for an `ADMIN` with another token.' },
    APPROVED: { value: 'approved', description: 'Its version was published.' },
    REFUSED: { value: 'refused', description: 'It was refused: `closingReason` says why.' },
    WITHDRAWN: {
      value: 'withdrawn',
      description: 'Whoever made it, or an `ADMIN`, took it back: `closingReason` says why.',
    },
    SUPERSEDED: {
      value: 'superseded',
      description:
        'It is about nothing any more: the draft was changed, or its version became active without it.',
    },
  } as const satisfies Record<string, { value: PublicationRequestStatus; description: string }>,
})

PublicationRequestType.implement({
  description:
    'That somebody wants one version of a sync published. A sync has one that is open at most, and that is of its draft as it is.',
  fields: (t) => ({
    sync: t.field({ type: SyncType, description: 'The sync.', resolve: ({ syncId }) => syncId }),
    status: t.expose('status', {
      type: PublicationRequestStatusEnum,
      description: 'What has become of it.',
    }),
    versionDigest: t.exposeString('versionDigest', {
      description: 'Names the version that is requested: the draft as it was then.',
    }),
    configuration: t.expose('config', {
      type: SyncConfigurationType,
      description: 'What would run, or does: compare it with that of `sync { publication }`.',
    }),
    reason: t.exposeString('reason', { description: 'Why, in the words of whoever requested it.' }),
    requestedBy: t.exposeString('requestedBy', {
      description: 'The name of the token that requested it.',
    }),
    requestedAt: t.expose('requestedAt', {
      type: 'DateTime',
      description: 'When it was requested.',
    }),
    isOwn: t.boolean({
      description:
        'Whether it was requested with the token that asks now, which neither approves nor refuses it.',
      resolve: ({ requestedByTokenId }, _args, context) =>
        requestedByTokenId === getActor(context).tokenId,
    }),
    closedBy: t.exposeString('closedBy', {
      nullable: true,
      description:
        'The name of the token that approved, refused or withdrew it, or changed the sync so that it is over; null: it is open.',
    }),
    closedAt: t.expose('closedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When that was; null: it is open.',
    }),
    closingReason: t.exposeString('closingReason', {
      nullable: true,
      description: 'Why it was refused or withdrawn; null otherwise.',
    }),
    publication: t.field({
      type: PublicationType,
      nullable: true,
      description: 'What its approval made; null unless it is approved.',
      resolve: ({ publicationId }) => publicationId,
    }),
  }),
})

builder.objectField(SyncType, 'publicationRequest', (t) =>
  t.loadable({
    type: PublicationRequestType,
    nullable: true,
    description: 'The request to publish its draft that is open; null when there is none.',
    load: (syncIds: string[], context) =>
      findOpenPublicationRequests(context.parts.database, getActor(context).workspaceId, syncIds),
    sort: (request) => (typeof request === 'string' ? request : request.syncId),
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
)

const PublicationRequestFilterInput = builder.inputType('PublicationRequestFilter', {
  description: 'Which requests to list. What is not given does not restrict.',
  fields: (t) => ({
    syncId: t.id({ description: 'Those of this sync.' }),
    status: t.field({
      type: PublicationRequestStatusEnum,
      description: 'Those of which this has become.',
    }),
  }),
})

builder.queryFields((t) => ({
  publicationRequest: t.field({
    type: PublicationRequestType,
    nullable: true,
    description: 'One request to publish; null when the workspace has none with this id.',
    args: { id: t.arg.id({ required: true, description: 'The id of a request to publish.' }) },
    resolve: (_root, { id }) => readId('PublicationRequest', id, 'id'),
  }),
  publicationRequests: t.connection({
    type: PublicationRequestType,
    description: 'The requests to publish in the workspace, newest first.',
    args: {
      filter: t.arg({
        type: PublicationRequestFilterInput,
        description: 'Which requests to list.',
      }),
    },
    resolve: (_root, args, context) => {
      const filter = readFilter(args.filter ?? {})
      return resolveIdPage(args, (page) =>
        listPublicationRequests(context.parts.database, getActor(context).workspaceId, {
          ...{ page, filter },
        }),
      )
    },
  }),
}))

function readFilter(
  given: typeof PublicationRequestFilterInput.$inferInput,
): PublicationRequestFilter {
  const { syncId, status } = given
  return {
    ...(typeof syncId === 'string' ? { syncId: readId('Sync', syncId, 'filter.syncId') } : {}),
    ...(status ? { status } : {}),
  }
}
