/**
 * When syncs run by themselves: the slot that comes next, and its firing.
 *
 * Invariants: a slot is fired by whoever moves it on, in one statement with the run that it starts, so
 * exactly once across any number of processes (I14), and so is one that is refused, in one transaction with the
 * failed run that tells of it; nothing is fired for a sync that is not active; rows are locked in the order
 * sync, schedule, run, and without waiting (so slots of many syncs can go in one statement): what somebody else
 * holds is found again at the next look. The database's clock says what is due; a test may set it (`now`).
 */
import { sql } from 'drizzle-orm'
import type { Failure } from '../domain/failure.ts'
import type { JsonObject } from '../domain/json.ts'
import type { RunProgress } from '../domain/progress.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import { readSchedule, type Slots } from '../domain/schedule.ts'
import type { SyncStatus } from '../domain/sync.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle, Row } from './database.ts'
import { msOf, textAt } from './moments.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'

interface SlotsRow extends Row {
  readonly nowMs: number
  readonly schedule: JsonObject | null
  readonly anchorMs: number | null
  readonly slotMs: number | null
}

/** The slots of a sync whose row is held, and what time it is. `slots` is null where it never had a schedule. */
export async function findSlots(
  tx: Handle,
  syncId: string,
  now: Instant | null = null,
): Promise<{ readonly slots: Slots | null; readonly nowMs: number }> {
  const [row] = await tx.rows<SlotsRow>(sql`/* schedules.findSlots */
    select ${msOf('moment.now')} as "nowMs", schedule, ${msOf('anchor_at')} as "anchorMs",
           ${msOf('slot_at')} as "slotMs"
    from (select coalesce(${toText(now)}::timestamptz, now()) as now) as moment
    left join sync_schedule on sync_schedule.sync_id = ${syncId}`)
  const { nowMs = 0, anchorMs = null, slotMs = null } = row ?? {}
  const slots =
    anchorMs === null ? null : { schedule: readSchedule(row?.schedule), anchorMs, slotMs }
  return { slots, nowMs }
}

/** Keeps the slots of a sync whose row is held. */
export async function storeSlots(tx: Handle, syncId: string, slots: Slots): Promise<void> {
  const schedule = slots.schedule === null ? null : JSON.stringify(slots.schedule)
  await tx.rows(sql`/* schedules.storeSlots */
    insert into sync_schedule (sync_id, schedule, anchor_at, slot_at)
    values (${syncId}, ${schedule}::text::jsonb, ${textAt(slots.anchorMs)}::timestamptz,
            ${textAt(slots.slotMs)}::timestamptz)
    on conflict (sync_id) do update
    set schedule = excluded.schedule, anchor_at = excluded.anchor_at, slot_at = excluded.slot_at`)
}

/** A slot whose time has come. */
export type DueSlot = {
  readonly syncId: string
  /** As it was stored: whoever cannot read it has one sync's trouble, and not all of theirs. */
  readonly schedule: JsonObject | null
  readonly anchorMs: number
  readonly slotMs: number
  /** When this was read. */
  readonly nowMs: number
  /** The name of a tool of the published version that is not connected; null: both are, or the sync is not active. */
  readonly missingTool: string | null
}

/** A test of a draft is in flight. It does not do what the slot is for, so the slot waits for its end. */
const IS_TESTED = sql`exists (
  select from run
  where run.sync_id = sync_schedule.sync_id and run.status in ('queued', 'running')
    and run.cause = 'test')`

/** The slots that are due, the oldest first, behind `after` where one is given. Nothing is held. */
export async function listDueSlots(
  db: Handle,
  options: {
    readonly limit: number
    readonly now: Instant | null
    readonly after: DueSlot | null
  },
): Promise<readonly DueSlot[]> {
  const now = toText(options.now)
  const isBehind =
    options.after === null
      ? sql`true`
      : sql`(slot_at, sync_id) > (${textAt(options.after.slotMs)}::timestamptz,
              ${options.after.syncId}::uuid)`
  return await db.rows<DueSlot>(sql`/* schedules.listDueSlots */
    select due.sync_id as "syncId", due.schedule, ${msOf('due.anchor_at')} as "anchorMs",
           ${msOf('due.slot_at')} as "slotMs", ${msOf('due.now')} as "nowMs",
           missing.name as "missingTool"
    from (select sync_schedule.*, moment.now
          from (select coalesce(${now}::timestamptz, now()) as now) as moment
          join sync_schedule on sync_schedule.slot_at <= moment.now
          where ${isBehind} and not ${IS_TESTED}
          order by slot_at, sync_id
          limit ${options.limit}) as due
    join sync on sync.id = due.sync_id
    left join lateral (${MISSING_TOOL}) as missing on sync.status = 'active'
    order by due.slot_at, due.sync_id`)
}

/** Of the version of `sync` that is published, the source first: what a run of it would find missing. */
const MISSING_TOOL = sql`
  select connection.name
  from publication
  join sync_version as version
    on version.sync_id = publication.sync_id and version.digest = publication.version_digest
  join connection
    on connection.id in ((version.config ->> 'sourceConnectionId')::uuid,
                         (version.config ->> 'destinationConnectionId')::uuid)
  where publication.id = sync.publication_id and connection.disconnected_at is not null
  order by connection.id::text = version.config ->> 'sourceConnectionId' desc
  limit 1`

/** A slot to fire: the run that it may start, and the slot after it. */
export interface FiredSlot {
  readonly runId: string
  readonly syncId: string
  readonly slotMs: number
  readonly nextSlotMs: number | null
  readonly isCatchingUp: boolean
}

export type FireResult = { readonly syncId: string } & (
  | { readonly kind: 'started'; readonly progress: RunProgress }
  /** A run of the sync is queued or running: this slot is counted, and starts nothing. */
  | { readonly kind: 'coalesced' }
  /** The sync is not active: its slots rest until it is. */
  | { readonly kind: 'rested' }
)

type FireRow = Partial<ProgressRow> &
  Row & { readonly movedSyncId: string; readonly syncStatus: SyncStatus }

/**
 * Fires slots of different syncs, and moves each on to its next one. Those that are missing in the answer
 * somebody else has fired, or is at, or holds their sync. The insert decides by the unique index whether a
 * run is in flight, whatever this statement's snapshot says.
 */
export async function fireSlots(
  db: Handle,
  slots: readonly FiredSlot[],
): Promise<readonly FireResult[]> {
  const asked = JSON.stringify(
    slots.map(({ slotMs, nextSlotMs, ...slot }) => ({
      ...slot,
      slotAt: textAt(slotMs),
      nextSlotAt: textAt(nextSlotMs),
    })),
  )
  const rows = await db.rows<FireRow>(sql`/* schedules.fireSlots */
    with due as (
      select asked."runId" as run_id, asked."slotAt" as slot_at, asked."nextSlotAt" as next_slot_at,
             asked."isCatchingUp" as is_catching_up, held_sync.*
      from jsonb_to_recordset(${asked}::text::jsonb)
        as asked ("runId" uuid, "syncId" uuid, "slotAt" timestamptz, "nextSlotAt" timestamptz,
                  "isCatchingUp" boolean)
      cross join lateral (
        select id, workspace_id, status, publication_id
        from sync
        where id = asked."syncId"
        for share skip locked) as held_sync
      cross join lateral (
        select sync_id
        from sync_schedule
        where sync_id = held_sync.id and slot_at = asked."slotAt" and not ${IS_TESTED}
        for no key update skip locked) as held_schedule
    ),
    started as (
      insert into run (id, workspace_id, sync_id, publication_id, cause, is_catching_up,
                       attempt_allowance)
      select run_id, workspace_id, id, publication_id, 'schedule', is_catching_up,
             ${ATTEMPT_ALLOWANCE}::integer
      from due
      where status = 'active'
      on conflict do nothing
      returning ${PROGRESS_COLUMNS}
    ),
    moved as (
      update sync_schedule
      set slot_at = case when due.status = 'active' then due.next_slot_at end,
          fired_at = case when started."runId" is null then fired_at else due.slot_at end,
          coalesced = coalesced + (due.status = 'active' and started."runId" is null)::integer
      from due
      left join started on started."runId" = due.run_id
      where sync_schedule.sync_id = due.id
      returning due.id, due.status
    )
    select moved.id as "movedSyncId", moved.status as "syncStatus", started.*
    from moved
    left join started on started."syncId" = moved.id`)
  return rows.map(toFireResult)
}

/** A slot at which no run is queued: the one that is recorded instead, which has failed, and the slot after it. */
export interface RefusedSlot {
  readonly runId: string
  readonly syncId: string
  readonly slotMs: number
  readonly nextSlotMs: number | null
  readonly isCatchingUp: boolean
  readonly failure: Failure
}

/**
 * Holds the sync of a slot and its schedule. Null: somebody else has fired the slot, or holds either, so that
 * it is found again at the next look. `missingTool`: as {@link DueSlot} has it.
 */
export async function holdSlot(
  tx: Handle,
  slot: Pick<RefusedSlot, 'syncId' | 'slotMs'>,
): Promise<{ readonly syncStatus: SyncStatus; readonly missingTool: string | null } | null> {
  const [row] = await tx.rows<{
    syncStatus: SyncStatus
    missingTool: string | null
  }>(sql`/* schedules.holdSlot */
    select sync.status as "syncStatus", missing.name as "missingTool"
    from (select id, status, publication_id
          from sync
          where id = ${slot.syncId}
          for no key update skip locked) as sync
    cross join lateral (
      select sync_id
      from sync_schedule
      where sync_id = sync.id and slot_at = ${textAt(slot.slotMs)}::timestamptz and not ${IS_TESTED}
      for no key update skip locked) as held_schedule
    left join lateral (${MISSING_TOOL}) as missing on sync.status = 'active'`)
  return row ?? null
}

/**
 * – → failed, before any worker could see it, and the slot of a sync that is held moves on. Null: it is coalesced,
 * as a run of the sync is queued or running, or rests, as the sync is not active.
 */
export async function refuseSlot(tx: Handle, slot: RefusedSlot): Promise<RunProgress | null> {
  const { runId, syncId, isCatchingUp } = slot
  const { code, step, subject, detail } = slot.failure
  const [row] = await tx.rows<ProgressRow>(sql`/* schedules.refuseSlot */
    with refused as (
      insert into run (id, workspace_id, sync_id, publication_id, cause, is_catching_up,
                       attempt_allowance, status, finished_at, failure_code, failure_step,
                       failure_subject, failure_detail)
      select ${runId}::uuid, workspace_id, id, publication_id, 'schedule', ${isCatchingUp}::boolean,
             ${ATTEMPT_ALLOWANCE}::integer, 'failed', now(), ${code}, ${step}, ${subject}, ${detail}
      from sync
      where id = ${syncId} and status = 'active'
        and not exists (
          select from run
          where run.sync_id = sync.id and run.status in ('queued', 'running'))
      returning ${PROGRESS_COLUMNS}
    ),
    moved as (
      update sync_schedule
      set slot_at = case when sync.status = 'active'
                         then ${textAt(slot.nextSlotMs)}::timestamptz end,
          coalesced = coalesced
            + (sync.status = 'active' and not exists (select from refused))::integer
      from sync
      where sync.id = ${syncId} and sync_schedule.sync_id = sync.id
    )
    select * from refused`)
  return row ? toProgress(row) : null
}

function toFireResult(row: FireRow): FireResult {
  const { movedSyncId: syncId, syncStatus } = row
  if (isProgressRow(row)) {
    return { syncId, kind: 'started', progress: toProgress(row) }
  }
  return { syncId, kind: syncStatus === 'active' ? 'coalesced' : 'rested' }
}

function isProgressRow(row: FireRow): row is FireRow & ProgressRow {
  return typeof row.runId === 'string'
}

function toText(instant: Instant | null): string | null {
  return instant?.toISOString() ?? null
}
