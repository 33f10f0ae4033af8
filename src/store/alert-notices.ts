/**
 * The notices that are due, and what became of them.
 *
 * Invariants: a notice is one process's at a time, and the database alone says whose; whoever lost it changes
 * nothing of it. That an alert is over is told nobody before that it opened was, or was given up.
 */
import { sql } from 'drizzle-orm'
import type { AlertChannel } from '../domain/alert.ts'
import { ALERT_CLAIM_LIFE_MS, type AlertNotice, type NoticedAlert } from '../domain/alert-notice.ts'
import type { Handle } from './database.ts'

export interface ClaimedNotice extends AlertNotice {
  /** Tries begun, this one included: names the claim. */
  readonly tries: number
  /** Since it was written. */
  readonly ageMs: number
}

type ClaimedRow = Omit<ClaimedNotice, 'alert'> &
  Omit<NoticedAlert, 'id'> & { readonly alertId: string }

/**
 * Takes the channel's notice that is due longest. Null: none is due. A claim that ran out, or a try of which
 * nobody knows whether it arrived, has left its mark in `claimed_until`: what comes after it may be a repetition.
 */
export async function claimNotice(
  db: Handle,
  channel: AlertChannel,
): Promise<ClaimedNotice | null> {
  const [row] = await db.rows<ClaimedRow>(sql`/* alert-notices.claimNotice */
    with due as (
      select notice.id, notice.claimed_until is not null as is_repetition
      from alert_notice as notice
      where notice.channel = ${channel} and notice.sent_at is null and notice.given_up_at is null
        and notice.due_at <= now()
        and (notice.claimed_until is null or notice.claimed_until <= now())
        and (notice.event = 'opened' or not exists (
               select from alert_notice as opening
               where opening.alert_id = notice.alert_id and opening.channel = notice.channel
                 and opening.event = 'opened'
                 and opening.sent_at is null and opening.given_up_at is null))
      order by notice.due_at, notice.created_at, notice.id
      limit 1
      for update of notice skip locked
    ),
    claimed as (
      update alert_notice as notice
      set tries = tries + 1,
          claimed_until = now() + ${ALERT_CLAIM_LIFE_MS}::float8 * interval '1 millisecond'
      from due
      where notice.id = due.id
      returning notice.id, notice.alert_id, notice.event, notice.tries, due.is_repetition,
                notice.created_at
    )
    select claimed.id, claimed.event, claimed.tries, claimed.is_repetition as "isRepetition",
           floor(extract(epoch from now() - claimed.created_at) * 1000)::float8 as "ageMs",
           alert.id as "alertId", alert.workspace_id as "workspaceId",
           workspace.name as "workspaceName", alert.audience, alert.severity, alert.kind,
           alert.incident, alert.sync_id as "syncId", sync.name as "syncName",
           alert.run_id as "runId", alert.title, alert.message, alert.facts,
           ${toText('alert.opened_at')} as "openedAt", ${toText('alert.closed_at')} as "closedAt",
           alert.closing
    from claimed
    join alert on alert.id = claimed.alert_id
    join workspace on workspace.id = alert.workspace_id
    left join sync on sync.id = alert.sync_id`)
  if (!row) {
    return null
  }
  const { id, event, tries, isRepetition, ageMs, alertId, ...alert } = row
  return { id, event, tries, isRepetition, ageMs, alert: { ...alert, id: alertId } }
}

function toText(column: string) {
  return sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
}

type Claim = Pick<ClaimedNotice, 'id' | 'tries'>

/** False: the claim was lost, and somebody else has sent it again. */
export async function markNoticeSent(db: Handle, claim: Claim): Promise<boolean> {
  const rows = await db.rows(sql`/* alert-notices.markNoticeSent */
    update alert_notice
    set sent_at = now(), claimed_until = null, last_error = null
    where id = ${claim.id}::uuid and tries = ${claim.tries}::integer
      and sent_at is null and given_up_at is null
    returning id`)
  return rows.length > 0
}

/** False: the claim was lost. */
export async function postponeNotice(
  db: Handle,
  claim: Claim,
  options: {
    readonly waitMs: number
    readonly mayHaveArrived: boolean
    readonly reason: string
  },
): Promise<boolean> {
  const { waitMs, mayHaveArrived, reason } = options
  const rows = await db.rows(sql`/* alert-notices.postponeNotice */
    update alert_notice
    set due_at = now() + ${waitMs}::float8 * interval '1 millisecond',
        claimed_until = case when ${mayHaveArrived}::boolean then now() end,
        last_error = ${reason}
    where id = ${claim.id}::uuid and tries = ${claim.tries}::integer
      and sent_at is null and given_up_at is null
    returning id`)
  return rows.length > 0
}

/** False: the claim was lost. */
export async function giveUpNotice(db: Handle, claim: Claim, reason: string): Promise<boolean> {
  const rows = await db.rows(sql`/* alert-notices.giveUpNotice */
    update alert_notice
    set given_up_at = now(), claimed_until = null, last_error = ${reason}
    where id = ${claim.id}::uuid and tries = ${claim.tries}::integer
      and sent_at is null and given_up_at is null
    returning id`)
  return rows.length > 0
}
