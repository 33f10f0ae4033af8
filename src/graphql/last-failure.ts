/** What went wrong with a sync last, also while it is paused for it. */
import { findLastEndedRuns } from '../store/history/runs.ts'
import { builder } from './builder.ts'
import { getActor } from './context.ts'
import { RunFailureType, toRunFailure } from './failure.ts'
import { COLLECT_ONLY, SyncType } from './nodes.ts'

builder.objectFields(SyncType, (t) => ({
  lastFailure: t.loadable({
    type: RunFailureType,
    nullable: true,
    description:
      'Why the last of its runs that were not canceled failed; null when that one did not, or none has ended.',
    load: async (syncIds: string[], context) => {
      const { database } = context.parts
      const runs = await findLastEndedRuns(database, getActor(context).workspaceId, syncIds)
      const failures = new Map(runs.map((run) => [run.syncId, toRunFailure(run.id, run)]))
      return syncIds.map((syncId) => failures.get(syncId) ?? null)
    },
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
}))
