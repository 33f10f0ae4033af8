/**
 * What all processes together let through to other people's systems: token buckets, which hold what a connection
 * may spend, and circuits, each of a connection with one host, which leave alone what is dead.
 *
 * Invariants: a call is let through by its circuit and all of its buckets, or nothing of it is taken; who is let
 * through by one process has been counted for all. It only ever delays, and nothing correct rests on it. So what it
 * remembers may be lost at any time, and with Redis out of reach each process counts for itself.
 */

export interface LimitedBucket {
  /** Unique among all connections. */
  readonly key: string
  /** Most tokens it holds; it begins full. More than 0. */
  readonly capacity: number
  /** More than 0. */
  readonly refillPerSecond: number
}

export interface LimitedToll {
  readonly bucket: LimitedBucket
  /** More than the bucket holds counts as all that it holds. 0: asks only whether it is blocked. */
  readonly tokens: number
}

export type Passage =
  /** Everything was taken. `isSuspect`: calls through the circuit have died since the last one that was answered. */
  | { readonly kind: 'go'; readonly isSuspect: boolean }
  /**
   * Nothing was taken. Worth asking again after `waitMs`, 1 at least: the longest of what holds it up. `held`: the
   * host is dead, a bucket is blocked, or it has not tokens enough.
   */
  | { readonly kind: 'wait'; readonly waitMs: number; readonly held: 'dead' | 'blocked' | 'short' }

/** No method rejects: with Redis out of reach the process counts for itself. */
export interface Limiter {
  /** `circuit`: its name, unique among all connections. Each bucket at most once. */
  pass(circuit: string, tolls: readonly LimitedToll[]): Promise<Passage>
  /** There are no more than `available` tokens in the bucket. There may be fewer: it is never filled by this. */
  lower(bucket: LimitedBucket, available: number): Promise<void>
  /** Nothing is taken from the bucket for so long. It never cuts an earlier block short. */
  block(bucket: LimitedBucket, forMs: number): Promise<void>
  /** How a call through the circuit went. */
  note(circuit: string, went: 'answered' | 'dead'): Promise<void>
}

/**
 * Dead calls in a row, of all processes, after which a host counts as dead. One more than a single run can have under
 * way at once at most (32; 8 by default), and than four tries of 8: so neither one call nor one round of them that
 * met a restart opens the circuit. It is few beside what a host that stays dead would be asked otherwise.
 */
export const DEAD_CALLS_IN_A_ROW = 33
/** A host that counts as dead gets one call within this time, from all processes together. */
export const PROBE_INTERVAL_MS = 60_000
/** After so long without a dead call nothing is remembered of a host. Longer than between two runs of most schedules. */
export const CIRCUIT_LIFE_MS = 24 * 60 * 60_000
/** Longest that a bucket can be blocked. */
export const MAX_BLOCK_MS = 24 * 60 * 60_000
