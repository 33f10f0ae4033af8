/** The watchmen of one process, and hours that pass for them: they are asked at moments that a test gives. */
import { sql } from 'drizzle-orm'
import type { Bus } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import type { Database } from '../../src/store/database.ts'
import { DeadMan } from '../../src/watch/dead-man.ts'
import { QueueWatch } from '../../src/watch/queue-watch.ts'
import { newId } from './store-seed.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export interface Watchmen {
  readonly deadMan: DeadMan
  readonly queueWatch: QueueWatch
  /** Lets both look once an hour, from an hour after `from` on. */
  watchHours(count: number, from?: Date): Promise<void>
}

/** With the settings of production. */
export function createWatchmen(parts: {
  readonly database: Database
  readonly logger: Logger
  readonly bus?: Bus
}): Watchmen {
  const shared = {
    ...parts,
    bus: parts.bus ?? createMemoryBus(parts.logger),
    clock: systemClock,
    ids: createIdSource(systemClock, systemRandom),
    intervalMs: MINUTE_MS,
    channels: ['log'] as const,
  }
  const deadMan = new DeadMan({ ...shared, windowMs: 24 * HOUR_MS, minute: 13 })
  const queueWatch = new QueueWatch({ ...shared, stuckAfterMs: 15 * MINUTE_MS })
  return {
    deadMan,
    queueWatch,
    watchHours: async (count, from = new Date()) => {
      for (let hour = 1; hour <= count; hour += 1) {
        const now = new Date(from.getTime() + hour * HOUR_MS)
        await queueWatch.runOnce(now)
        await deadMan.runOnce(now)
      }
    },
  }
}

export type ToldSilence = {
  readonly silence: string
  readonly closing: string | null
  /** The events of its notices. */
  readonly told: string
}

/** The alerts of a workspace's silence, the oldest first. */
export function silencesOf(
  database: Database,
  workspaceId: string,
): Promise<readonly ToldSilence[]> {
  return database.rows<ToldSilence>(sql`
    select alert.facts ->> 'silence' as silence, alert.closing,
           string_agg(alert_notice.event, ' ' order by alert_notice.event desc) as told
    from alert
    left join alert_notice on alert_notice.alert_id = alert.id
    where alert.workspace_id = ${workspaceId} and alert.kind = 'workspace_silent'
      and alert.audience = 'tajo' and alert.severity = 'critical'
    group by alert.id
    order by alert.id`)
}

/** Workspaces with an active sync that has never run. Returns their ids, in order. */
export async function seedSilentWorkspaces(
  database: Database,
  count: number,
): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => newId())
  for (const id of ids) {
    const [connectionId, syncId] = [newId(), newId()]
    await database.rows(sql`insert into workspace (id, name) values (${id}, 'Silent')`)
    await database.rows(sql`insert into connection (id, workspace_id, name, type, config)
      values (${connectionId}, ${id}, 'tool', 'file', '{}')`)
    await database.rows(sql`insert into sync (id, workspace_id, name, status, publication_id, draft,
        source_connection_id, destination_connection_id, activated_at)
      values (${syncId}, ${id}, 'sync', 'active', ${newId()}, '{}', ${connectionId},
        ${connectionId}, now())`)
  }
  return ids
}
