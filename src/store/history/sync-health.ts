/** What the health of syncs is told from, as people see it: one statement for all that are asked for. */
import { type SQL, sql } from 'drizzle-orm'
import type { FailureCode, Step } from '../../domain/failure.ts'
import type { JsonObject } from '../../domain/json.ts'
import { readSchedule } from '../../domain/schedule.ts'
import type { PauseCause } from '../../domain/sync.ts'
import type { SyncHealthFacts } from '../../domain/sync-health.ts'
import type { Handle, Row } from '../database.ts'
import { msOf } from '../moments.ts'

export type HealthOfSync = SyncHealthFacts & { readonly syncId: string }

interface HealthRow extends Row {
  readonly syncId: string
  readonly nowMs: number
  readonly pauseCause: PauseCause | null
  readonly pauseReason: string | null
  readonly pausedMs: number | null
  readonly activatedMs: number
  readonly schedule: JsonObject | null
  readonly anchorMs: number | null
  readonly aliveMs: number | null
  readonly partialSinceMs: number | null
  readonly refusedName: string | null
  readonly refusedMs: number | null
  readonly failedFirstMs: number | null
  readonly failureCode: FailureCode | null
  readonly failureStep: Step | null
  readonly failureSubject: string | null
  readonly failureDetail: string | null
  readonly inFlightStatus: 'queued' | 'running' | null
  readonly dueMs: number | null
  readonly startedMs: number | null
  readonly progressMs: number | null
}

/** The last runs of a sync that are looked through for one that came through. */
const MAX_RUNS_BACK = 1_000

/** Of the given syncs those of the workspace that were ever published (I13). */
export async function findHealthFacts(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
): Promise<readonly HealthOfSync[]> {
  const rows = await handle.rows<HealthRow>(sql`/* history.findHealthFacts */
    select sync.id as "syncId", ${msOf('now()')} as "nowMs", sync.pause_cause as "pauseCause",
           sync.pause_reason as "pauseReason", ${msOf('sync.paused_at')} as "pausedMs",
           ${msOf('active.since')} as "activatedMs", version.config -> 'schedule' as schedule,
           ${msOf('sync_schedule.anchor_at')} as "anchorMs", ${msOf('alive.finished_at')} as "aliveMs",
           ${msOf('first_partial.finished_at')} as "partialSinceMs",
           refused.name as "refusedName", ${msOf('refused.refused_at')} as "refusedMs",
           ${msOf('first_failed.finished_at')} as "failedFirstMs",
           failed.failure_code as "failureCode", failed.failure_step as "failureStep",
           failed.failure_subject as "failureSubject", failed.failure_detail as "failureDetail",
           in_flight.status as "inFlightStatus", ${msOf('in_flight.due_at')} as "dueMs",
           ${msOf('in_flight.started_at')} as "startedMs",
           ${msOf('in_flight.progress_at')} as "progressMs"
    from jsonb_array_elements_text(${JSON.stringify(syncIds)}::text::jsonb) as asked (id)
    join sync on sync.id = asked.id::uuid and sync.workspace_id = ${workspaceId}::uuid
    join publication on publication.id = sync.publication_id
    join sync_version as version
      on version.sync_id = sync.id and version.digest = publication.version_digest
    left join sync_schedule on sync_schedule.sync_id = sync.id
    cross join lateral (
      select coalesce(sync.activated_at, publication.published_at) as since) as active
    left join lateral (
      select name, refused_at
      from connection
      where connection.id in ((version.config ->> 'sourceConnectionId')::uuid,
                              (version.config ->> 'destinationConnectionId')::uuid)
        and connection.workspace_id = sync.workspace_id
        and refused_at is not null and disconnected_at is null
      order by refused_at
      limit 1) as refused on true
    left join lateral (${newestRun(sql`('succeeded', 'partial', 'failed')`)}) as newest on true
    left join lateral (${newestRun(sql`('succeeded', 'partial')`)}) as alive on true
    left join run as failed
      on failed.id = newest.id and failed.status = 'failed' and failed.finished_at >= active.since
    left join lateral (
      select finished_at
      from run
      where failed.id is not null and run.sync_id = sync.id and run.status = 'failed'
        and run.cause <> 'test'
        and (run.finished_at, run.id) <= (failed.finished_at, failed.id)
        and (alive.id is null or (run.finished_at, run.id) > (alive.finished_at, alive.id))
        and run.finished_at >= active.since
      order by run.finished_at, run.id
      limit 1) as first_failed on true
    left join lateral (${newestRun(sql`('succeeded')`)}) as whole on alive.status = 'partial'
    left join lateral (
      select min(recent.finished_at) as finished_at
      from (${RECENT_RUNS}) as recent
      where recent.status = 'partial'
        and (whole.id is null or (recent.finished_at, recent.id) > (whole.finished_at, whole.id))
    ) as first_partial on alive.status = 'partial'
    left join run as in_flight
      on in_flight.sync_id = sync.id and in_flight.status in ('queued', 'running')
        and in_flight.cause <> 'test'`)
  return rows.map(toFacts)
}

/** By the database's clock: ids begin with that of the process that made them. */
const RECENT_RUNS = sql`
  select id, status, finished_at
  from run
  where run.sync_id = sync.id and run.finished_at is not null and run.cause <> 'test'
  order by run.finished_at desc, run.id desc
  limit ${MAX_RUNS_BACK}`

/** Walks back from the run that ended last, and so no further than to the one that it finds. */
function newestRun(statuses: SQL): SQL {
  return sql`
    select id, status, finished_at
    from (${RECENT_RUNS}) as recent
    where status in ${statuses}
    order by finished_at desc, id desc
    limit 1`
}

function toFacts(row: HealthRow): HealthOfSync {
  const { syncId, nowMs, activatedMs, aliveMs, partialSinceMs } = row
  return {
    syncId,
    nowMs,
    activatedMs,
    pause: toPause(row),
    slots: toSlots(row),
    lastAlive: aliveMs === null ? null : { finishedMs: aliveMs, partialSinceMs },
    refused: toRefused(row),
    failures: toFailures(row),
    inFlight: toInFlight(row),
  }
}

function toPause({ pauseCause, pauseReason, pausedMs, activatedMs }: HealthRow) {
  return pauseCause === null
    ? null
    : { cause: pauseCause, reason: pauseReason, sinceMs: pausedMs ?? activatedMs }
}

function toSlots({ schedule: stored, anchorMs }: HealthRow): SyncHealthFacts['slots'] {
  const schedule = readSchedule(stored)
  return schedule === null || anchorMs === null ? null : { schedule, anchorMs }
}

function toRefused({ refusedName, refusedMs }: HealthRow): SyncHealthFacts['refused'] {
  return refusedName === null || refusedMs === null
    ? null
    : { connectionName: refusedName, sinceMs: refusedMs }
}

function toFailures(row: HealthRow): SyncHealthFacts['failures'] {
  const { failureCode: code, failureStep: step, failureSubject: subject, failedFirstMs } = row
  return code === null || failedFirstMs === null
    ? null
    : { firstMs: failedFirstMs, last: { code, step, subject, detail: row.failureDetail } }
}

function toInFlight(row: HealthRow): SyncHealthFacts['inFlight'] {
  const { inFlightStatus: status, nowMs, dueMs, startedMs, progressMs } = row
  switch (status) {
    case null:
      return null
    case 'queued':
      return { status, dueMs: dueMs ?? nowMs }
    case 'running':
      return { status, startedMs: startedMs ?? nowMs, progressMs: progressMs ?? nowMs }
  }
}
