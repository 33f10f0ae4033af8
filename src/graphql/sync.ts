/** Syncs, as they are shown. What can be done with them is in sync-mutations. */
import { checkText, MAX_NAME_LENGTH } from '../commands/input-checks.ts'
import { checkPreviewCount } from '../commands/preview-schedule.ts'
import { InvalidInput } from '../commands/refusals.ts'
import { BREAKER_PAUSE_REASON } from '../domain/breaker.ts'
import { decideAccess } from '../domain/connection-access.ts'
import { nextFires } from '../domain/schedule.ts'
import { digestConfig } from '../domain/sync.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import { sha256 } from '../runtime/hash.ts'
import type { HistoricPublication } from '../store/history/publications.ts'
import { listRuns } from '../store/history/run-pages.ts'
import { findLastRuns } from '../store/history/runs.ts'
import { type HistoricConnection, type HistoricSync, listSyncs } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor } from './context.ts'
import { readId } from './global-id.ts'
import { COLLECT_ONLY, ConnectionType, PublicationType, RunType, SyncType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'
import { DEFAULT_PREVIEWED_FIRES } from './schedule.ts'
import { SyncConfigurationType } from './sync-configuration.ts'

const SyncStatusEnum = builder.enumType('SyncStatus', {
  description: 'Where a sync stands.',
  values: {
    DRAFT: { value: 'draft', description: 'It was never published, so it does not run.' },
    ACTIVE: { value: 'active', description: 'Its published version runs.' },
    PAUSING: { value: 'pausing', description: 'It was paused, and a run has yet to stop.' },
    PAUSED: { value: 'paused', description: 'Nothing of it runs.' },
  } as const,
})

const PauseCauseEnum = builder.enumType('PauseCause', {
  description: 'What paused a sync.',
  values: {
    PERSON: { value: 'person', description: 'A person did: it can be resumed.' },
    BREAKER: {
      value: 'breaker',
      description: 'The failure circuit breaker did: mend the cause and publish again.',
    },
  } as const,
})

type PausedSync = HistoricSync & { readonly pauseCause: NonNullable<HistoricSync['pauseCause']> }

const SyncPauseType = builder.objectRef<PausedSync>('SyncPause').implement({
  description: 'Why a sync is paused.',
  fields: (t) => ({
    cause: t.expose('pauseCause', { type: PauseCauseEnum, description: 'What paused it.' }),
    reason: t.string({
      description:
        'The reason that the person gave, or `Paused automatically by the failure circuit breaker`.',
      resolve: ({ pauseCause, pauseReason }) =>
        pauseCause === 'breaker' ? BREAKER_PAUSE_REASON : (pauseReason ?? ''),
    }),
    pausedBy: t.exposeString('pausedBy', {
      nullable: true,
      description: 'The name of the token that paused it; `tajo` for the breaker.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was paused.',
    }),
    run: t.field({
      type: RunType,
      nullable: true,
      description: 'The failed run after which the breaker paused it; null where a person did.',
      resolve: ({ pausedByRunId }) => pausedByRunId,
    }),
  }),
})

SyncType.implement({
  description: 'Reads a source page by page, maps each record and writes it to a destination.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Unique in the workspace.' }),
    status: t.expose('status', { type: SyncStatusEnum, description: 'Where it stands.' }),
    pause: t.field({
      type: SyncPauseType,
      nullable: true,
      description: 'Why it is paused; null when it is not.',
      resolve: (sync) => (isPaused(sync) ? sync : null),
    }),
    draft: t.field({
      type: SyncConfigurationType,
      description: 'What the next publication will attest.',
      resolve: ({ draft }) => draft,
    }),
    publication: t.field({
      type: PublicationType,
      nullable: true,
      description: 'The publication under which it runs; null for a draft.',
      resolve: findPublication,
    }),
    hasUnpublishedChanges: t.boolean({
      description: 'Whether the draft differs from the published version, or nothing is published.',
      resolve: ({ draft, versionDigest }) => digestConfig(sha256, draft) !== versionDigest,
    }),
    refusedConnections: t.field({
      type: [ConnectionType],
      description:
        'Its connections by which the other system refuses our access, as it is published, or else as it is drafted. Each says since when, and what to do, under `access`.',
      resolve: findRefusedConnections,
    }),
    lastRun: t.loadable({
      type: RunType,
      nullable: true,
      description: 'Its newest run; null when it has none.',
      load: (syncIds: string[], context) =>
        findLastRuns(context.parts.database, getActor(context).workspaceId, syncIds),
      sort: (run) => (typeof run === 'string' ? run : run.syncId),
      loaderOptions: COLLECT_ONLY,
      resolve: ({ id }) => id,
    }),
    runs: t.connection({
      type: RunType,
      description: 'Its runs, newest first.',
      resolve: (sync, args, context) =>
        resolveIdPage(args, (page) =>
          listRuns(context.parts.database, getActor(context).workspaceId, {
            page,
            filter: { syncId: sync.id },
          }),
        ),
    }),
    nextFires: t.field({
      type: ['DateTime'],
      description:
        'The next moments at which it runs by itself; none while it is not active, or has no schedule.',
      args: {
        first: t.arg.int({
          defaultValue: DEFAULT_PREVIEWED_FIRES,
          description: 'How many moments to tell, 1 to 100.',
        }),
      },
      resolve: (sync, { first }, { parts }) =>
        listNextFires(sync, first ?? DEFAULT_PREVIEWED_FIRES, parts.clock.now()),
    }),
    lastFiredAt: t.expose('firedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The last moment of its schedule that started a run; null before.',
    }),
    coalescedTicks: t.float({
      description:
        'How many moments of its schedule started nothing, because a run of it was queued or running.',
      resolve: ({ coalescedTicks }) => coalescedTicks ?? 0,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its draft, standing or name last changed.',
    }),
  }),
})

async function findRefusedConnections(
  { draft, publishedConfig }: HistoricSync,
  _args: object,
  context: ApiContext,
): Promise<HistoricConnection[]> {
  const { sourceConnectionId, destinationConnectionId } = publishedConfig ?? draft
  const ids = [...new Set([sourceConnectionId, destinationConnectionId])]
  const found = await ConnectionType.getDataloader(context).loadMany(ids)
  return found.filter(
    (one): one is HistoricConnection =>
      !(one instanceof Error) && decideAccess(one).status === 'unauthorized',
  )
}

function isPaused(sync: HistoricSync): sync is PausedSync {
  return sync.pauseCause !== null
}

/** It was read with its sync. */
function findPublication(sync: HistoricSync): HistoricPublication | null {
  const { publicationId, versionDigest, publishedConfig, publishedBy, publishedAt } = sync
  if (!(publicationId && versionDigest && publishedConfig && publishedBy && publishedAt)) {
    return null
  }
  const { id: syncId, approvedBy } = sync
  const who = { publishedBy, approvedBy, publishedAt }
  return { id: publicationId, syncId, versionDigest, config: publishedConfig, ...who }
}

/** Throws InvalidInput. */
function listNextFires(sync: HistoricSync, count: number, after: Instant): Instant[] {
  const problems = checkPreviewCount(count)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const schedule = sync.publishedConfig?.schedule ?? null
  if (sync.status !== 'active' || schedule === null || sync.scheduleAnchorAt === null) {
    return []
  }
  const anchored = { schedule, anchorMs: sync.scheduleAnchorAt.getTime() }
  const fires = nextFires(cronEngine, anchored, { afterMs: after.getTime(), count })
  return fires.map(instantAt)
}

const SyncFilterInput = builder.inputType('SyncFilter', {
  description: 'Which syncs to list. What is not given does not restrict.',
  fields: (t) => ({
    statuses: t.field({ type: [SyncStatusEnum], description: 'Syncs in any of these states.' }),
    name: t.string({ description: 'Syncs whose name contains this, in either case.' }),
  }),
})

builder.queryFields((t) => ({
  sync: t.field({
    type: SyncType,
    nullable: true,
    description: 'One sync; null when the workspace has none with this id.',
    args: { id: t.arg.id({ required: true, description: 'The id of a sync.' }) },
    resolve: (_root, { id }) => readId('Sync', id, 'id'),
  }),
  syncs: t.connection({
    type: SyncType,
    description: 'The syncs of the workspace, newest first.',
    args: { filter: t.arg({ type: SyncFilterInput, description: 'Which syncs to list.' }) },
    resolve: (_root, args, context) => {
      const { statuses, name } = args.filter ?? {}
      const problems =
        typeof name === 'string' ? checkText('filter.name', name, MAX_NAME_LENGTH) : []
      if (problems.length > 0) {
        throw new InvalidInput(problems)
      }
      const filter = {
        ...(statuses ? { statuses } : {}),
        ...(typeof name === 'string' ? { name } : {}),
      }
      return resolveIdPage(args, (page) =>
        listSyncs(context.parts.database, getActor(context).workspaceId, { page, filter }),
      )
    },
  }),
}))
