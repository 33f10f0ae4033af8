/** Alerts as the watchmen raise them, and the clock of their notices, which is the database's. */
import { sql } from 'drizzle-orm'
import {
  ALERT_CHANNELS,
  type AlertChannel,
  breakerIncident,
  type NewAlert,
  silenceIncident,
} from '../../src/domain/alert.ts'
import type { AlertNotice, NoticedAlert } from '../../src/domain/alert-notice.ts'
import { closeIncident, raiseAlert } from '../../src/store/alerts.ts'
import type { Database } from '../../src/store/database.ts'
import { insertWorkspace } from '../../src/store/workspaces.ts'
import { newId } from './store-seed.ts'

export type RaisedAlert = NewAlert & { readonly workspaceName: string }

/** Opens an alert, in a workspace of its own unless one is given. */
export async function raise(
  database: Database,
  given: Partial<NewAlert> = {},
  channels: readonly AlertChannel[] = ALERT_CHANNELS,
): Promise<RaisedAlert> {
  const workspaceName = 'Acme'
  const workspaceId = given.workspaceId ?? newId()
  if (given.workspaceId === undefined) {
    await insertWorkspace(database, { id: workspaceId, name: workspaceName })
  }
  const alert: NewAlert = {
    id: newId(),
    workspaceId,
    audience: 'workspace',
    severity: 'critical',
    kind: 'circuit_breaker_tripped',
    incident: given.audience === 'tajo' ? silenceIncident(workspaceId) : breakerIncident(newId()),
    syncId: null,
    runId: null,
    title: 'Customers to CRM is paused',
    message: 'The last 5 runs failed. Mend the cause and publish the sync again.',
    facts: { failedRuns: 5 },
    ...given,
  }
  await raiseAlert(database, alert, channels)
  return { ...alert, workspaceName }
}

export async function close(database: Database, { incident }: RaisedAlert): Promise<void> {
  await closeIncident(database, incident, 'A run has succeeded.')
}

type NoticeRow = {
  readonly id: string
  readonly event: string
  readonly channel: string
  readonly tries: number
  readonly isSent: boolean
  readonly isGivenUp: boolean
  /** Until it is due, in milliseconds. */
  readonly waitMs: number
  readonly lastError: string | null
}

export async function listNotices(
  database: Database,
  alert: Pick<NewAlert, 'id'>,
): Promise<readonly NoticeRow[]> {
  return await database.rows<NoticeRow>(sql`
    select id, event, channel, tries, sent_at is not null as "isSent",
           given_up_at is not null as "isGivenUp",
           (extract(epoch from due_at - now()) * 1000)::float8 as "waitMs",
           last_error as "lastError"
    from alert_notice
    where alert_id = ${alert.id}
    order by event desc, channel`)
}

/** As if so much time had passed for all that is not sent yet. */
export async function passTime(database: Database, ms: number): Promise<void> {
  await database.rows(sql`
    update alert_notice
    set due_at = due_at - ${ms}::float8 * interval '1 millisecond',
        created_at = created_at - ${ms}::float8 * interval '1 millisecond',
        claimed_until = claimed_until - ${ms}::float8 * interval '1 millisecond'
    where sent_at is null and given_up_at is null`)
}

/** As if there were no alert, and no process had ever sent any. */
export async function forgetAlerts(database: Database): Promise<void> {
  await database.rows(sql`delete from alert_notice`)
  await database.rows(sql`delete from alert`)
  await database.rows(sql`delete from alert_channel`)
}

/** As if so much time had passed since processes served their channels, and alerts opened and closed. */
export async function passTimeOfChannels(database: Database, ms: number): Promise<void> {
  const passed = sql`${ms}::float8 * interval '1 millisecond'`
  await database.rows(sql`
    update alert_channel set since = since - ${passed}, served_at = served_at - ${passed}`)
  await database.rows(sql`
    update alert set opened_at = opened_at - ${passed}, closed_at = closed_at - ${passed}`)
}

/** A notice as a channel is given it. */
export function makeNotice(
  given: Partial<AlertNotice> = {},
  alert: Partial<NoticedAlert> = {},
): AlertNotice {
  return {
    id: 'c0ffee00-1111-4222-8333-444455556666',
    event: 'opened',
    isRepetition: false,
    remaining: null,
    ...given,
    alert: {
      id: newId(),
      workspaceId: newId(),
      workspaceName: 'Acme',
      audience: 'workspace',
      severity: 'critical',
      kind: 'circuit_breaker_tripped',
      incident: 'circuit_breaker:1',
      syncId: newId(),
      syncName: 'Customers to CRM',
      runId: newId(),
      title: 'Customers to CRM is paused – ä',
      message: 'The last 5 runs failed. Mend the cause and publish the sync again.',
      facts: { failedRuns: 5 },
      openedAt: '2026-03-29T01:30:00.000Z',
      closedAt: given.event === 'closed' ? '2026-03-29T02:30:00.000Z' : null,
      closing: given.event === 'closed' ? 'A run has succeeded.' : null,
      ...alert,
    },
  }
}
