/**
 * Alerts: raised, closed, and written down for each channel that is to be told.
 *
 * Invariants: an incident has one open alert, which a unique index decides, so no process needs to know what
 * the others saw; what is to be sent is stored with the alert itself, in the transaction of what it tells of.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { AlertChannel, NewAlert } from '../domain/alert.ts'
import type { Handle } from './database.ts'

/** Opens an incident's alert. False: one is open already, and nobody is told again. */
export async function raiseAlert(
  db: Handle,
  alert: NewAlert,
  channels: readonly AlertChannel[],
): Promise<boolean> {
  const rows = await db.rows(sql`/* alerts.raiseAlert */
    with raised as (
      insert into alert (id, workspace_id, audience, severity, kind, incident, sync_id, run_id, title,
                         message, facts)
      values (${alert.id}::uuid, ${alert.workspaceId}::uuid, ${alert.audience}, ${alert.severity},
              ${alert.kind}, ${alert.incident}, ${alert.syncId}::uuid, ${alert.runId}::uuid,
              ${alert.title}, ${alert.message}, ${JSON.stringify(alert.facts)}::text::jsonb)
      on conflict (incident) where closed_at is null do nothing
      returning id
    ),
    noticed as (
      insert into alert_notice (alert_id, event, channel)
      select raised.id, 'opened', channel
      from raised
      cross join unnest(${`{${channels.join(',')}}`}::text::text[]) as channel
    )
    select 1 from raised`)
  return rows.length > 0
}

/** Closes an incident's open alert; who was told that it opened is told that it is over. False: none is open. */
export async function closeIncident(
  db: Handle,
  incident: string,
  /** Why it is over, as one sentence. */
  closing: string,
): Promise<boolean> {
  const rows = await db.rows(sql`/* alerts.closeIncident */
    with closed as (${closeAlert(sql`${incident}`, { closing })}),
    noticed as (${noticeClosing(sql`closed`)})
    select 1 from closed`)
  return rows.length > 0
}

/** Part of a statement: closes the open alert of an incident, which may be told by the rows of `of`. */
export function closeAlert(
  incident: SQL,
  { closing, of }: { readonly closing: string; readonly of?: SQL },
): SQL {
  return sql`
    update alert
    set closed_at = now(), closing = ${closing}
    ${of ? sql`from ${of}` : sql``}
    where alert.incident = ${incident} and alert.closed_at is null
    returning alert.id`
}

/** Part of a statement: what is sent of the alerts that it has closed. */
export function noticeClosing(closed: SQL): SQL {
  return sql`
    insert into alert_notice (alert_id, event, channel)
    select closed.id, 'closed', opened.channel
    from ${closed} as closed
    join alert_notice as opened on opened.alert_id = closed.id and opened.event = 'opened'`
}

/** False: it was acknowledged before. Null: who asks sees no such alert. */
export async function acknowledge(
  db: Handle,
  alertId: string,
  by: {
    readonly workspaceId: string
    readonly isTajo: boolean
    /** The name of the token. */
    readonly tokenName: string
  },
): Promise<boolean | null> {
  const [row] = await db.rows<{ readonly isNew: boolean }>(sql`/* alerts.acknowledge */
    with seen as (
      select id
      from alert
      where id = ${alertId}::uuid
        and ((audience = 'workspace' and workspace_id = ${by.workspaceId}::uuid)
             or (audience = 'tajo' and ${by.isTajo}::boolean))
    ),
    acknowledged as (
      update alert
      set acknowledged_at = now(), acknowledged_by = ${by.tokenName}
      from seen
      where alert.id = seen.id and alert.acknowledged_at is null
      returning alert.id
    )
    select exists (select from acknowledged) as "isNew" from seen`)
  return row?.isNew ?? null
}
