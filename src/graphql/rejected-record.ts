/** Records that were not written: held in their page, or set aside. What can be done with them is in quarantine. */

import { isUuid } from '../domain/ids.ts'
import {
  type HistoricRejectedRecord,
  type ListedState,
  listRejectedRecords,
} from '../store/history/rejected-records.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor } from './context.ts'
import { encodeGlobalId } from './global-id.ts'
import { RunType, SyncType } from './nodes.ts'
import { type PageArguments, resolveForwardPage } from './paging.ts'

export const RejectedRecordStateEnum = builder.enumType('RejectedRecordState', {
  description: 'Where a rejected record stands.',
  values: {
    HELD: { value: 'held', description: 'Its page stays open, and every run tries it again.' },
    QUARANTINED: {
      value: 'quarantined',
      description: 'It is set aside: no run reads or sends it until it is brought back.',
    },
    REDRIVING: {
      value: 'redriving',
      description: 'It was brought back: the next run sends it, unless it is in doubt.',
    },
    DELIVERED: { value: 'delivered', description: 'It was brought back, and delivered.' },
    SUPERSEDED: {
      value: 'superseded',
      description: 'A later record of the same identity was delivered: it is not sent any more.',
    },
    DISCARDED: { value: 'discarded', description: 'A person gave it up.' },
  } as const,
})

export const RejectedRecordType = builder
  .objectRef<HistoricRejectedRecord>('RejectedRecord')
  .implement({
    description: 'A record that was not written. Its content is never shown.',
    fields: (t) => ({
      id: t.id({
        description: 'Names it in redriveRecords and discardRecords.',
        resolve: ({ id }) => encodeGlobalId('Record', id),
      }),
      state: t.expose('state', { type: RejectedRecordStateEnum, description: 'Where it stands.' }),
      position: t.exposeInt('position', { description: 'Its position in its page, from 0.' }),
      page: t.exposeString('pageDigest', {
        description: 'Its page, as its delivery key begins: the key is sent with every request.',
      }),
      reason: t.exposeString('reason', {
        description: "Why: the destination's words, or the line of the source and what is wrong.",
      }),
      runs: t.exposeInt('runs', { description: 'In how many runs it was rejected.' }),
      canBeRedriven: t.boolean({
        description:
          'Whether it can be brought back: it is set aside, and its row was kept. A row that could not be read, or is larger than 1 MiB, was not.',
        resolve: ({ state, isKept }) => state === 'quarantined' && isKept,
      }),
      firstRejectedAt: t.expose('firstRejectedAt', {
        type: 'DateTime',
        description: 'When it was rejected for the first time.',
      }),
      rejectedAt: t.expose('rejectedAt', {
        type: 'DateTime',
        description: 'When it was rejected last.',
      }),
      quarantinedAt: t.expose('setAsideAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was set aside; null for one that is held.',
      }),
      endedAt: t.expose('endedAt', {
        type: 'DateTime',
        nullable: true,
        description:
          'When it was delivered, superseded or discarded; null while it waits. It leaves the list 7 days later.',
      }),
      firstRun: t.field({
        type: RunType,
        nullable: true,
        description: 'The run that rejected it first.',
        resolve: ({ firstRunId }) => firstRunId,
      }),
      lastRun: t.field({
        type: RunType,
        nullable: true,
        description: 'The run that rejected it last.',
        resolve: ({ lastRunId }) => lastRunId,
      }),
      sync: t.field({
        type: SyncType,
        description: 'The sync it belongs to.',
        resolve: ({ syncId }) => syncId,
      }),
    }),
  })

export async function resolveRejectedRecords(
  wanted: {
    readonly of: { readonly syncId: string } | { readonly runId: string }
    readonly states: readonly ListedState[]
  },
  args: PageArguments,
  context: ApiContext,
) {
  return await resolveForwardPage(args, {
    cursorOf: (record: HistoricRejectedRecord) => record.id,
    isCursor: isUuid,
    load: ({ after, limit }) =>
      listRejectedRecords(context.parts.database, getActor(context).workspaceId, {
        ...wanted,
        after,
        limit,
      }),
  })
}
