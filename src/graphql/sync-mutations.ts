/** What can be done with a sync. */
import { createSync } from '../commands/create-sync.ts'
import { pauseSync } from '../commands/pause-sync.ts'
import { publishSync } from '../commands/publish-sync.ts'
import {
  AlreadyRunning,
  ApprovalNeeded,
  ChangedMeanwhile,
  Forbidden,
  InvalidInput,
  NotFound,
  NotPublished,
  SyncPaused,
  SyncStillPausing,
  SystemOutOfReach,
} from '../commands/refusals.ts'
import { resumeSync } from '../commands/resume-sync.ts'
import { runSync } from '../commands/run-sync.ts'
import { updateSync } from '../commands/update-sync.ts'
import type { Instant } from '../runtime/clock.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { CommandStatusEnum } from './command-status.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { SyncType } from './nodes.ts'
import { ACCEPTS_UNCHECKED, readAcceptsUnchecked } from './publication-preview.ts'
import { StartedRunPayload } from './run.ts'
import {
  CreateSyncInput,
  readChangedSettings,
  readNewSettings,
  UpdateSyncInput,
} from './sync-configuration.ts'

export const ChangedSyncPayload = builder
  .objectRef<{
    readonly syncId: string
    readonly status: 'done' | 'will_stop_by' | 'noop'
    readonly stopBy?: Instant | null
  }>('ChangedSync')
  .implement({
    description: 'The sync after a mutation.',
    fields: (t) => ({
      status: t.expose('status', { type: CommandStatusEnum, description: 'What was done.' }),
      willStopBy: t.field({
        type: 'DateTime',
        nullable: true,
        description:
          'By when its running run has stopped; null unless the status is `WILL_STOP_BY`.',
        resolve: ({ stopBy }) => stopBy ?? null,
      }),
      sync: t.field({ type: SyncType, description: 'The sync.', resolve: ({ syncId }) => syncId }),
    }),
  })

builder.mutationField('createSync', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description: 'Saves a new sync as a draft. It runs once it is published.',
    errors: { types: [Forbidden, InvalidInput] },
    args: { input: t.arg({ type: CreateSyncInput, required: true, description: 'The sync.' }) },
    resolve: async (_root, { input }, context) => {
      const settings = readNewSettings(input)
      const { name, clientKey } = input
      const given = { name, settings, clientKey }
      const { syncId } = await createSync(context.parts, getActor(context), given)
      return { syncId, status: 'done' as const }
    },
  }),
)

builder.mutationField('updateSync', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description: 'Changes the draft of a sync. What runs is the published version.',
    errors: { types: [Forbidden, InvalidInput, NotFound, ChangedMeanwhile] },
    args: { input: t.arg({ type: UpdateSyncInput, required: true, description: 'The changes.' }) },
    resolve: (_root, { input }, context) =>
      updateSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        settings: readChangedSettings(input),
        clientKey: input.clientKey,
        ...(typeof input.name === 'string' ? { name: input.name } : {}),
      }),
  }),
)

function syncIdInput(name: string, description: string) {
  return builder.inputType(name, {
    description,
    fields: (t) => ({
      syncId: t.id({ required: true, description: 'The id of the sync.' }),
      clientKey: clientKeyField(t),
    }),
  })
}

const PublishSyncInput = builder.inputType('PublishSyncInput', {
  description: 'A sync to publish.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    acceptsUnchecked: t.boolean({ description: ACCEPTS_UNCHECKED }),
    clientKey: clientKeyField(t),
  }),
})
const ResumeSyncInput = syncIdInput('ResumeSyncInput', 'A sync to resume.')
const RunSyncInput = syncIdInput('RunSyncInput', 'A sync to run.')
const PauseSyncInput = builder.inputType('PauseSyncInput', {
  description: 'A sync to pause.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('publishSync', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description:
      'Makes the draft the version that runs, and the sync active, once both systems were asked whether they would take it (`publicationPreview`). Where the workspace wants four eyes (`Viewer.publishingNeedsApproval`), `requestPublication` does instead.',
    errors: {
      types: [
        Forbidden,
        InvalidInput,
        NotFound,
        ApprovalNeeded,
        SyncStillPausing,
        SystemOutOfReach,
        ChangedMeanwhile,
      ],
    },
    args: { input: t.arg({ type: PublishSyncInput, required: true, description: 'The sync.' }) },
    resolve: (_root, { input }, context) =>
      publishSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        ...readAcceptsUnchecked(input.acceptsUnchecked),
        clientKey: input.clientKey,
      }),
  }),
)

builder.mutationField('pauseSync', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description:
      'Stops a sync: nothing new starts, a queued run is closed, a running one stops at its next safe point.',
    errors: { types: [Forbidden, InvalidInput, NotFound, NotPublished] },
    args: { input: t.arg({ type: PauseSyncInput, required: true, description: 'The sync.' }) },
    resolve: (_root, { input }, context) =>
      pauseSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)

builder.mutationField('resumeSync', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description:
      'Resumes a sync that a person paused. After the breaker, publish it again instead.',
    errors: {
      types: [Forbidden, InvalidInput, NotFound, NotPublished, SyncPaused, SyncStillPausing],
    },
    args: { input: t.arg({ type: ResumeSyncInput, required: true, description: 'The sync.' }) },
    resolve: (_root, { input }, context) =>
      resumeSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        clientKey: input.clientKey,
      }),
  }),
)

builder.mutationField('runSync', (t) =>
  t.field({
    type: StartedRunPayload,
    description: 'Queues a run of the published version now.',
    errors: {
      types: [Forbidden, InvalidInput, NotFound, AlreadyRunning, SyncPaused, NotPublished],
    },
    args: { input: t.arg({ type: RunSyncInput, required: true, description: 'The sync.' }) },
    resolve: (_root, { input }, context) =>
      runSync(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        clientKey: input.clientKey,
      }),
  }),
)
