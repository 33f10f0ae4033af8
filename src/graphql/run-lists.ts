/** Run history and the DLQ, filtered and paged; and one run by its id. */
import { standingsOf } from '../domain/run-standing.ts'
import type { Instant } from '../runtime/clock.ts'
import { listFailures, listRuns } from '../store/history/run-pages.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { FailureCodeEnum, FailureOwnerEnum } from './failure.ts'
import { readId } from './global-id.ts'
import { RunType } from './nodes.ts'
import { resolveIdPage } from './paging.ts'
import { RunCauseEnum } from './run.ts'
import { RunStatusEnum } from './run-figures.ts'

const RunFilterInput = builder.inputType('RunFilter', {
  description:
    'Which runs to list: those that fit all that is given. What is not given does not restrict.',
  fields: (t) => ({
    syncId: t.id({ description: 'Runs of this sync.' }),
    statuses: t.field({ type: [RunStatusEnum], description: 'Runs in any of these states.' }),
    codes: t.field({
      type: [FailureCodeEnum],
      description: 'Failed runs with any of these failures.',
    }),
    owner: t.field({
      type: FailureOwnerEnum,
      description: 'Failed and partial runs on which this side has to act.',
    }),
    causes: t.field({
      type: [RunCauseEnum],
      description: 'Runs that were started for any of these reasons.',
    }),
    createdFrom: t.field({
      type: 'DateTime',
      description: 'Runs that were asked for at this moment or later.',
    }),
    createdTo: t.field({
      type: 'DateTime',
      description: 'Runs that were asked for before this moment.',
    }),
  }),
})

const FailureFilterInput = builder.inputType('FailureFilter', {
  description:
    'Which failures to list: those that fit all that is given. What is not given does not restrict.',
  fields: (t) => ({
    syncId: t.id({ description: 'Failures of this sync.' }),
    owner: t.field({
      type: FailureOwnerEnum,
      description: 'Failures on which this side has to act.',
    }),
    code: t.field({ type: FailureCodeEnum, description: 'Failed runs with this failure.' }),
    createdFrom: t.field({
      type: 'DateTime',
      description: 'Runs that were asked for at this moment or later.',
    }),
    createdTo: t.field({
      type: 'DateTime',
      description: 'Runs that were asked for before this moment.',
    }),
  }),
})

interface SharedFilter {
  readonly syncId?: string | number | null | undefined
  readonly createdFrom?: Instant | null | undefined
  readonly createdTo?: Instant | null | undefined
}

function readShared({ syncId, createdFrom, createdTo }: SharedFilter) {
  return {
    ...(typeof syncId === 'string' ? { syncId: readId('Sync', syncId, 'filter.syncId') } : {}),
    ...(createdFrom ? { createdFrom } : {}),
    ...(createdTo ? { createdTo } : {}),
  }
}

builder.queryFields((t) => ({
  run: t.field({
    type: RunType,
    nullable: true,
    description: 'One run; null when the workspace has none with this id.',
    args: { id: t.arg.id({ required: true, description: 'The id of a run.' }) },
    resolve: (_root, { id }) => readId('Run', id, 'id'),
  }),
  runs: t.connection({
    type: RunType,
    description: 'The runs of the workspace, newest first.',
    args: { filter: t.arg({ type: RunFilterInput, description: 'Which runs to list.' }) },
    resolve: (_root, args, context) => {
      const { statuses, codes, owner, causes, ...shared } = args.filter ?? {}
      const filter = {
        ...readShared(shared),
        standings: standingsOf({
          statuses: statuses ?? [],
          codes: codes ?? [],
          ...(owner ? { owner } : {}),
        }),
        causes: [...new Set(causes ?? [])],
      }
      return resolveIdPage(args, (page) =>
        listRuns(context.parts.database, getActor(context).workspaceId, { page, filter }),
      )
    },
  }),
  failures: t.connection({
    type: RunType,
    description: 'Failed and partial runs that no retry has put right, newest first.',
    args: { filter: t.arg({ type: FailureFilterInput, description: 'Which failures to list.' }) },
    resolve: (_root, args, context) => {
      const { owner, code, ...shared } = args.filter ?? {}
      const filter = {
        ...readShared(shared),
        standings: standingsOf({
          codes: code ? [code] : [],
          ...(owner ? { owner } : {}),
        }),
      }
      return resolveIdPage(args, (page) =>
        listFailures(context.parts.database, getActor(context).workspaceId, { page, filter }),
      )
    },
  }),
}))
