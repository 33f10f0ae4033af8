/** How runs are linked by retries. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import type { RunCause, RunStatus } from '../domain/run.ts'
import type { Handle } from './database.ts'
import { run } from './schema.ts'

export interface RetriedRun {
  readonly id: string
  readonly syncId: string
  readonly status: RunStatus
  readonly cause: RunCause
  /** The succeeded retry that took it out of the DLQ. */
  readonly resolvedByRunId: string | null
}

export async function findRetriedRun(
  handle: Handle,
  workspaceId: string,
  id: string,
): Promise<RetriedRun | null> {
  const found = await handle.orm
    .select({
      id: run.id,
      syncId: run.syncId,
      status: run.status,
      cause: run.cause,
      resolvedByRunId: run.resolvedByRunId,
    })
    .from(run)
    .where(and(eq(run.workspaceId, workspaceId), eq(run.id, id)))
  return found[0] ?? null
}

/** The sync of each of the runs that the workspace has. */
export async function findSyncsOfRuns(
  handle: Handle,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await handle.orm
    .select({ id: run.id, syncId: run.syncId })
    .from(run)
    .where(and(eq(run.workspaceId, workspaceId), inArray(run.id, [...ids])))
  return new Map(found.map(({ id, syncId }) => [id, syncId]))
}

/** The last of the chain of retries that starts with the run; null: none counts. One that was canceled does not. */
export async function findLatestRetry(
  handle: Handle,
  runId: string,
): Promise<{ id: string } | null> {
  const [latest] = await handle.rows<{ id: string }>(sql`/* retries.findLatestRetry */
    with recursive retry (id, depth) as (
      select id, 1
      from run
      where retry_of = ${runId} and status <> 'canceled'
      union all
      select later.id, retry.depth + 1
      from retry
      join run as later on later.retry_of = retry.id and later.status <> 'canceled'
    )
    select id
    from retry
    order by depth desc
    limit 1`)
  return latest ?? null
}
