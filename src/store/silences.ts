/**
 * What the watchmen ask of workspaces: whether anything of theirs has succeeded, and whether runs wait that
 * nobody takes. Nothing is held; pages of workspaces are walked by their ids, so that each statement is short
 * however many there are.
 */
import { sql } from 'drizzle-orm'
import { silenceIncident } from '../domain/alert.ts'
import type { WorkspaceFacts } from '../domain/dead-man.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle } from './database.ts'
import { momentOf, msOf, textAt } from './moments.ts'

export type AskedWorkspace = WorkspaceFacts & {
  readonly workspaceId: string
  readonly activeSyncs: number
}

export interface WorkspaceRange {
  /** The last workspace of the page before; null: from the beginning. */
  readonly after: string | null
  readonly limit: number
}

/** The next workspaces, in the order of their ids, with what the dead-man check asks of them. */
export function listWorkspaceFacts(
  db: Handle,
  { after, limit }: WorkspaceRange,
): Promise<readonly AskedWorkspace[]> {
  return db.rows<AskedWorkspace>(sql`/* silences.listWorkspaceFacts */
    select asked.id as "workspaceId", active.syncs as "activeSyncs",
           ${msOf('active.since')} as "activeSinceMs",
           ${msOf('succeeded.finished_at')} as "lastSucceededMs",
           ${msOf('newest.created_at')} as "lastRunMs", ${msOf('last.ended_at')} as "lastEndedMs",
           last.in_flight as "runsInFlight", ${msOf('alert.opened_at')} as "alertedMs"
    from (select id
          from workspace
          where ${after}::uuid is null or id > ${after}::uuid
          order by id
          limit ${limit}) as asked
    cross join lateral (
      select count(*)::integer as syncs, min(coalesce(activated_at, created_at)) as since
      from sync
      where workspace_id = asked.id and status = 'active') as active
    left join lateral (
      select finished_at
      from run
      where workspace_id = asked.id and status = 'succeeded' and cause <> 'test'
      order by finished_at desc
      limit 1) as succeeded on true
    left join lateral (
      select created_at
      from run
      where workspace_id = asked.id and cause <> 'test'
      order by id desc
      limit 1) as newest on true
    cross join lateral (
      -- A sync at a time, by the indexes of its runs: run_finished and run_in_flight.
      select max(ended.finished_at) as ended_at, count(in_flight.id)::integer as in_flight
      from sync
      left join lateral (
        select finished_at
        from run
        where sync_id = sync.id and finished_at is not null and cause <> 'test'
        order by finished_at desc
        limit 1) as ended on true
      left join run as in_flight
        on in_flight.sync_id = sync.id and in_flight.status in ('queued', 'running')
          and in_flight.cause <> 'test'
      where sync.workspace_id = asked.id) as last
    left join alert on alert.incident = ${silenceIncident('')}::text || asked.id
      and alert.closed_at is null
    order by asked.id`)
}

export type StuckQueue = {
  readonly workspaceId: string
  readonly waitingRuns: number
  readonly oldestRunId: string
  readonly oldestDueMs: number
}

/**
 * The next workspaces with runs that have been due since before `overdueMs` and that nobody has claimed. Not
 * those of which a run has succeeded since (the queue moves, however slowly), nor those whose silence is known.
 */
export function listStuckQueues(
  db: Handle,
  { after, limit, overdueMs }: WorkspaceRange & { readonly overdueMs: number },
): Promise<readonly StuckQueue[]> {
  const overdueAt = textAt(overdueMs)
  return db.rows<StuckQueue>(sql`/* silences.listStuckQueues */
    select workspace_id as "workspaceId", count(*)::integer as "waitingRuns",
           (array_agg(id order by due_at, id))[1] as "oldestRunId",
           ${msOf('min(due_at)')} as "oldestDueMs"
    from run
    where status = 'queued' and due_at <= ${overdueAt}::timestamptz and cause <> 'test'
      and (${after}::uuid is null or workspace_id > ${after}::uuid)
      and not exists (
        select from run as succeeded
        where succeeded.workspace_id = run.workspace_id and succeeded.status = 'succeeded'
          and succeeded.cause <> 'test' and succeeded.finished_at > ${overdueAt}::timestamptz)
      and not exists (
        select from alert
        where alert.incident = ${silenceIncident('')}::text || run.workspace_id
          and alert.closed_at is null)
    group by workspace_id
    order by workspace_id
    limit ${limit}`)
}

/** What time it is, by the database's clock or as a test says. */
export async function readMoment(db: Handle, now: Instant | null): Promise<number> {
  const [row] = await db.rows<{ nowMs: number }>(sql`/* silences.readMoment */
    select ${msOf('moment.now')} as "nowMs"
    from (select ${momentOf(now)} as now) as moment`)
  return row?.nowMs ?? 0
}
