/** The subscription that shows a run while it lives. */
import { InvalidInput, NotFound } from '../commands/refusals.ts'
import { isFinal, type Sequence } from '../domain/run.ts'
import { progressNote } from '../domain/run-view.ts'
import { findProgress } from '../store/history/runs.ts'
import { builder } from './builder.ts'
import { type ApiContext, assertStillAuthenticated, getActor } from './context.ts'
import { FailureCodeEnum } from './failure.ts'
import { followRun, type RunEvent } from './follow-run.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { KeepAliveType } from './keep-alive.ts'
import { CountersType, RunStatusEnum } from './run-figures.ts'
import type { EventNote } from './sharing.ts'
import { encodeSequence, parseSequence, type ToldProgress } from './told-progress.ts'

export const RunProgressType = builder.objectRef<ToldProgress>('RunProgress').implement({
  description: 'Where a run stands. Counters never go backwards.',
  fields: (t) => ({
    runId: t.id({
      description: 'The id of the run.',
      resolve: ({ progress }) => encodeGlobalId('Run', progress.runId),
    }),
    syncId: t.id({
      description: 'The id of its sync.',
      resolve: ({ progress }) => encodeGlobalId('Sync', progress.syncId),
    }),
    sequence: t.string({
      description:
        'Orders the states of a run, such as `3.17`: the part before the dot first, then the part behind it, both as numbers. Give it as `after` of `runProgress` to go on from here.',
      resolve: ({ progress }) => encodeSequence(progress.sequence),
    }),
    status: t.field({
      type: RunStatusEnum,
      description: 'Where it stands.',
      resolve: ({ progress }) => progress.status,
    }),
    isTerminal: t.boolean({
      description: 'Whether it has ended for good: no event of this run comes after this one.',
      resolve: ({ progress }) => isFinal(progress.status),
    }),
    counters: t.field({
      type: CountersType,
      description: 'What became of its records so far.',
      resolve: ({ progress }) => progress.counters,
    }),
    totalRecords: t.float({
      nullable: true,
      description: 'How many records the source has, where it can tell.',
      resolve: ({ progress }) => progress.totalRecords,
    }),
    failureCode: t.field({
      type: FailureCodeEnum,
      nullable: true,
      description: 'Why it failed; null unless it has. The run itself tells more.',
      resolve: ({ progress }) => progress.failureCode,
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
    args: {
      runId: t.arg.id({ required: true, description: 'The id of the run.' }),
      after: t.arg.string({
        description:
          'The `sequence` of the last progress that was received: nothing is sent that is not newer, but for the terminal event of a run that has ended. Without it, or with null, the stream begins with where the run stands.',
      }),
    },
    subscribe: (_root, { runId, after }, context) =>
      subscribe(context, readId('Run', runId, 'runId'), readAfter(after)),
    resolve: (event, _args, { parts, sharing }) => {
      sharing?.describe(noteOf(event))
      return event.kind === 'progress' ? event : { at: parts.clock.now() }
    },
  }),
)

function readAfter(after: string | null | undefined): Sequence | null {
  const sequence = after ? parseSequence(after) : null
  if (typeof after === 'string' && sequence === null) {
    const reason = 'It must be the sequence of a progress event, such as 3.17.'
    throw new InvalidInput([{ field: 'after', reason }])
  }
  return sequence
}

function noteOf(event: RunEvent): EventNote {
  const { audience, looks } = event
  if (event.kind === 'keepAlive') {
    return { audience, looks, subject: null, leaves: 'nothing' }
  }
  const { runId, status } = event.progress
  return { audience, looks, subject: runId, leaves: isFinal(status) ? 'noStream' : 'event' }
}

async function subscribe(context: ApiContext, runId: string, after: Sequence | null) {
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
    after,
    sharing: context.sharing ?? null,
    readSnapshot,
    assertAllowed: () => assertStillAuthenticated(context),
  })
}
