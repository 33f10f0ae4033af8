/**
 * Checks that run once a slot, across all processes.
 *
 * Invariant: whoever moves a check on from what was seen of it makes it; all others find it moved (I19).
 * Moments are the database's, or those of a test (`now`).
 */
import { sql } from 'drizzle-orm'
import type { TakenCheck } from '../domain/dead-man.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle, Row } from './database.ts'
import { momentOf, msOf, textAt } from './moments.ts'

export interface SeenCheck {
  readonly nowMs: number
  /** Null: it was never made. */
  readonly taken: TakenCheck | null
  /** When a check was last finished, and with what figures; null: none ever was. */
  readonly finished: { readonly atMs: number; readonly figures: JsonObject } | null
}

interface CheckRow extends Row {
  readonly nowMs: number
  readonly slotMs: number | null
  readonly startedMs: number | null
  readonly finishedMs: number | null
  readonly outcome: { readonly atMs: number; readonly figures: JsonObject } | null
}

export async function findCheck(
  db: Handle,
  name: string,
  now: Instant | null = null,
): Promise<SeenCheck> {
  const [row] = await db.rows<CheckRow>(sql`/* watchChecks.findCheck */
    select ${msOf('moment.now')} as "nowMs", ${msOf('slot_at')} as "slotMs",
           ${msOf('started_at')} as "startedMs", ${msOf('finished_at')} as "finishedMs", outcome
    from (select ${momentOf(now)} as now) as moment
    left join watch_check on watch_check.name = ${name}`)
  const { nowMs = 0, slotMs = null, startedMs = null, finishedMs = null } = row ?? {}
  const taken = slotMs === null || startedMs === null ? null : { slotMs, startedMs, finishedMs }
  return { nowMs, taken, finished: row?.outcome ?? null }
}

/** Begins the check of a slot. Null: it has moved on from what was seen. */
export async function takeCheck(
  db: Handle,
  name: string,
  given: { readonly slotMs: number; readonly seen: SeenCheck },
): Promise<TakenCheck | null> {
  const { slotMs, seen } = given
  const { taken, nowMs } = seen
  const rows = await db.rows(sql`/* watchChecks.takeCheck */
    insert into watch_check (name, slot_at, started_at)
    values (${name}, ${textAt(slotMs)}::timestamptz, ${textAt(nowMs)}::timestamptz)
    on conflict (name) do update
    set slot_at = excluded.slot_at, started_at = excluded.started_at, finished_at = null
    where watch_check.slot_at = ${textAt(taken?.slotMs ?? null)}::timestamptz
      and watch_check.started_at = ${textAt(taken?.startedMs ?? null)}::timestamptz
    returning 1 as taken`)
  return rows.length > 0 ? { slotMs, startedMs: nowMs, finishedMs: null } : null
}

/** Notes what came of a check. False: another process has taken it over meanwhile. */
export async function finishCheck(
  db: Handle,
  name: string,
  given: {
    readonly taken: TakenCheck
    readonly figures: JsonObject
    readonly now: Instant | null
  },
): Promise<boolean> {
  const { taken, figures, now } = given
  const rows = await db.rows(sql`/* watchChecks.finishCheck */
    update watch_check
    set finished_at = moment.now,
        outcome = jsonb_build_object('atMs', ${msOf('moment.now')},
                                     'figures', ${JSON.stringify(figures)}::text::jsonb)
    from (select ${momentOf(now)} as now) as moment
    where name = ${name} and slot_at = ${textAt(taken.slotMs)}::timestamptz
      and started_at = ${textAt(taken.startedMs)}::timestamptz and finished_at is null
    returning 1 as finished`)
  return rows.length > 0
}
