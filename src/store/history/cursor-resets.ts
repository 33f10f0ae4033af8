/** What a reset of a sync's cursor would mean, as far as the database knows. */
import { sql } from 'drizzle-orm'
import type { JsonObject } from '../../domain/json.ts'
import type { Handle } from '../database.ts'

export type ResetFacts = {
  readonly hasRead: boolean
  readonly runInFlightId: string | null
  readonly totalRecords: number | null
  readonly openPages: number
  readonly heldRecords: number
  readonly quarantinedRecords: number
  readonly inDoubt: number
  /** Milliseconds since 1970: the start of the oldest run whose deliveries still count; null: none does. */
  readonly oldestCountingMs: number | null
  readonly hasExpired: boolean
  /** The versions under which was delivered what still counts. */
  readonly versions: readonly JsonObject[] | null
  /** What the next run executes. */
  readonly current: JsonObject | null
}

/** Null: the workspace has no such sync. */
export async function findResetFacts(
  handle: Handle,
  workspaceId: string,
  options: { readonly syncId: string; readonly retentionMs: number },
): Promise<ResetFacts | null> {
  const { syncId, retentionMs } = options
  const [row] = await handle.rows<ResetFacts>(sql`/* history.findResetFacts */
    with retention as (
      select now() - ${retentionMs}::float8 * interval '1 millisecond' as since
    ),
    delivering as (
      select run.started_at, coalesce(run.finished_at, now()) > retention.since as is_counting,
             retention.since, publication.version_digest
      from run
      cross join retention
      left join publication on publication.id = run.publication_id
      where run.sync_id = ${syncId} and run.written > 0
    )
    select fence.reached is not null
             or exists (select from open_page where sync_id = sync.id) as "hasRead",
           (select id from run where sync_id = sync.id and status in ('queued', 'running'))
             as "runInFlightId",
           (select total_records from run
            where sync_id = sync.id and total_records is not null
            order by id desc
            limit 1) as "totalRecords",
           (select count(*)::int from open_page where sync_id = sync.id) as "openPages",
           (select count(*)::int from held_record
            where sync_id = sync.id and ordinal is null) as "heldRecords",
           (select count(*)::int from held_record
            where sync_id = sync.id and ordinal is not null and ended_at is null) as "quarantinedRecords",
           (select coalesce(sum(cardinality(positions)), 0)::int from delivery_intent
            where sync_id = sync.id and delivery_class = 'none') as "inDoubt",
           (select floor(extract(epoch from min(greatest(started_at, since))) * 1000)::float8
            from delivering where is_counting) as "oldestCountingMs",
           coalesce((select bool_or(started_at <= since) from delivering), false) as "hasExpired",
           (select jsonb_agg(version.config) from sync_version as version
            where version.sync_id = sync.id and version.digest in (
              select version_digest from delivering where is_counting)) as versions,
           version.config as current
    from sync
    join sync_fence as fence on fence.sync_id = sync.id
    left join publication on publication.id = sync.publication_id
    left join sync_version as version
      on version.sync_id = sync.id and version.digest = publication.version_digest
    where sync.id = ${syncId} and sync.workspace_id = ${workspaceId}`)
  return row ?? null
}
