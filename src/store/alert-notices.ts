/**
 * The notices that are due, and what became of them; and which channels there are to send them on.
 *
 * Invariants: a notice is one process's at a time, and the database alone says whose; whoever lost it changes
 * nothing of it. That an alert is over is told nobody before that it opened was, or was given up. A channel is
 * told of every alert that opens or is open while it is there, whatever the process that raised it knew of it.
 */
import { sql } from 'drizzle-orm'
import type { AlertChannel, AlertEvent } from '../domain/alert.ts'
import {
  ALERT_CHANNEL_GONE_AFTER_MS,
  ALERT_CLAIM_LIFE_MS,
  type AlertNotice,
  NOBODY_SENDS,
  type NoticedAlert,
} from '../domain/alert-notice.ts'
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
                notice.remaining, notice.created_at
    )
    select claimed.id, claimed.event, claimed.tries, claimed.is_repetition as "isRepetition",
           claimed.remaining,
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
  const { id, event, tries, isRepetition, remaining, ageMs, alertId, ...alert } = row
  return { id, event, tries, isRepetition, remaining, ageMs, alert: { ...alert, id: alertId } }
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
    /** Null: for whom it was. */
    readonly remaining: readonly string[] | null
    readonly reason: string
  },
): Promise<boolean> {
  const { waitMs, mayHaveArrived, reason } = options
  const remaining = options.remaining && JSON.stringify(options.remaining)
  const rows = await db.rows(sql`/* alert-notices.postponeNotice */
    update alert_notice
    set due_at = date_trunc('milliseconds', now() + ${waitMs}::float8 * interval '1 millisecond'),
        claimed_until = case when ${mayHaveArrived}::boolean then date_trunc('milliseconds', now()) end,
        remaining = coalesce(${remaining}::text::jsonb, remaining), last_error = ${reason}
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

/** So much older than its last mark a channel may look at most: a mark a poll would be a write a poll. */
const SERVED_TO_MS = 60_000

/**
 * Says that this process is ready to send on the channel, and writes the notices that it lacks: who raised the
 * alert may not have known of the channel. A channel that is new is told what is open and not what was over
 * before it came. Of the last days only: what is older would be given up. Returns how many it wrote.
 */
export async function serveChannel(db: Handle, channel: AlertChannel): Promise<number> {
  const [row] = await db.rows<{ readonly written: number }>(sql`/* alert-notices.serveChannel */
    with served as (
      insert into alert_channel (name)
      values (${channel})
      on conflict (name) do update
      set served_at = now(),
          since = case when alert_channel.served_at < ${goneSince()} then now()
                       else alert_channel.since end
      where alert_channel.served_at
            < now() - ${SERVED_TO_MS}::float8 * interval '1 millisecond'
      returning since
    ),
    present as (
      select since from served
      union all
      select since from alert_channel where name = ${channel} and not exists (select from served)
    ),
    revived as (
      update alert_notice as notice
      set given_up_at = null, tries = 0, created_at = now(),
          due_at = date_trunc('milliseconds', now())
      from alert, served
      where served.since > now() - interval '1 second' and notice.channel = ${channel} and notice.event = 'opened'
        and notice.given_up_at is not null and alert.id = notice.alert_id
        and alert.closed_at is null
      returning notice.alert_id
    ),
    opened as (
      insert into alert_notice (alert_id, event, channel)
      select alert.id, 'opened', ${channel}
      from alert
      cross join present
      where (alert.closed_at is null
             or (alert.closed_at >= ${goneSince()} and alert.opened_at >= present.since))
        and not exists (${noticeOf('opened', channel)})
      on conflict (alert_id, event, channel) do nothing
      returning alert_id
    ),
    closed as (
      insert into alert_notice (alert_id, event, channel)
      select alert.id, 'closed', ${channel}
      from alert
      where alert.closed_at >= ${goneSince()}
        and (exists (${noticeOf('opened', channel)}) or alert.id in (select alert_id from opened))
        and not exists (${noticeOf('closed', channel)})
      on conflict (alert_id, event, channel) do nothing
      returning alert_id
    )
    select ((select count(*) from opened) + (select count(*) from closed)
            + (select count(*) from revived))::integer as written`)
  return row?.written ?? 0
}

/** Part of a statement: the channel's notice of the row of `alert`. */
function noticeOf(event: AlertEvent, channel: AlertChannel) {
  return sql`
    select from alert_notice as notice
    where notice.alert_id = alert.id and notice.event = ${event} and notice.channel = ${channel}`
}

function goneSince() {
  return sql`now() - ${ALERT_CHANNEL_GONE_AFTER_MS}::float8 * interval '1 millisecond'`
}

export type AbandonedChannel = { readonly channel: AlertChannel; readonly notices: number }

/** Gives up what has waited for days on channels that no process has served for as long. */
export function abandonNotices(db: Handle): Promise<readonly AbandonedChannel[]> {
  return db.rows<AbandonedChannel>(sql`/* alert-notices.abandonNotices */
    with abandoned as (
      update alert_notice as notice
      set given_up_at = now(), claimed_until = null, last_error = ${NOBODY_SENDS}
      where notice.sent_at is null and notice.given_up_at is null
        and notice.created_at < ${goneSince()}
        and (notice.claimed_until is null or notice.claimed_until <= now())
        and not exists (
          select from alert_channel
          where alert_channel.name = notice.channel and alert_channel.served_at >= ${goneSince()})
      returning notice.channel
    )
    select channel, count(*)::integer as notices
    from abandoned
    group by channel
    order by channel`)
}
