/**
 * When syncs run by themselves: the slot that comes next, and its firing.
 *
 * Invariants: a slot is fired by whoever moves it on, in one statement with the run that it starts, so
 * exactly once across any number of processes (I14); nothing is fired for a sync that is not active;
 * rows are locked in the order sync, schedule, run, and without waiting (so slots of many syncs can go in
 * one statement): what somebody else holds is found again at the next look. The database's clock says what is due; a test may set it (`now`).
 */
import { sql } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { RunProgress } from '../domain/progress.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import { readSchedule, type Schedule, type Slots } from '../domain/schedule.ts'
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
export interface DueSlot {
  readonly syncId: string
  readonly schedule: Schedule
  readonly anchorMs: number
  readonly slotMs: number
  /** When this was read. */
  readonly nowMs: number
}

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
  const rows = await db.rows<Row & { syncId: string } & DueSlotRow>(sql`/* schedules.listDueSlots */
    select sync_id as "syncId", schedule, ${msOf('anchor_at')} as "anchorMs",
           ${msOf('slot_at')} as "slotMs",
           ${msOf('moment.now')} as "nowMs"
    from (select coalesce(${now}::timestamptz, now()) as now) as moment
    join sync_schedule on sync_schedule.slot_at <= moment.now
    where ${isBehind}
    order by slot_at, sync_id
    limit ${options.limit}`)
  return rows.flatMap(({ syncId, schedule, anchorMs, slotMs, nowMs }) => {
    const read = readSchedule(schedule)
    return read === null ? [] : [{ syncId, schedule: read, anchorMs, slotMs, nowMs }]
  })
}

interface DueSlotRow {
  readonly schedule: JsonObject
  readonly anchorMs: number
  readonly slotMs: number
  readonly nowMs: number
}

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
        where sync_id = held_sync.id and slot_at = asked."slotAt"
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
