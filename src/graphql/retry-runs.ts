/** Retrying many runs at once: each is answered as `retryRun` answers it. */
import {
  AlreadyRunning,
  Forbidden,
  InvalidInput,
  NotFound,
  NothingToRetry,
  NotPublished,
  SyncPaused,
} from '../commands/refusals.ts'
import {
  MAX_RETRIED_RUNS,
  type RetriedItem,
  type RetriedRuns,
  readOutcome,
  retryRuns,
} from '../commands/retry-runs.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { StartedRunPayload } from './run.ts'

const RetryRunsInput = builder.inputType('RetryRunsInput', {
  description: 'Runs to retry.',
  fields: (t) => ({
    runIds: t.idList({
      required: true,
      description: `The ids of 1 to ${MAX_RETRIED_RUNS} failed or partial runs. Of several runs of one sync the one that is named first is retried, and the others are answered \`AlreadyRunning\`.`,
    }),
    clientKey: clientKeyField(t),
  }),
})

const RetriedRunType = builder.objectRef<RetriedItem>('RetriedRun').implement({
  description: 'What became of one run that was to be retried.',
  fields: (t) => ({
    runId: t.id({
      description: 'The id of the run that was to be retried.',
      resolve: ({ runId }) => encodeGlobalId('Run', runId),
    }),
    outcome: t.field({
      type: StartedRunPayload,
      description: 'The run that retries it, or why there is none.',
      errors: {
        types: [NotFound, AlreadyRunning, NothingToRetry, SyncPaused, NotPublished],
        union: {
          name: 'RetryOutcome',
          description: 'The run that was started, or why none was.',
        },
      },
      resolve: ({ outcome }) => readOutcome(outcome),
    }),
  }),
})

const RetriedRunsPayload = builder.objectRef<RetriedRuns>('RetriedRuns').implement({
  description: 'What became of each of the runs.',
  fields: (t) => ({
    status: t.expose('status', {
      type: CommandStatusEnum,
      description: '`STARTED`: at least one run was started. `NOOP`: none was.',
    }),
    started: t.int({
      description: 'How many runs were started.',
      resolve: ({ items }) => items.filter(({ outcome }) => outcome.kind === 'started').length,
    }),
    items: t.field({
      type: [RetriedRunType],
      description:
        'One for each run, in the order in which they were named; a run that was named twice has one.',
      resolve: ({ items }) => [...items],
    }),
  }),
})

builder.mutationField('retryRuns', (t) =>
  t.field({
    type: RetriedRunsPayload,
    description:
      'Retries many runs, each as `retryRun` does it, and answers each by itself: what refuses one keeps no other from being retried.',
    errors: { types: [Forbidden, InvalidInput] },
    args: { input: t.arg({ type: RetryRunsInput, required: true, description: 'The runs.' }) },
    resolve: (_root, { input }, context) =>
      retryRuns(context.parts, getActor(context), {
        runIds: input.runIds.map((id, index) => readId('Run', id, `runIds.${index}`)),
        clientKey: input.clientKey,
      }),
  }),
)
