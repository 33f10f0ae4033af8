/**
 * Alerts: what the watchmen tell people, and which incident each one belongs to.
 *
 * Invariant: an incident has one open alert, however many processes see it and however often; it is told
 * when it opens and when it closes, once each and channel by channel. A text holds no personal data and no
 * secrets.
 */
import type { JsonObject } from './json.ts'

/** Whom an alert is for: Tajo's operators, or the people of the workspace. */
export const ALERT_AUDIENCES = ['tajo', 'workspace'] as const
export type AlertAudience = (typeof ALERT_AUDIENCES)[number]

export const ALERT_SEVERITIES = ['critical', 'warning'] as const
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number]

/**
 * `circuit_breaker_tripped`: a sync was paused after failed runs in a row. `workspace_silent`: nothing of a
 * workspace has succeeded for the whole window, or its runs wait in the queue and nobody takes them.
 */
export const ALERT_KINDS = ['circuit_breaker_tripped', 'workspace_silent'] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Where alerts are sent; the log always is one. */
export const ALERT_CHANNELS = ['log', 'webhook', 'email', 'sentry'] as const
export type AlertChannel = (typeof ALERT_CHANNELS)[number]

/** What a channel is told of an alert: that its incident opened, and that it is over. */
export const ALERT_EVENTS = ['opened', 'closed'] as const
export type AlertEvent = (typeof ALERT_EVENTS)[number]

export interface NewAlert {
  readonly id: string
  readonly workspaceId: string
  readonly audience: AlertAudience
  readonly severity: AlertSeverity
  readonly kind: AlertKind
  /** Names the incident; while an alert of it is open, no other one is raised. */
  readonly incident: string
  readonly syncId: string | null
  readonly runId: string | null
  /** A few words, such as the subject of a mail. */
  readonly title: string
  /** What happened, what to do and who has to do it, in full sentences. */
  readonly message: string
  /** The figures behind it. */
  readonly facts: JsonObject
}

export function breakerIncident(syncId: string): string {
  return `circuit_breaker:${syncId}`
}

export function silenceIncident(workspaceId: string): string {
  return `silence:${workspaceId}`
}
