/**
 * What has become of the runs of a workspace or a sync since somebody looked last (I13).
 *
 * Invariant: no end of a run is missed, however late its transaction commits. A look answers with its
 * position: the oldest transaction that was still open. Whatever the look could not see has an id that is
 * not lower, so the next one asks for the runs that ended in that transaction or in a later one, and sees
 * some twice rather than one never. The ids only grow, also across a failover to a replica. Runs in flight
 * are read whole each time, at most one a sync; so a checkpoint notes nothing, and its update stays HOT.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { RunProgress } from '../../domain/progress.ts'
import type { Handle } from '../database.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from '../run-progress.ts'

export interface WatchedRuns {
  readonly workspaceId: string
  /** Null: the runs of all syncs of the workspace. */
  readonly syncId: string | null
}

export interface StandingRun {
  readonly progress: RunProgress
  /** Milliseconds since it last reported progress; null: it never did. */
  readonly silentMs: number | null
}

export interface RunsLook {
  /** Where the next look goes on. */
  readonly position: number
  /** Those that ended first, in the order of their ends, then those in flight, oldest first. */
  readonly runs: readonly StandingRun[]
}

type LookRow = ProgressRow & {
  readonly position: number
  readonly silentMs: number | null
}
type EmptyLook = { readonly position: number; readonly runId: null }

/**
 * The runs in flight and those that have ended since an earlier look; at most `limit` of each. Without an
 * earlier one (null): those whose ends this look sees, and the next one will see again.
 */
export async function lookAtRuns(
  handle: Handle,
  watched: WatchedRuns,
  options: { readonly since: number | null; readonly limit: number },
): Promise<RunsLook> {
  const { since, limit } = options
  const rows = await handle.rows<LookRow | EmptyLook>(sql`/* history.lookAtRuns */
    with seen as materialized (
      select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as position,
             pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next
    ),
    changed as (
      (select ${PROGRESS_COLUMNS}, ${SILENT_MS}, false as is_in_flight, run.ended_in
       from run
       where ${isWatched(watched)}
         and run.ended_in >= coalesce(
           -- A place that was told before a restore is none here.
           case when ${since}::bigint <= (select next from seen) then ${since}::bigint end,
           (select position from seen))
         -- What was restored from another cluster may have ended in a transaction that this one has not come to yet.
         and run.ended_in < (select next from seen)
       order by run.ended_in
       limit ${limit})
      union all
      (select ${PROGRESS_COLUMNS}, ${SILENT_MS}, true as is_in_flight, run.ended_in
       from run
       where ${isWatched(watched)} and run.status in ('queued', 'running')
       order by run.id
       limit ${limit})
    )
    select seen.position, changed.*
    from seen
    left join changed on true
    order by changed.is_in_flight, changed.ended_in, changed."runId"`)
  return {
    position: rows[0]?.position ?? 0,
    runs: rows
      .filter((row): row is LookRow => row.runId !== null)
      .map((row) => ({ progress: toProgress(row), silentMs: row.silentMs })),
  }
}

const SILENT_MS = sql`
  floor(extract(epoch from now() - run.progress_at) * 1000)::float8 as "silentMs"`

function isWatched({ workspaceId, syncId }: WatchedRuns): SQL {
  return syncId === null
    ? sql`run.workspace_id = ${workspaceId}`
    : sql`run.workspace_id = ${workspaceId} and run.sync_id = ${syncId}`
}
