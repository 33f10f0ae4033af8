/** The subscription that shows a run while it lives. */
import { NotFound } from '../commands/refusals.ts'
import type { RunProgress } from '../domain/progress.ts'
import { isFinal } from '../domain/run.ts'
import { progressNote } from '../domain/run-view.ts'
import { findProgress } from '../store/history/runs.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor, unauthenticated } from './context.ts'
import { FailureCodeEnum } from './failure.ts'
import { followRun } from './follow-run.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { KeepAliveType } from './keep-alive.ts'
import { CountersType, RunStatusEnum } from './run-figures.ts'

/** With a word on a run that has gone quiet. */
interface NotedProgress extends RunProgress {
  readonly note: string | null
}

const RunProgressType = builder.objectRef<NotedProgress>('RunProgress').implement({
  description: 'Where a run stands. Counters never go backwards.',
  fields: (t) => ({
    runId: t.id({
      description: 'The id of the run.',
      resolve: ({ runId }) => encodeGlobalId('Run', runId),
    }),
    status: t.expose('status', { type: RunStatusEnum, description: 'Where it stands.' }),
    isTerminal: t.boolean({
      description: 'Whether it has ended for good: then this is the last event.',
      resolve: ({ status }) => isFinal(status),
    }),
    counters: t.expose('counters', {
      type: CountersType,
      description: 'What became of its records so far.',
    }),
    totalRecords: t.float({
      nullable: true,
      description: 'How many records the source has, where it can tell.',
      resolve: ({ totalRecords }) => totalRecords,
    }),
    failureCode: t.expose('failureCode', {
      type: FailureCodeEnum,
      nullable: true,
      description: 'Why it failed; null unless it has. The run itself tells more.',
    }),
    progressNote: t.exposeString('note', {
      nullable: true,
      description:
        'A word on a run that has gone quiet: `Waiting for a fresh progress update`. It comes as an event of its own, and goes with the next progress.',
    }),
  }),
})

const RunProgressEvent = builder.unionType('RunProgressEvent', {
  description: 'What a run sends while it is watched.',
  types: [RunProgressType, KeepAliveType],
  resolveType: (event) => ('at' in event ? KeepAliveType : RunProgressType),
})

builder.subscriptionField('runProgress', (t) =>
  t.field({
    type: RunProgressEvent,
    description:
      'Follows a run: where it stands now, then what changes. Its terminal event comes once, and the stream completes.',
    args: { runId: t.arg.id({ required: true, description: 'The id of the run.' }) },
    subscribe: (_root, args, context) => subscribe(context, readId('Run', args.runId, 'runId')),
    resolve: (event, _args, { parts }) =>
      event.kind === 'progress'
        ? { ...event.progress, note: event.note }
        : { at: parts.clock.now() },
  }),
)

async function subscribe(context: ApiContext, runId: string) {
  const { settings } = context
  const { bus, clock, database } = context.parts
  const { workspaceId } = getActor(context)
  const readSnapshot = async () => {
    const found = await findProgress(database, workspaceId, runId)
    if (!found) {
      throw new NotFound('run', 'runId')
    }
    const { progress, silentMs } = found
    const { status } = progress
    return { progress, note: progressNote({ status, silentMs }, settings.progressStaleAfterMs) }
  }
  // Refused before the stream opens, not as its first event.
  await readSnapshot()
  return followRun({
    runId,
    bus,
    clock,
    keepAliveMs: settings.keepAliveMs,
    readSnapshot,
    assertAllowed: async () => {
      if (!(await context.isStillAuthenticated())) {
        throw unauthenticated('The token was revoked or has expired.')
      }
    },
  })
}
