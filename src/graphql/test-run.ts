/** Test runs: what a draft makes of the next records of its source. */
import { AlreadyRunning, Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { testSync } from '../commands/test-sync.ts'
import type { JsonValue } from '../domain/json.ts'
import { includesRole } from '../domain/role.ts'
import {
  DEFAULT_TEST_RECORDS,
  readTestRecords,
  sealedFor,
  type TestProblem,
  type TestRecord,
} from '../domain/test-run.ts'
import { findTestRecords, findTestRuns, type HistoricTestRun } from '../store/history/test-runs.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { type ApiContext, getActor } from './context.ts'
import { readId } from './global-id.ts'
import { COLLECT_ONLY, RunType } from './nodes.ts'
import { StartedRunPayload } from './run.ts'

const TestProblemType = builder.objectRef<TestProblem>('TestProblem').implement({
  description: 'Why a record would not be sent.',
  fields: (t) => ({
    field: t.exposeString('field', {
      nullable: true,
      description: 'The field of the mapping; null: it is about the record as a whole.',
    }),
    reason: t.exposeString('reason', { description: 'What is wrong, in a full sentence.' }),
  }),
})

const TestRecordType = builder.objectRef<TestRecord>('TestRecord').implement({
  description: 'What a draft makes of one record of the source.',
  fields: (t) => ({
    position: t.exposeInt('position', {
      description: 'Where it lies from where the next run would start: 0 is the first.',
    }),
    record: t.field({
      type: 'JSON',
      nullable: true,
      description: 'As it would be sent; null: there is a problem, or it is too large to be shown.',
      resolve: ({ fields }) => fields,
    }),
    isTooLarge: t.exposeBoolean('isTooLarge', {
      description: 'Whether it has more than 16,384 characters of JSON, and is not shown for that.',
    }),
    problem: t.expose('problem', {
      type: TestProblemType,
      nullable: true,
      description: 'Why it would not be sent; null: it would.',
    }),
  }),
})

const TestType = builder.objectRef<HistoricTestRun>('Test').implement({
  description: 'What a test run is of.',
  fields: (t) => ({
    versionDigest: t.exposeString('versionDigest', {
      description: 'Names the version that was tested: the draft as it was then.',
    }),
    limit: t.exposeInt('recordLimit', { description: 'Most records that it reads.' }),
    recordsWithProblems: t.exposeInt('recordsWithProblems', {
      nullable: true,
      description:
        'How many of the records that it read would not be sent; null: it has not come to its end.',
    }),
  }),
})

builder.objectFields(RunType, (t) => ({
  test: t.loadable({
    type: TestType,
    nullable: true,
    description: 'What it is a test of; null for a run that is none.',
    load: (runIds: string[], context) =>
      findTestRuns(context.parts.database, getActor(context).workspaceId, runIds),
    sort: (test) => (typeof test === 'string' ? test : test.runId),
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
  testRecords: t.loadableList({
    type: TestRecordType,
    nullable: true,
    description:
      'What became of the records of a test run, in their order. They are personal data: for an `OPERATOR` or more, null for others. They are kept for 7 days, or until the next test of the sync has come to its end: null then, and for a run that is no test.',
    load: loadTestRecords,
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
}))

async function loadTestRecords(runIds: string[], context: ApiContext) {
  const { role, workspaceId } = getActor(context)
  const { database, sealer } = context.parts
  const found = includesRole(role, 'operator')
    ? await findTestRecords(database, workspaceId, runIds)
    : []
  const sealed = new Map(found.map(({ runId, sealedRecords }) => [runId, sealedRecords]))
  return runIds.map((runId) => {
    const text = sealed.get(runId)
    return text
      ? [...readTestRecords(JSON.parse(sealer.unseal(text, sealedFor(runId))) as JsonValue)]
      : null
  })
}

const TestSyncInput = builder.inputType('TestSyncInput', {
  description: 'A draft to test.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    limit: t.int({
      defaultValue: DEFAULT_TEST_RECORDS,
      description: 'Most records to read, 1 to 100.',
    }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('testSync', (t) =>
  t.field({
    type: StartedRunPayload,
    description:
      'Queues a test run of the draft as it is, whether the sync is published, paused or neither: the next records of the source are read from where the next run would start, mapped and checked. Nothing is written, no cursor moves, and neither the breaker nor the health of the sync knows of it. `Run.testRecords` has what came of it.',
    errors: { types: [Forbidden, InvalidInput, NotFound, AlreadyRunning] },
    args: { input: t.arg({ type: TestSyncInput, required: true, description: 'The draft.' }) },
    resolve: (_root, { input }, context) =>
      testSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        limit: input.limit ?? DEFAULT_TEST_RECORDS,
        clientKey: input.clientKey,
      }),
  }),
)
