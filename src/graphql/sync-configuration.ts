/** The configuration of a sync: as it is shown, and as it is handed in. */
import type { SyncSettings } from '../commands/sync-settings.ts'
import { DEFAULT_PAGE_SIZE } from '../domain/page.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { readId } from './global-id.ts'
import { ConnectionType } from './nodes.ts'
import { readScheduleInput, ScheduleInput, ScheduleType } from './schedule.ts'

const RejectionPolicyEnum = builder.enumType('RejectionPolicy', {
  description: 'What happens to a record that the destination rejects.',
  values: {
    HOLD: { description: 'Every run tries it again until it is accepted or superseded.' },
    QUARANTINE: {
      description:
        'It is set aside once it was rejected in 3 runs: see redriveRecords. Until then it is held.',
    },
  } as const,
})

const BrokenRecordPolicyEnum = builder.enumType('BrokenRecordPolicy', {
  description: 'What a row does that cannot be read as a record.',
  values: {
    REJECT: { description: 'It is rejected by itself, with its line.' },
    FAIL: { description: 'It ends the run.' },
  } as const,
})

const DESCRIPTIONS = {
  stream: 'What is read from the source: for a file, its path below the configured root.',
  streamOptions: 'How it is read, as docs/connectors.md lists the options for each type.',
  object: 'What is written at the destination: for `http`, the path of the endpoint.',
  objectOptions: 'How it is written, as docs/connectors.md lists the options for each type.',
  mapping: 'Where the value of each target field comes from, as docs/mapping.md describes.',
  onRejected: 'What happens to a record that the destination rejects.',
  onBrokenRecord: 'What a row does that cannot be read as a record.',
  pageSize: 'Records a page, 1 to 10,000.',
  schedule: 'When it runs by itself; null: only when it is asked to.',
  breakerThreshold:
    'After how many failed runs in a row the breaker pauses it, 1 to 100; null: as many as the deployment says (5).',
}

export const SyncConfigurationType = builder.objectRef<SyncConfig>('SyncConfiguration').implement({
  description: 'Everything about a sync that a version fixes.',
  fields: (t) => ({
    sourceConnection: t.field({
      type: ConnectionType,
      description: 'Where records come from.',
      resolve: ({ sourceConnectionId }) => sourceConnectionId,
    }),
    stream: t.exposeString('stream', { description: DESCRIPTIONS.stream }),
    streamOptions: t.expose('streamOptions', {
      type: 'JSON',
      description: DESCRIPTIONS.streamOptions,
    }),
    destinationConnection: t.field({
      type: ConnectionType,
      description: 'Where records go.',
      resolve: ({ destinationConnectionId }) => destinationConnectionId,
    }),
    object: t.exposeString('object', { description: DESCRIPTIONS.object }),
    objectOptions: t.expose('objectOptions', {
      type: 'JSON',
      description: DESCRIPTIONS.objectOptions,
    }),
    mapping: t.expose('mapping', { type: 'JSON', description: DESCRIPTIONS.mapping }),
    onRejected: t.expose('onRejected', {
      type: RejectionPolicyEnum,
      description: DESCRIPTIONS.onRejected,
    }),
    onBrokenRecord: t.expose('onBrokenRecord', {
      type: BrokenRecordPolicyEnum,
      description: DESCRIPTIONS.onBrokenRecord,
    }),
    pageSize: t.exposeInt('pageSize', { description: DESCRIPTIONS.pageSize }),
    schedule: t.field({
      type: ScheduleType,
      nullable: true,
      description: DESCRIPTIONS.schedule,
      resolve: ({ schedule }) => schedule,
    }),
    breakerThreshold: t.exposeInt('breakerThreshold', {
      nullable: true,
      description: DESCRIPTIONS.breakerThreshold,
    }),
  }),
})

export const CreateSyncInput = builder.inputType('CreateSyncInput', {
  description: 'A new sync.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Unique in the workspace.' }),
    sourceConnectionId: t.id({ required: true, description: 'Where records come from.' }),
    stream: t.string({ required: true, description: DESCRIPTIONS.stream }),
    streamOptions: t.field({ type: 'JSON', description: DESCRIPTIONS.streamOptions }),
    destinationConnectionId: t.id({ required: true, description: 'Where records go.' }),
    object: t.string({ required: true, description: DESCRIPTIONS.object }),
    objectOptions: t.field({ type: 'JSON', description: DESCRIPTIONS.objectOptions }),
    mapping: t.field({ type: 'JSON', required: true, description: DESCRIPTIONS.mapping }),
    onRejected: t.field({
      type: RejectionPolicyEnum,
      defaultValue: 'HOLD',
      description: DESCRIPTIONS.onRejected,
    }),
    onBrokenRecord: t.field({
      type: BrokenRecordPolicyEnum,
      defaultValue: 'REJECT',
      description: DESCRIPTIONS.onBrokenRecord,
    }),
    pageSize: t.int({ defaultValue: DEFAULT_PAGE_SIZE, description: DESCRIPTIONS.pageSize }),
    schedule: t.field({ type: ScheduleInput, description: DESCRIPTIONS.schedule }),
    breakerThreshold: t.int({ description: DESCRIPTIONS.breakerThreshold }),
    clientKey: clientKeyField(t),
  }),
})

export const UpdateSyncInput = builder.inputType('UpdateSyncInput', {
  description: 'Changes to the draft of a sync. What is not given stays as it is.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    name: t.string({ description: 'Unique in the workspace. Takes effect at once.' }),
    sourceConnectionId: t.id({ description: 'Where records come from.' }),
    stream: t.string({ description: DESCRIPTIONS.stream }),
    streamOptions: t.field({ type: 'JSON', description: DESCRIPTIONS.streamOptions }),
    destinationConnectionId: t.id({
      description: 'Where records go. Fixed at the first publication.',
    }),
    object: t.string({ description: `${DESCRIPTIONS.object} Fixed at the first publication.` }),
    objectOptions: t.field({ type: 'JSON', description: DESCRIPTIONS.objectOptions }),
    mapping: t.field({ type: 'JSON', description: DESCRIPTIONS.mapping }),
    onRejected: t.field({ type: RejectionPolicyEnum, description: DESCRIPTIONS.onRejected }),
    onBrokenRecord: t.field({
      type: BrokenRecordPolicyEnum,
      description: DESCRIPTIONS.onBrokenRecord,
    }),
    pageSize: t.int({ description: DESCRIPTIONS.pageSize }),
    schedule: t.field({
      type: ScheduleInput,
      description:
        'When it runs by itself. Null takes the schedule away: it runs only when it is asked to.',
    }),
    breakerThreshold: t.int({
      description: `${DESCRIPTIONS.breakerThreshold} Null takes its own number away.`,
    }),
    clientKey: clientKeyField(t),
  }),
})

type CreateShape = typeof CreateSyncInput.$inferInput
type UpdateShape = typeof UpdateSyncInput.$inferInput

/** Throws InvalidInput for a malformed id. */
export function readNewSettings(input: CreateShape): SyncSettings {
  return {
    sourceConnectionId: readId('Connection', input.sourceConnectionId, 'sourceConnectionId'),
    stream: input.stream,
    streamOptions: input.streamOptions ?? {},
    destinationConnectionId: readId(
      'Connection',
      input.destinationConnectionId,
      'destinationConnectionId',
    ),
    object: input.object,
    objectOptions: input.objectOptions ?? {},
    mapping: input.mapping ?? null,
    onRejected: input.onRejected ?? 'HOLD',
    onBrokenRecord: input.onBrokenRecord ?? 'REJECT',
    pageSize: input.pageSize ?? DEFAULT_PAGE_SIZE,
    schedule: readScheduleInput(input.schedule),
    breakerThreshold: input.breakerThreshold ?? null,
  }
}

/** Only what is given; null counts as not given, but for the schedule and the breaker's threshold, which it takes away. */
export function readChangedSettings(input: UpdateShape): Partial<SyncSettings> {
  const changes = {
    sourceConnectionId: readGivenId(input, 'sourceConnectionId'),
    stream: input.stream,
    streamOptions: input.streamOptions,
    destinationConnectionId: readGivenId(input, 'destinationConnectionId'),
    object: input.object,
    objectOptions: input.objectOptions,
    mapping: input.mapping,
    onRejected: input.onRejected,
    onBrokenRecord: input.onBrokenRecord,
    pageSize: input.pageSize,
  }
  const given = Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== null && value !== undefined),
  )
  const { schedule, breakerThreshold } = input
  return {
    ...given,
    ...(schedule === undefined ? {} : { schedule: readScheduleInput(schedule) }),
    ...(breakerThreshold === undefined ? {} : { breakerThreshold }),
  }
}

function readGivenId(
  input: UpdateShape,
  field: 'sourceConnectionId' | 'destinationConnectionId',
): string | null {
  const id = input[field]
  return typeof id === 'string' ? readId('Connection', id, field) : null
}
