/** Runs as people see them, one by one; run-pages.ts lists them. Every read names the workspace (I13). */
import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import type { RunProgress } from '../../domain/progress.ts'
import type { Handle } from '../database.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from '../run-progress.ts'
import { run } from '../schema.ts'

export const RUN_COLUMNS = {
  id: run.id,
  syncId: run.syncId,
  status: run.status,
  cause: run.cause,
  requestedBy: run.requestedBy,
  isCatchingUp: run.isCatchingUp,
  dueAt: run.dueAt,
  attemptAllowance: run.attemptAllowance,
  claims: run.claims,
  startedAt: run.startedAt,
  progressAt: run.progressAt,
  finishedAt: run.finishedAt,
  createdAt: run.createdAt,
  read: run.read,
  written: run.written,
  replayed: run.replayed,
  rejected: run.rejected,
  inDoubt: run.inDoubt,
  quarantined: run.quarantined,
  skipped: run.skipped,
  totalRecords: run.totalRecords,
  failureCode: run.failureCode,
  failureStep: run.failureStep,
  failureSubject: run.failureSubject,
  failureDetail: run.failureDetail,
  cancelRequestedAt: run.cancelRequestedAt,
  cancelRequestedBy: run.cancelRequestedBy,
  cancelReason: run.cancelReason,
  retryOf: run.retryOf,
  resolvedAt: run.resolvedAt,
  resolvedByRunId: run.resolvedByRunId,
  /** Milliseconds from its first claim to its end, or until now; null: no worker has taken it. */
  durationMs: sql<number | null>`floor(extract(epoch from
    coalesce(${run.finishedAt}, now()) - ${run.startedAt}) * 1000)::float8`,
  /** Milliseconds since it last reported progress; null: it never did. */
  silentMs: sql<number | null>`floor(extract(epoch from
    now() - ${run.progressAt}) * 1000)::float8`,
}

export async function findRunsByIds(handle: Handle, workspaceId: string, ids: readonly string[]) {
  return await selectRuns(handle).where(
    and(eq(run.workspaceId, workspaceId), inArray(run.id, [...ids])),
  )
}

function selectRuns(handle: Handle) {
  return handle.orm.select(RUN_COLUMNS).from(run)
}

export type HistoricRun = Awaited<ReturnType<typeof findRunsByIds>>[number]

/** The newest run of each of the syncs that has one. */
export async function findLastRuns(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
) {
  return await handle.orm
    .selectDistinctOn([run.syncId], RUN_COLUMNS)
    .from(run)
    .where(
      and(
        eq(run.workspaceId, workspaceId),
        inArray(run.syncId, [...syncIds]),
        ne(run.cause, 'test'),
      ),
    )
    .orderBy(run.syncId, sql`${run.id} desc`)
}

/** The newest run that succeeded, was partial or failed, of each of the syncs that has one. */
export async function findLastEndedRuns(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
) {
  const rows = await handle.rows<{ id: string }>(sql`/* history.findLastEndedRuns */
    select last.id
    from unnest(${`{${syncIds.join(',')}}`}::text::uuid[]) as asked (sync_id)
    cross join lateral (
      select run.id
      from run
      where run.sync_id = asked.sync_id and run.workspace_id = ${workspaceId}
        and run.status in ('succeeded', 'partial', 'failed') and run.cause <> 'test'
      order by run.id desc
      limit 1) as last`)
  return await findRunsByIds(
    handle,
    workspaceId,
    rows.map(({ id }) => id),
  )
}

/** The runs that retry one of the given runs; a canceled retry does not count. */
export async function findRetries(handle: Handle, workspaceId: string, runIds: readonly string[]) {
  return await selectRuns(handle).where(
    and(
      eq(run.workspaceId, workspaceId),
      inArray(run.retryOf, [...runIds]),
      ne(run.status, 'canceled'),
    ),
  )
}

/** Where a run stands, and for how long it has reported nothing; null: the workspace has no such run. */
export async function findProgress(
  handle: Handle,
  workspaceId: string,
  runId: string,
): Promise<{ readonly progress: RunProgress; readonly silentMs: number | null } | null> {
  const [row] = await handle.rows<
    ProgressRow & { readonly silentMs: number | null }
  >(sql`/* history.findProgress */
    select ${PROGRESS_COLUMNS},
           floor(extract(epoch from now() - run.progress_at) * 1000)::float8 as "silentMs"
    from run
    where run.id = ${runId} and run.workspace_id = ${workspaceId}`)
  return row ? { progress: toProgress(row), silentMs: row.silentMs } : null
}
