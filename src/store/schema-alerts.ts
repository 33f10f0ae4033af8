/**
 * The tables of the watchmen: alerts, what of them has been sent where, which channels there are, and when each
 * check ran.
 *
 * Invariants that the database itself keeps: one open alert an incident, whatever Redis has forgotten and
 * however many processes raise it; one notice for each alert, event and channel.
 */
import { sql } from 'drizzle-orm'
import {
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type {
  AlertAudience,
  AlertChannel,
  AlertEvent,
  AlertKind,
  AlertSeverity,
} from '../domain/alert.ts'
import { instant, json, oneOf } from './columns.ts'
import { sync, workspace } from './schema-configuration.ts'

export const alert = pgTable(
  'alert',
  {
    id: uuid('id').primaryKey(),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspace.id),
    audience: text('audience').$type<AlertAudience>().notNull(),
    severity: text('severity').$type<AlertSeverity>().notNull(),
    kind: text('kind').$type<AlertKind>().notNull(),
    /** Names the incident: the domain's `breakerIncident` or `silenceIncident`. */
    incident: text('incident').notNull(),
    syncId: uuid('sync_id').references(() => sync.id),
    runId: uuid('run_id'),
    title: text('title').notNull(),
    message: text('message').notNull(),
    facts: json('facts').notNull(),
    openedAt: instant('opened_at').notNull().defaultNow(),
    /** When the incident was over; null: it is open. */
    closedAt: instant('closed_at'),
    /** Why it is over, as one sentence. */
    closing: text('closing'),
    acknowledgedAt: instant('acknowledged_at'),
    /** The name of the token that acknowledged it. */
    acknowledgedBy: text('acknowledged_by'),
  },
  (table) => [
    uniqueIndex('alert_open_incident').on(table.incident).where(sql`closed_at is null`),
    index('alert_of_workspace').on(table.workspaceId, table.id),
    index('alert_open').on(table.id).where(sql`closed_at is null`),
    index('alert_closed').on(table.closedAt).where(sql`closed_at is not null`),
    index('alert_acknowledged').on(table.acknowledgedAt).where(sql`acknowledged_at is not null`),
    check('alert_audience', oneOf('audience', "'tajo', 'workspace'")),
    check('alert_severity', oneOf('severity', "'critical', 'warning'")),
    check('alert_closed_iff_closing', sql`(closed_at is null) = (closing is null)`),
    check('alert_acknowledged_iff_by', sql`(acknowledged_at is null) = (acknowledged_by is null)`),
  ],
)

/** One message that is to be sent, or was: written with what it tells of, so that no crash loses it. */
export const alertNotice = pgTable(
  'alert_notice',
  {
    /** The same for every try, so that a receiver knows a repetition. */
    id: uuid('id').primaryKey().default(sql`gen_random_uuid()`),
    alertId: uuid('alert_id')
      .notNull()
      .references(() => alert.id),
    event: text('event').$type<AlertEvent>().notNull(),
    channel: text('channel').$type<AlertChannel>().notNull(),
    /** Tries begun so far. */
    tries: integer('tries').notNull().default(0),
    // Rounded up, it would not be due yet when it is looked for at once.
    dueAt: instant('due_at').notNull().default(sql`date_trunc('milliseconds', now())`),
    /** A process is at it until then; a later one knows that it died on the way. */
    claimedUntil: instant('claimed_until'),
    sentAt: instant('sent_at'),
    /** When it was given up, after so many tries. */
    givenUpAt: instant('given_up_at'),
    lastError: text('last_error'),
    /** Whom earlier tries did not reach, when they reached the others; null: they reached nobody. */
    remaining: jsonb('remaining').$type<readonly string[]>(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [
    unique('alert_notice_once').on(table.alertId, table.event, table.channel),
    index('alert_notice_due')
      .on(table.channel, table.dueAt)
      .where(sql`sent_at is null and given_up_at is null`),
    check('alert_notice_event', oneOf('event', "'opened', 'closed'")),
    check('alert_notice_channel', oneOf('channel', "'log', 'webhook', 'email', 'sentry'")),
    check('alert_notice_one_end', sql`sent_at is null or given_up_at is null`),
  ],
)

/** A channel that some process sends on, or did: which ones those are, no process knows of the others. */
export const alertChannel = pgTable(
  'alert_channel',
  {
    name: text('name').$type<AlertChannel>().primaryKey(),
    /** Since when it has been there without a gap of days: what was over before is not told on it. */
    since: instant('since').notNull().defaultNow(),
    /** When a process last was ready to send on it, to the minute. */
    servedAt: instant('served_at').notNull().defaultNow(),
  },
  () => [check('alert_channel_name', oneOf('name', "'log', 'webhook', 'email', 'sentry'"))],
)

/** When a check that runs once a slot across all processes last ran, and what came of it. */
export const watchCheck = pgTable('watch_check', {
  /** Such as `dead_man`. */
  name: text('name').primaryKey(),
  /** The slot that was taken last: whoever moves it on runs the check. */
  slotAt: instant('slot_at').notNull(),
  startedAt: instant('started_at').notNull(),
  /** Null: it is under way, or its process died in it. */
  finishedAt: instant('finished_at'),
  /** The figures of the last one that finished. */
  outcome: json('outcome'),
})
