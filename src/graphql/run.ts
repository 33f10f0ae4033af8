/** Runs, and their retries. How they are listed is in run-lists. */
import {
  AlreadyRunning,
  Forbidden,
  InvalidInput,
  NotFound,
  NothingToRetry,
  NotPublished,
  SyncPaused,
} from '../commands/refusals.ts'
import { retryRun } from '../commands/retry-run.ts'
import { isFinal } from '../domain/run.ts'
import { outcomeOf, ownerOf, progressNote, willRetry } from '../domain/run-view.ts'
import { findAttempts } from '../store/history/run-pages.ts'
import { findRetries, type HistoricRun } from '../store/history/runs.ts'
import { AttemptType } from './attempt.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { FailureOwnerEnum, RunFailureType, toRunFailure } from './failure.ts'
import { readId } from './global-id.ts'
import { COLLECT_ONLY, RunType, SyncType } from './nodes.ts'
import { CountersType, RunStatusEnum } from './run-figures.ts'

export const RunCauseEnum = builder.enumType('RunCause', {
  description: 'Why a run was started.',
  values: {
    SCHEDULE: { value: 'schedule', description: 'Its time had come.' },
    RUN_NOW: { value: 'run_now', description: 'Somebody asked for it.' },
    RETRY: { value: 'retry', description: 'Somebody retried another run.' },
    REDRIVE: {
      value: 'redrive',
      description: 'Somebody brought back records that were set aside.',
    },
    TEST: { value: 'test', description: 'Somebody tests a draft: nothing is written.' },
    SWEEP: { value: 'sweep', description: 'It takes the place of a run that stopped reporting.' },
  } as const,
})

const RunOutcomeEnum = builder.enumType('RunOutcome', {
  description: 'How a finished run turned out. Statuses may be added; outcomes will not.',
  values: {
    SUCCESS: { value: 'success', description: 'Every record is where it belongs.' },
    PARTIAL: { value: 'partial', description: 'Some records were not delivered.' },
    FAILURE: {
      value: 'failure',
      description: 'It did not reach the end of its source, or nothing was accepted.',
    },
    CANCELED: { value: 'canceled', description: 'A person ended it.' },
  } as const,
})

type CanceledRun = HistoricRun & {
  readonly cancelRequestedAt: NonNullable<HistoricRun['cancelRequestedAt']>
}

function isCanceledBySomebody(run: HistoricRun): run is CanceledRun {
  return run.cancelRequestedAt !== null
}

const CancellationType = builder.objectRef<CanceledRun>('RunCancellation').implement({
  description: 'That somebody asked for the end of a run.',
  fields: (t) => ({
    requestedAt: t.expose('cancelRequestedAt', {
      type: 'DateTime',
      description: 'When it was asked for.',
    }),
    requestedBy: t.string({
      description: 'The name of the token that asked for it.',
      resolve: ({ cancelRequestedBy }) => cancelRequestedBy ?? '',
    }),
    reason: t.string({
      description: 'Why, in the words of whoever asked.',
      resolve: ({ cancelReason }) => cancelReason ?? '',
    }),
  }),
})

RunType.implement({
  description: 'One execution of one published version of a sync, or a test of its draft.',
  fields: (t) => ({
    status: t.expose('status', { type: RunStatusEnum, description: 'Where it stands.' }),
    isTerminal: t.boolean({
      description: 'Whether it has ended for good.',
      resolve: ({ status }) => isFinal(status),
    }),
    outcome: t.field({
      type: RunOutcomeEnum,
      nullable: true,
      description: 'How it turned out; null until it has ended.',
      resolve: ({ status }) => outcomeOf(status),
    }),
    cause: t.expose('cause', { type: RunCauseEnum, description: 'Why it was started.' }),
    requestedBy: t.exposeString('requestedBy', {
      nullable: true,
      description: 'The name of the token that asked for it; null when no person did.',
    }),
    isCatchingUp: t.exposeBoolean('isCatchingUp', {
      description:
        'Whether it stands for scheduled moments that were missed, as after an outage: they are not run one by one.',
    }),
    counters: t.field({
      type: CountersType,
      description: 'What became of its records so far.',
      resolve: (run) => run,
    }),
    totalRecords: t.float({
      nullable: true,
      description: 'How many records the source has, where it can tell.',
      resolve: ({ totalRecords }) => totalRecords,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a worker first took it; null before.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null before.',
    }),
    durationMs: t.float({
      nullable: true,
      description: 'Milliseconds from its start to its end, or until now; null before its start.',
      resolve: ({ durationMs }) => durationMs,
    }),
    progressNote: t.string({
      nullable: true,
      description: 'A word on a run that has gone quiet: `Waiting for a fresh progress update`.',
      resolve: (run, _args, { settings }) => progressNote(run, settings.progressStaleAfterMs),
    }),
  }),
})

builder.objectFields(RunType, (t) => ({
  willRetry: t.boolean({
    description: 'Whether another attempt of it is coming.',
    resolve: willRetry,
  }),
  nextAttemptAt: t.field({
    type: 'DateTime',
    nullable: true,
    description: 'From when a worker may take it; null unless it is queued.',
    resolve: ({ status, dueAt }) => (status === 'queued' ? dueAt : null),
  }),
  attemptAllowance: t.exposeInt('attemptAllowance', {
    description: 'How many attempts it may spend. What a person retries has one.',
  }),
  attempts: t.loadableGroup({
    type: AttemptType,
    description: 'Its attempts, oldest first; of more than 50 the newest 50.',
    load: (runIds: string[], context) => findAttempts(context.parts.database, runIds),
    group: ({ runId }) => runId,
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
  failure: t.field({
    type: RunFailureType,
    nullable: true,
    description: 'Why it failed; null when it did not.',
    resolve: (run) => toRunFailure(run.id, run),
  }),
  owner: t.field({
    type: FailureOwnerEnum,
    nullable: true,
    description:
      'Who has to act on a failed or partial run: for records in doubt only it is Tajo. Null for any other run.',
    resolve: ownerOf,
  }),
}))

builder.objectFields(RunType, (t) => ({
  sync: t.field({
    type: SyncType,
    description: 'The sync it belongs to.',
    resolve: ({ syncId }) => syncId,
  }),
  cancellation: t.field({
    type: CancellationType,
    nullable: true,
    description:
      'That somebody asked for its end; null when nobody did. A running run may reach its end before its next safe point.',
    resolve: (run) => (isCanceledBySomebody(run) ? run : null),
  }),
  retryOf: t.field({
    type: RunType,
    nullable: true,
    description: 'The run that it retries; null when it is no retry.',
    resolve: ({ retryOf }) => retryOf,
  }),
  retriedBy: t.loadable({
    type: RunType,
    nullable: true,
    description: 'The run that retries it; null when none does. A canceled retry does not count.',
    load: (runIds: string[], context) =>
      findRetries(context.parts.database, getActor(context).workspaceId, runIds),
    sort: (retry) => (typeof retry === 'string' ? retry : (retry.retryOf ?? '')),
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
  resolvedAt: t.expose('resolvedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When a retry put it right; null while it stands.',
  }),
  resolvedBy: t.field({
    type: RunType,
    nullable: true,
    description: 'The retry that put it right; null while it stands.',
    resolve: ({ resolvedByRunId }) => resolvedByRunId,
  }),
}))

export const StartedRunPayload = builder.objectRef<{ runId: string }>('StartedRun').implement({
  description: 'The run that was queued.',
  fields: (t) => ({
    status: t.field({
      type: CommandStatusEnum,
      description: 'Always `STARTED`.',
      resolve: () => 'started' as const,
    }),
    run: t.field({ type: RunType, description: 'The run.', resolve: ({ runId }) => runId }),
  }),
})

const RetryRunInput = builder.inputType('RetryRunInput', {
  description: 'A run to retry.',
  fields: (t) => ({
    runId: t.id({ required: true, description: 'The id of a failed or partial run.' }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('retryRun', (t) =>
  t.field({
    type: StartedRunPayload,
    description:
      'Starts a new run at the saved cursor, linked to the failed or partial one. Of parallel retries one starts it; all of them learn its id.',
    errors: {
      types: [
        Forbidden,
        InvalidInput,
        NotFound,
        AlreadyRunning,
        NothingToRetry,
        SyncPaused,
        NotPublished,
      ],
    },
    args: { input: t.arg({ type: RetryRunInput, required: true, description: 'The run.' }) },
    resolve: (_root, { input }, context) =>
      retryRun(context.parts, getActor(context), {
        runId: readId('Run', input.runId, 'runId'),
        clientKey: input.clientKey,
      }),
  }),
)
