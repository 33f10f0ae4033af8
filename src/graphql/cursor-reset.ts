/** Reading a source again from its beginning: what it would mean, and doing it. */
import { AlreadyRunning, Forbidden, InvalidInput, NotFound } from '../commands/refusals.ts'
import { resetCursor } from '../commands/reset-cursor.ts'
import { findProtection, type Protection } from '../domain/cursor-reset.ts'
import { readSyncConfig } from '../domain/sync.ts'
import { instantAt } from '../runtime/clock.ts'
import { findResetFacts, type ResetFacts } from '../store/history/cursor-resets.ts'
import { builder } from './builder.ts'
import { clientKeyField } from './client-key.ts'
import { getActor } from './context.ts'
import { readId } from './global-id.ts'
import { RunType } from './nodes.ts'
import { ChangedSyncPayload } from './sync-mutations.ts'

const ProtectionGapEnum = builder.enumType('ProtectionGap', {
  description: 'Why records would be written again at once.',
  values: {
    EXPIRED: {
      value: 'expired',
      description: 'Some were delivered longer ago than the ledger remembers (7 days).',
    },
    SETTINGS_CHANGED: {
      value: 'settings_changed',
      description:
        'Some were delivered under another source, stream, mapping or page size: what that changes is written again.',
    },
  } as const,
})

interface Preview extends ResetFacts {
  readonly protection: Protection
}

const PreviewType = builder.objectRef<Preview>('CursorResetPreview').implement({
  description: 'What it would mean to take a sync back to the beginning of its source now.',
  fields: (t) => ({
    recordsToRead: t.float({
      nullable: true,
      description:
        'How many records the next run will read: those of the stream, as its source last told; 0 when nothing was read yet, null where nobody can tell.',
      resolve: ({ hasRead, totalRecords }) => (hasRead ? totalRecords : 0),
    }),
    replayProtectedUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Until then what the ledger remembers is not written again, as long as it is read as it was: at the same place of the source, with the same content. From then on it is, bit by bit. Null: nothing is protected.',
      resolve: ({ protection: { untilMs } }) => (untilMs === null ? null : instantAt(untilMs)),
    }),
    protectionGaps: t.field({
      type: [ProtectionGapEnum],
      description: 'Why some records are not protected even now; empty: everything is.',
      resolve: ({ protection }) => [...protection.gaps],
    }),
    openPages: t.exposeInt('openPages', {
      description: 'Pages that wait for a record, and would be read anew instead.',
    }),
    heldRecords: t.exposeInt('heldRecords', {
      description: 'Rejected records that would be taken off the list and tried again.',
    }),
    quarantinedRecords: t.exposeInt('quarantinedRecords', {
      description:
        'Records set aside that would be taken off the list: tried again as far as the source still has them, and gone where it does not.',
    }),
    deliveriesInDoubt: t.exposeInt('inDoubt', {
      description: 'Deliveries that stay in doubt: nothing of them is sent until they are settled.',
    }),
    runInFlight: t.field({
      type: RunType,
      nullable: true,
      description: 'The queued or running run, which has to end first; null: there is none.',
      resolve: ({ runInFlightId }) => runInFlightId,
    }),
  }),
})

builder.queryField('cursorResetPreview', (t) =>
  t.field({
    type: PreviewType,
    nullable: true,
    description:
      'What resetCursor would do to a sync; null when the workspace has none with this id.',
    args: { syncId: t.arg.id({ required: true, description: 'The id of a sync.' }) },
    resolve: async (_root, args, context) => {
      const { retentionMs } = context.settings
      const { workspaceId } = getActor(context)
      const facts = await findResetFacts(context.parts.database, workspaceId, {
        syncId: readId('Sync', args.syncId, 'syncId'),
        retentionMs,
      })
      if (!facts) {
        return null
      }
      const { oldestCountingMs, hasExpired, versions, current } = facts
      const protection = findProtection({
        oldestCountingMs,
        hasExpired,
        versions: (versions ?? []).map(readSyncConfig),
        current: current && readSyncConfig(current),
        retentionMs,
      })
      return { ...facts, protection }
    },
  }),
)

const ResetCursorInput = builder.inputType('ResetCursorInput', {
  description: 'A sync to take back to the beginning of its source.',
  fields: (t) => ({
    syncId: t.id({ required: true, description: 'The id of the sync.' }),
    reason: t.string({ required: true, description: 'Why, for those who will ask later.' }),
    clientKey: clientKeyField(t),
  }),
})

builder.mutationField('resetCursor', (t) =>
  t.field({
    type: ChangedSyncPayload,
    description:
      'Takes a sync back to the beginning of its source: its next run reads everything again. What the ledger still protects is not written again, unless an older record of the same contact is; cursorResetPreview tells beforehand.',
    errors: { types: [Forbidden, InvalidInput, NotFound, AlreadyRunning] },
    args: { input: t.arg({ type: ResetCursorInput, required: true, description: 'The sync.' }) },
    resolve: (_root, { input }, context) =>
      resetCursor(context.parts, getActor(context), {
        syncId: readId('Sync', input.syncId, 'syncId'),
        reason: input.reason,
        clientKey: input.clientKey,
      }),
  }),
)
