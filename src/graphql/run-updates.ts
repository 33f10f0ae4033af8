/** The subscriptions that show all runs of a sync or of a workspace while they live. */
import { GraphQLError } from 'graphql'
import { InvalidInput, NotFound } from '../commands/refusals.ts'
import { syncRunsChannel, workspaceRunsChannel } from '../coordination/bus.ts'
import { isFinal } from '../domain/run.ts'
import { progressNote } from '../domain/run-view.ts'
import type { Instant } from '../runtime/clock.ts'
import { lookAtRuns } from '../store/history/run-changes.ts'
import { findSyncsByIds } from '../store/history/syncs.ts'
import { builder } from './builder.ts'
import { type ApiContext, assertStillAuthenticated, getActor } from './context.ts'
import { followRuns, type RunsEvent, type SeenRuns } from './follow-runs.ts'
import { readId } from './global-id.ts'
import { RunType } from './nodes.ts'
import { RunProgressType } from './run-progress.ts'
import type { EventNote } from './sharing.ts'
import type { ToldProgress } from './told-progress.ts'

const RunUpdateType = builder
  .objectRef<ToldProgress & { readonly position: number }>('RunUpdate')
  .implement({
    description: 'Where one of the runs that are watched stands: that it is there, or has changed.',
    fields: (t) => ({
      progress: t.field({
        type: RunProgressType,
        description: 'Where it stands. That of a run only goes forwards.',
        resolve: (update) => update,
      }),
      run: t.field({
        type: RunType,
        description:
          'The run itself, read when the event is sent: it may be further on than `progress`.',
        resolve: ({ progress }) => progress.runId,
      }),
      sequence: t.string({
        description:
          'Where the stream stands: give it as `after` to go on from here. It is one for all runs of the stream, and that of a keep-alive is as good.',
        resolve: ({ position }) => String(position),
      }),
    }),
  })

const RunsKeepAliveType = builder
  .objectRef<{ readonly at: Instant; readonly position: number }>('RunsKeepAlive')
  .implement({
    description:
      'All that there was to tell has been told. Ends the beginning of the stream, and comes at least every 15 seconds.',
    fields: (t) => ({
      at: t.expose('at', { type: 'DateTime', description: 'When it was sent.' }),
      sequence: t.string({
        description: 'Where the stream stands: give it as `after` to go on from here.',
        resolve: ({ position }) => String(position),
      }),
    }),
  })

const RunUpdateEvent = builder.unionType('RunUpdateEvent', {
  description: 'What is sent while runs are watched.',
  types: [RunUpdateType, RunsKeepAliveType],
  resolveType: (event) => ('at' in event ? RunsKeepAliveType : RunUpdateType),
})

const HOW =
  'first those that are queued or running, then a keep-alive, then each change: a run that is queued, claimed, gets on or ends. Of each run the newest state is sent, never an older one after it. The stream has no end; one that broke is opened again with `after`.'

const AFTER =
  'The `sequence` of the last event that was received: the stream then begins with the runs that have ended since, too. Some may be told again that were told before. Without it, or with null, it begins with those that are queued or running.'

builder.subscriptionField('syncRuns', (t) =>
  t.field({
    type: RunUpdateEvent,
    description: `Watches the runs of a sync: ${HOW}`,
    args: {
      syncId: t.arg.id({ required: true, description: 'The id of the sync.' }),
      after: t.arg.string({ description: AFTER }),
    },
    subscribe: async (_root, { syncId, after }, context) => {
      const id = readId('Sync', syncId, 'syncId')
      const { workspaceId } = getActor(context)
      const [found] = await findSyncsByIds(context.parts.database, workspaceId, [id])
      if (!found) {
        throw new NotFound('sync', 'syncId')
      }
      return subscribe(context, { syncId: id, after: readAfter(after) })
    },
    resolve: (event, { after }, context) => showEvent(event, after, context),
  }),
)

builder.subscriptionField('workspaceRuns', (t) =>
  t.field({
    type: RunUpdateEvent,
    description: `Watches all runs of the workspace: ${HOW}`,
    args: { after: t.arg.string({ description: AFTER }) },
    subscribe: (_root, { after }, context) =>
      subscribe(context, { syncId: null, after: readAfter(after) }),
    resolve: (event, { after }, context) => showEvent(event, after, context),
  }),
)

/** A transaction of PostgreSQL. Larger ones do not fit a number, and are not reached in any lifetime. */
const POSITION = /^\d{1,15}$/

function readAfter(after: string | null | undefined): number | null {
  if (typeof after !== 'string') {
    return null
  }
  if (!POSITION.test(after)) {
    const reason = 'It must be the sequence of an event of such a stream, such as 48213.'
    throw new InvalidInput([{ field: 'after', reason }])
  }
  return Number(after)
}

function showEvent(event: RunsEvent, after: string | null | undefined, context: ApiContext) {
  const { parts, sharing } = context
  sharing?.describe(noteOf(event, after !== undefined && after !== null))
  return event.kind === 'run' ? event : { at: parts.clock.now(), position: event.position }
}

/** Who joins a stream that goes on from an earlier one is told of the ends since then, too. */
function noteOf(event: RunsEvent, resumes: boolean): EventNote {
  const { audience, looks } = event
  if (event.kind === 'keepAlive') {
    return { audience, looks, subject: null, leaves: 'nothing' }
  }
  const { runId, status } = event.progress
  return {
    audience,
    looks,
    subject: runId,
    leaves: isFinal(status) && !resumes ? 'nothing' : 'event',
  }
}

function subscribe(
  context: ApiContext,
  wanted: { readonly syncId: string | null; readonly after: number | null },
): AsyncIterableIterator<RunsEvent> {
  const { syncId, after } = wanted
  const { bus, clock } = context.parts
  const { workspaceId } = getActor(context)
  return followRuns({
    bus,
    clock,
    keepAliveMs: context.settings.keepAliveMs,
    channel: syncId === null ? workspaceRunsChannel(workspaceId) : syncRunsChannel(syncId),
    after,
    sharing: context.sharing ?? null,
    isWatched: (progress) =>
      progress.workspaceId === workspaceId && (syncId === null || progress.syncId === syncId),
    look: (since) => look(context, syncId, since),
    assertAllowed: () => assertStillAuthenticated(context),
  })
}

/** What one stream remembers, and reads at each look. */
const MAX_WATCHED = 5_000

/** Throws TOO_MANY_RUNS: to tell of some only would be to lose the others. */
async function look(
  context: ApiContext,
  syncId: string | null,
  since: number | null,
): Promise<SeenRuns> {
  const { parts, settings } = context
  const { workspaceId } = getActor(context)
  const limit = MAX_WATCHED + 1
  const seen = await lookAtRuns(parts.database, { workspaceId, syncId }, { since, limit })
  if (seen.runs.length > MAX_WATCHED) {
    throw new GraphQLError(
      `More than ${MAX_WATCHED.toLocaleString('en')} runs are queued or running or have ended since: list them with the query "runs", and watch those of one sync, or without "after".`,
      { extensions: { code: 'TOO_MANY_RUNS' } },
    )
  }
  return {
    position: seen.position,
    runs: seen.runs.map(({ progress, silentMs }) => ({
      progress,
      note: progressNote({ status: progress.status, silentMs }, settings.progressStaleAfterMs),
    })),
  }
}
