/**
 * The lease: the right to run a sync, one holder at a time, and how long a holder may trust it.
 *
 * Invariants: a holder's trust ends at the earlier of its lease's end and {@link Trust.beatTrustMs}
 * after it *sent* its last acknowledged beat, both on its own monotonic clock. A lease of an older
 * epoch is a dead run's: whoever has raised the fence in PostgreSQL may replace it.
 */

/** What a sync's lease is called. */
export function leaseName(syncId: string): string {
  return `lease.${syncId}`
}

/** Written into Redis as the lease's value; the epoch leads, so that a later holder can tell an older one. */
export interface LeaseToken {
  readonly epoch: number
  readonly runId: string
}

export function formatLeaseToken(token: LeaseToken): string {
  return `${token.epoch}:${token.runId}`
}

/** Null for a value that is not ours. */
export function parseLeaseToken(text: string): LeaseToken | null {
  const match = /^(\d{1,15}):([0-9a-f-]{36})$/.exec(text)
  return match?.[1] && match[2] ? { epoch: Number(match[1]), runId: match[2] } : null
}

export type LeaseDecision =
  | { readonly kind: 'replace'; readonly heldBy: string }
  | { readonly kind: 'conflict' }

/**
 * What to do about a lease that somebody holds. Our epoch was raised in PostgreSQL when we claimed the
 * run, so an older epoch belongs to a run that is over or was handed to us.
 */
export function decideHeldLease(heldBy: string, ours: LeaseToken): LeaseDecision {
  const holder = parseLeaseToken(heldBy)
  return holder && holder.epoch < ours.epoch ? { kind: 'replace', heldBy } : { kind: 'conflict' }
}

/** Monotonic milliseconds throughout. */
export interface Trust {
  /** When the request that took or last renewed the lease was sent. */
  readonly leaseSentAtMs: number
  readonly leaseLifeMs: number
  /** When the last acknowledged beat was sent. */
  readonly beatSentAtMs: number
  readonly beatTrustMs: number
}

/** The monotonic moment from which the holder must not write any more. */
export function trustEndsAtMs(trust: Trust): number {
  return Math.min(trust.leaseSentAtMs + trust.leaseLifeMs, trust.beatSentAtMs + trust.beatTrustMs)
}
