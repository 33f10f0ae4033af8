/** The failure catalogue, and one failure of a run or attempt. */
import {
  describeFailure,
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  type Failure,
  type FailureCode,
  type FailureRetry,
} from '../domain/failure.ts'
import type { RunCause } from '../domain/run.ts'
import { nextMutationOf } from '../domain/run-view.ts'
import { builder } from './builder.ts'
import type { ApiContext } from './context.ts'
import { encodeGlobalId } from './global-id.ts'
import { RunType, SyncType } from './nodes.ts'

export const FailureOwnerEnum = builder.enumType('FailureOwner', {
  description: 'Who has to act.',
  values: {
    CUSTOMER: { description: 'Whoever owns the sync and its connections.' },
    TAJO: { description: 'Tajo.' },
  } as const,
})

/** `lease_lost` is `LEASE_LOST` in the API. */
export const FailureCodeEnum = builder.enumType('FailureCode', {
  description: 'The name of a failure. The catalogue explains each one.',
  values: Object.fromEntries(
    FAILURE_CODES.map((code) => [
      code.toUpperCase(),
      { value: code, description: FAILURE_CATALOGUE[code].happened },
    ]),
  ) as Record<Uppercase<FailureCode>, { value: FailureCode; description: string }>,
})

const StepEnum = builder.enumType('RunStep', {
  description: 'What a run was doing.',
  values: {
    READING: { value: 'reading', description: 'Reading a page from the source.' },
    MAPPING: { value: 'mapping', description: 'Mapping records.' },
    WRITING: { value: 'writing', description: 'Writing records to the destination.' },
  } as const,
})

const FailureRetryEnum = builder.enumType('FailureRetry', {
  description: 'What follows a failure by itself.',
  values: {
    NEXT_ATTEMPT: {
      value: 'yes' satisfies FailureRetry,
      description: 'Another attempt of the same run, while it has any left.',
    },
    NEW_RUN: {
      value: 'new_run' satisfies FailureRetry,
      description: 'A new run, if the sync is still active.',
    },
    NOTHING: {
      value: 'no' satisfies FailureRetry,
      description: 'Nothing: the failure needs a person or the next scheduled run.',
    },
  } as const,
})

const NextMutationEnum = builder.enumType('NextMutation', {
  description: 'The mutation with which a person goes on after a failure.',
  values: {
    RETRY_RUN: {
      value: 'retry',
      description: '`retryRun`: run it again, once the cause is mended where there is one.',
    },
    RECONNECT_CONNECTION: {
      value: 'reconnect',
      description: '`reconnectConnection`: connect the tool again, then retry the run.',
    },
    PUBLISH_SYNC: {
      value: 'publish',
      description: '`publishSync`: publish the sync, after a pause by the breaker once more.',
    },
    RESUME_SYNC: { value: 'resume', description: '`resumeSync`: resume the sync.' },
  } as const,
})

/** A failure and the run that it belongs to. */
export interface RunFailure extends Failure {
  readonly runId: string
  /** It tested a draft, so it cannot be retried; null: its run says. */
  readonly isTest: boolean | null
}

export const RunFailureType = builder.objectRef<RunFailure>('RunFailure').implement({
  description: 'Why a run or one of its attempts failed, and what to do about it.',
  fields: (t) => ({
    code: t.expose('code', { type: FailureCodeEnum, description: "The failure's name." }),
    whatHappened: t.string({ description: 'What happened.', resolve: describeFailure }),
    whatToDo: t.string({
      description: 'What to do next.',
      resolve: ({ code }) => FAILURE_CATALOGUE[code].todo,
    }),
    owner: t.field({
      type: FailureOwnerEnum,
      description: 'Who has to do it.',
      resolve: ({ code }) => FAILURE_CATALOGUE[code].owner,
    }),
    nextMutation: t.field({
      type: NextMutationEnum,
      nullable: true,
      description:
        'The mutation that follows, as the sync stands now; null when there is nothing to do. None follows a test: start another one.',
      resolve: async ({ code, runId, isTest }, _args, context) =>
        (isTest ?? (await isOfTest(runId, context)))
          ? null
          : nextMutationOf(code, { pauseCause: await findPauseCause(code, runId, context) }),
    }),
    step: t.expose('step', {
      type: StepEnum,
      nullable: true,
      description: 'What the run was doing; null when it was at none of its steps.',
    }),
    detail: t.exposeString('detail', {
      nullable: true,
      description: 'Technical detail, without personal data and secrets.',
    }),
    runId: t.id({
      description: 'The id of the run, to be named to Tajo.',
      resolve: ({ runId }) => encodeGlobalId('Run', runId),
    }),
  }),
})

async function isOfTest(runId: string, context: ApiContext): Promise<boolean> {
  return (await RunType.getDataloader(context).load(runId)).cause === 'test'
}

/** Of the run's sync as it is now. Asked for only where the answer depends on it. */
async function findPauseCause(code: FailureCode, runId: string, context: ApiContext) {
  if (FAILURE_CATALOGUE[code].next !== 'resume') {
    return null
  }
  const { syncId } = await RunType.getDataloader(context).load(runId)
  const { pauseCause } = await SyncType.getDataloader(context).load(syncId)
  return pauseCause
}

/** Null unless the columns hold a failure. */
export function toRunFailure(
  runId: string,
  row: {
    readonly failureCode: FailureCode | null
    readonly failureStep: Failure['step']
    readonly failureSubject: string | null
    readonly failureDetail: string | null
    readonly cause?: RunCause
  },
): RunFailure | null {
  const { failureCode: code, failureStep: step, failureSubject: subject } = row
  const isTest = row.cause === undefined ? null : row.cause === 'test'
  return code === null ? null : { runId, isTest, code, step, subject, detail: row.failureDetail }
}

const CatalogueEntryType = builder.objectRef<FailureCode>('FailureCatalogueEntry').implement({
  description:
    'One kind of failure. `{subject}` stands for the tool or step that the failure names.',
  fields: (t) => ({
    code: t.field({
      type: FailureCodeEnum,
      description: "The failure's name.",
      resolve: (code) => code,
    }),
    whatHappened: t.string({
      description: 'What happened.',
      resolve: (code) => FAILURE_CATALOGUE[code].happened,
    }),
    whatToDo: t.string({
      description: 'What to do next.',
      resolve: (code) => FAILURE_CATALOGUE[code].todo,
    }),
    owner: t.field({
      type: FailureOwnerEnum,
      description: 'Who has to do it.',
      resolve: (code) => FAILURE_CATALOGUE[code].owner,
    }),
    retried: t.field({
      type: FailureRetryEnum,
      description: 'What follows it by itself.',
      resolve: (code) => FAILURE_CATALOGUE[code].retried,
    }),
    nextMutation: t.field({
      type: NextMutationEnum,
      nullable: true,
      description:
        'The mutation that follows; null when there is nothing to do. After a pause by the breaker it is `PUBLISH_SYNC`.',
      resolve: (code) => FAILURE_CATALOGUE[code].next,
    }),
    causes: t.string({
      description: 'Where it comes from.',
      resolve: (code) => FAILURE_CATALOGUE[code].causes,
    }),
  }),
})

builder.queryField('failureCatalogue', (t) =>
  t.field({
    type: [CatalogueEntryType],
    description: 'Every failure that a run can end with.',
    resolve: () => [...FAILURE_CODES],
  }),
)
