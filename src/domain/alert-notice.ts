/**
 * What becomes of a notice: one message of an alert, on its way to one channel.
 *
 * Invariants: it is tried until the channel took it, or for three days and ten times; who may have got an earlier try is
 * told so with the next one.
 */

import type { AlertAudience, AlertEvent, AlertKind, AlertSeverity } from './alert.ts'
import type { JsonObject } from './json.ts'

/** Longest that one try may take. */
export const ALERT_SEND_DEADLINE_MS = 10_000
/** How long a try is a process's own; far more than its deadline, so that only a dead or stopped one overruns. */
export const ALERT_CLAIM_LIFE_MS = 120_000

const FIRST_WAIT_MS = 30_000
const LONGEST_WAIT_MS = 3_600_000
const GIVE_UP_AFTER_MS = 3 * 24 * 3_600_000
/** Some three hours of them: where nothing ran for days, it is not given up at its first try. */
const LEAST_TRIES = 10
/**
 * A channel on which no process was ready to send for so long is gone, with whatever waits for it; one that
 * comes back after that begins anew.
 */
export const ALERT_CHANNEL_GONE_AFTER_MS = GIVE_UP_AFTER_MS
/** Why a notice was given up that nobody tried any more. */
export const NOBODY_SENDS = 'No process is configured to send on this channel any more.'

/** What a channel is given to send. */
export interface AlertNotice {
  /** The same for every try. */
  readonly id: string
  readonly event: AlertEvent
  /** An earlier try may have arrived: its process died on the way, or nobody answered it. */
  readonly isRepetition: boolean
  /** Whom earlier tries did not reach, when they reached the others; null: it is for all. */
  readonly remaining: readonly string[] | null
  readonly alert: NoticedAlert
}

export interface NoticedAlert {
  readonly id: string
  readonly workspaceId: string
  readonly workspaceName: string
  readonly audience: AlertAudience
  readonly severity: AlertSeverity
  readonly kind: AlertKind
  readonly incident: string
  readonly syncId: string | null
  readonly syncName: string | null
  readonly runId: string | null
  readonly title: string
  readonly message: string
  readonly facts: JsonObject
  /** As in RFC 3339. */
  readonly openedAt: string
  /** Null: it was open when the notice was read. */
  readonly closedAt: string | null
  readonly closing: string | null
}

/** What a channel knows of a try. `reason`: a sentence without secrets and personal data. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  /** It is known not to have arrived. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It has arrived at some, and is known not to have at those that remain, who may be reached later. */
  | {
      readonly kind: 'sent_in_part'
      readonly remaining: readonly string[]
      readonly reason: string
    }
  /** It may have arrived. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** Whoever was to get it wants nothing any more. */
  | { readonly kind: 'gone'; readonly reason: string }

export interface Try {
  /** How many were begun, this one included. */
  readonly tries: number
  /** Since the notice was written. */
  readonly ageMs: number
  readonly isRepetition: boolean
}

export type NoticeDecision =
  | { readonly kind: 'mark_sent' }
  | {
      readonly kind: 'postpone'
      readonly waitMs: number
      /** Whether the next try is a repetition. */
      readonly mayHaveArrived: boolean
      /** For whom the next try is; null: for the same as this one. */
      readonly remaining: readonly string[] | null
      readonly reason: string
    }
  | { readonly kind: 'give_up'; readonly reason: string }

export function decideNotice(outcome: SendOutcome, done: Try): NoticeDecision {
  if (outcome.kind === 'sent') {
    return { kind: 'mark_sent' }
  }
  const { reason } = outcome
  const isTriedOut = done.ageMs >= GIVE_UP_AFTER_MS && done.tries >= LEAST_TRIES
  if (outcome.kind === 'gone' || isTriedOut) {
    return { kind: 'give_up', reason }
  }
  return {
    kind: 'postpone',
    waitMs: Math.min(FIRST_WAIT_MS * 2 ** (done.tries - 1), LONGEST_WAIT_MS),
    mayHaveArrived: outcome.kind === 'unknown' || done.isRepetition,
    remaining: outcome.kind === 'sent_in_part' ? outcome.remaining : null,
    reason,
  }
}
