/** How a sync is doing. */
import { decideSyncHealth, type SyncHealth } from '../domain/sync-health.ts'
import { instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import { findHealthFacts } from '../store/history/sync-health.ts'
import { builder } from './builder.ts'
import { type ApiContext, getActor } from './context.ts'
import { COLLECT_ONLY, SyncType } from './nodes.ts'

const SyncHealthStatusEnum = builder.enumType('SyncHealthStatus', {
  description: 'How a sync is doing, measured by its own schedule.',
  values: {
    OK: {
      value: 'ok',
      description:
        'A run is under way, or nothing is late and the last run that ended succeeded, or none has ended yet.',
    },
    PARTIAL: {
      value: 'partial',
      description:
        'Nothing is late, and the last run that ended was `PARTIAL`: it left records behind that were rejected, are in doubt or were set aside. It goes on like that until somebody mends them.',
    },
    LATE: {
      value: 'late',
      description:
        'It was to run more than 15 minutes ago and no run has come to its end since, or a run waits that no worker takes.',
    },
    SILENT: {
      value: 'silent',
      description:
        'So much time has passed that it will not run by itself: three times the time between two runs, at least an hour and at most a day.',
    },
    FAILING: {
      value: 'failing',
      description:
        'Its last run failed, or the other system refuses our access by one of its connections (`Sync.refusedConnections`).',
    },
    PAUSED: { value: 'paused', description: 'Nothing of it runs, because it is paused.' },
  } as const,
})

type HealthOfSync = SyncHealth & { readonly syncId: string }

const SyncHealthType = builder.objectRef<HealthOfSync>('SyncHealth').implement({
  description: 'How a sync is doing, since when, and why.',
  fields: (t) => ({
    status: t.expose('status', { type: SyncHealthStatusEnum, description: 'How it is doing.' }),
    since: t.field({
      type: 'DateTime',
      description:
        'Since when: the first run that failed or was partial, the time at which it was to run, the pause; of what is well, the last sign of it.',
      resolve: ({ sinceMs }) => instantAt(sinceMs),
    }),
    why: t.exposeString('why', { description: 'Why, in one sentence.' }),
  }),
})

builder.objectField(SyncType, 'health', (t) =>
  t.loadable({
    type: SyncHealthType,
    nullable: true,
    description:
      'How it is doing, measured by its own schedule: a sync that does well does not hide another one that is silent. Null for a draft.',
    load: loadHealth,
    sort: (health) => (typeof health === 'string' ? health : health.syncId),
    loaderOptions: COLLECT_ONLY,
    resolve: ({ id }) => id,
  }),
)

async function loadHealth(syncIds: string[], context: ApiContext): Promise<HealthOfSync[]> {
  const { parts, settings } = context
  const rules = {
    cron: cronEngine,
    progressStaleAfterMs: settings.progressStaleAfterMs,
    tell: (ms: number) => instantAt(ms).toISOString(),
  }
  const { workspaceId } = getActor(context)
  const found = await findHealthFacts(parts.database, workspaceId, syncIds)
  return found.map(({ syncId, ...facts }) => ({ syncId, ...decideSyncHealth(rules, facts) }))
}
