/** What those who operate Tajo see of all workspaces: workers, the queue, the workspaces themselves. */
import { and, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { type Instant, instantAt } from '../../runtime/clock.ts'
import type { Handle } from '../database.ts'
import { worker } from '../schema.ts'
import { workspace } from '../schema-configuration.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

export async function listWorkspaces(handle: Handle, page: KeysetPage) {
  return await handle.orm
    .select({ id: workspace.id, name: workspace.name, createdAt: workspace.createdAt })
    .from(workspace)
    .where(keysetRange(workspace.id, page))
    .orderBy(keysetOrder(workspace.id, page))
    .limit(page.limit)
}

export type HistoricWorkspace = Awaited<ReturnType<typeof listWorkspaces>>[number]

/** `isStopped`: those that have ended as they should, or the others; not given: all that are still known. */
export async function listWorkers(
  handle: Handle,
  options: { readonly page: KeysetPage; readonly isStopped: boolean | null },
) {
  const { page, isStopped } = options
  return await handle.orm
    .select({
      id: worker.id,
      host: worker.host,
      pid: worker.pid,
      startedAt: worker.startedAt,
      beatAt: worker.beatAt,
      stoppedAt: worker.stoppedAt,
      silentMs: sql<number>`greatest(0, floor(extract(epoch from now() - ${worker.beatAt}) * 1000))::float8`,
    })
    .from(worker)
    .where(
      and(keysetRange(worker.id, page), isStopped === null ? undefined : hasStopped(isStopped)),
    )
    .orderBy(keysetOrder(worker.id, page))
    .limit(page.limit)
}

export type HistoricWorker = Awaited<ReturnType<typeof listWorkers>>[number]

function hasStopped(isStopped: boolean): SQL {
  return isStopped ? isNotNull(worker.stoppedAt) : isNull(worker.stoppedAt)
}

/** The queue of all workspaces at this moment. */
export interface QueueFigures {
  /** Queued, also those that wait for their next attempt. */
  readonly queued: number
  /** Queued runs whose time has come: a worker could take them. */
  readonly due: number
  readonly running: number
  /** Since when the oldest of those that are due is due; null: none is. */
  readonly oldestDueAt: Instant | null
  /** Workspaces that have a run which is due. */
  readonly waitingWorkspaces: number
}

type QueueRow = Omit<QueueFigures, 'oldestDueAt'> & { readonly oldestDueAtMs: number | null }

export async function readQueue(handle: Handle): Promise<QueueFigures> {
  const [row] = await handle.rows<QueueRow>(sql`/* operations.readQueue */
    select count(*) filter (where status = 'queued')::int as queued,
           count(*) filter (where status = 'queued' and due_at <= now())::int as due,
           count(*) filter (where status = 'running')::int as running,
           floor(extract(epoch from min(due_at) filter (where status = 'queued' and due_at <= now())) * 1000)::float8
             as "oldestDueAtMs",
           count(distinct workspace_id) filter (where status = 'queued' and due_at <= now())::int
             as "waitingWorkspaces"
    from run
    where status in ('queued', 'running')`)
  const { oldestDueAtMs = null, ...figures } = row ?? NO_FIGURES
  return { ...figures, oldestDueAt: oldestDueAtMs === null ? null : instantAt(oldestDueAtMs) }
}

const NO_FIGURES: QueueRow = {
  queued: 0,
  due: 0,
  running: 0,
  oldestDueAtMs: null,
  waitingWorkspaces: 0,
}

/** How many runs each of the workers is at. */
export async function countRunsOfWorkers(
  handle: Handle,
  workerIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await handle.rows<{
    id: string
    runs: number
  }>(sql`/* operations.countRunsOfWorkers */
    select worker_id as id, count(*)::int as runs
    from run
    where status = 'running' and ${inArray(sql`worker_id`, [...workerIds])}
    group by worker_id`)
  return new Map(rows.map(({ id, runs }) => [id, runs]))
}
