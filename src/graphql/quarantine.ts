/** The list of rejected records, and what people do with those that were set aside. */
import {
  type DiscardedItem,
  type DiscardedRecords,
  discardRecords,
} from '../commands/discard-records.ts'
import {
  type RedrivenItem,
  type RedrivenRecords,
  redriveRecords,
} from '../commands/redrive-records.ts'
import {
  AlreadyRunning,
  Forbidden,
  InvalidInput,
  NotFound,
  NotPublished,
  SyncPaused,
} from '../commands/refusals.ts'
import { WAITING_STATES } from '../store/history/rejected-records.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { encodeGlobalId, readId } from './global-id.ts'
import { RunType, SyncType } from './nodes.ts'
import {
  RejectedRecordStateEnum,
  RejectedRecordType,
  resolveRejectedRecords,
} from './rejected-record.ts'

builder.objectField(SyncType, 'rejectedRecords', (t) =>
  t.connection({
    type: RejectedRecordType,
    description:
      'Its rejected records, those rejected first before the others. Read forwards only.',
    args: {
      states: t.arg({
        type: [RejectedRecordStateEnum],
        description:
          'Records in any of these states; not given: `HELD`, `QUARANTINED`, `REDRIVING`.',
      }),
    },
    resolve: (sync, { states, ...args }, context) =>
      resolveRejectedRecords(
        { of: { syncId: sync.id }, states: states ?? WAITING_STATES },
        args,
        context,
      ),
  }),
)

builder.objectField(RunType, 'rejectedRecords', (t) =>
  t.connection({
    type: RejectedRecordType,
    description:
      'The records that it could not write and no later run has taken up. Read forwards only.',
    resolve: (run, args, context) =>
      resolveRejectedRecords({ of: { runId: run.id }, states: WAITING_STATES }, args, context),
  }),
)

const RecordStatusEnum = builder.enumType('RecordStatus', {
  description: 'What a mutation did with one record that it was given.',
  values: {
    STARTED: {
      value: 'started',
      description: 'It is brought back: the run that was queued sends it.',
    },
    DONE: { value: 'done', description: 'It did what it was asked.' },
    NOOP: {
      value: 'noop',
      description: 'Nothing was changed: it is held, on its way, or over; its state tells.',
    },
    NOT_KEPT: {
      value: 'not_kept',
      description: 'Its row was not kept, so there is nothing that could be sent.',
    },
    IN_DOUBT: {
      value: 'in_doubt',
      description:
        'It was sent, and may have been written: settle that first (settleDelivery), or bring it back once more.',
    },
    NOT_FOUND: { value: 'not_found', description: 'The sync has no such record.' },
  } as const,
})

const RecordResultType = builder.objectRef<RedrivenItem | DiscardedItem>('RecordResult').implement({
  description: 'One record that a mutation was given, and what it did with it.',
  fields: (t) => ({
    recordId: t.id({
      description: 'The id of the record.',
      resolve: ({ recordId }) => encodeGlobalId('Record', recordId),
    }),
    status: t.expose('status', { type: RecordStatusEnum, description: 'What was done.' }),
  }),
})

const RedriveRecordsInput = builder.inputType('RedriveRecordsInput', {
  description: 'Records to bring back.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of their sync.' }),
    recordIds: t.idList({
      description: 'At most 1,000 of them; not given, all records of the sync that are set aside.',
    }),
    clientKey: clientKeyField(t),
  }),
})

const RedrivenRecordsPayload = builder.objectRef<RedrivenRecords>('RedrivenRecords').implement({
  description: 'What was brought back.',
  fields: (t) => ({
    status: t.expose('status', {
      type: CommandStatusEnum,
      description: '`STARTED`, or `NOOP` where there is nothing to bring back.',
    }),
    run: t.field({
      type: RunType,
      nullable: true,
      description: 'The run that sends them; null where there is nothing to send.',
      resolve: ({ runId }) => runId,
    }),
    redriven: t.exposeInt('redriven', { description: 'How many records were brought back.' }),
    records: t.field({
      type: [RecordResultType],
      description: 'What was done with each record that was named.',
      resolve: ({ items }) => [...items],
    }),
    sync: t.field({
      type: SyncType,
      description: 'The sync they belong to.',
      resolve: ({ syncId }) => syncId,
    }),
  }),
})

builder.mutationField('redriveRecords', (t) =>
  t.field({
    type: RedrivenRecordsPayload,
    description:
      'Brings back records that were set aside, and queues a run, which sends them before anything else. They are mapped as the version says that is published then.',
    errors: {
      types: [Forbidden, InvalidInput, NotFound, AlreadyRunning, SyncPaused, NotPublished],
    },
    args: {
      input: t.arg({ type: RedriveRecordsInput, required: true, description: 'The records.' }),
    },
    resolve: (_root, { input }, context) =>
      redriveRecords(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        recordIds: input.recordIds?.map(readRecordId) ?? null,
        clientKey: input.clientKey,
      }),
  }),
)

const DiscardRecordsInput = builder.inputType('DiscardRecordsInput', {
  description: 'Records to give up.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of their sync.' }),
    recordIds: t.idList({ required: true, description: 'At most 1,000 of them.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

const DiscardedRecordsPayload = builder.objectRef<DiscardedRecords>('DiscardedRecords').implement({
  description: 'What was given up.',
  fields: (t) => ({
    status: t.expose('status', { type: CommandStatusEnum, description: 'What was done.' }),
    discarded: t.exposeInt('discarded', { description: 'How many records were discarded.' }),
    records: t.field({
      type: [RecordResultType],
      description: 'What was done with each record that was named.',
      resolve: ({ items }) => [...items],
    }),
    sync: t.field({
      type: SyncType,
      description: 'The sync they belong to.',
      resolve: ({ syncId }) => syncId,
    }),
  }),
})

builder.mutationField('discardRecords', (t) =>
  t.field({
    type: DiscardedRecordsPayload,
    description:
      'Gives up records that were set aside: they are never sent, and their rows are removed.',
    errors: { types: [Forbidden, InvalidInput, NotFound, AlreadyRunning] },
    args: {
      input: t.arg({ type: DiscardRecordsInput, required: true, description: 'The records.' }),
    },
    resolve: (_root, { input }, context) =>
      discardRecords(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        recordIds: input.recordIds.map(readRecordId),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)

function readRecordId(id: string | number, index: number): string {
  return readId('Record', id, `recordIds.${index}`)
}
