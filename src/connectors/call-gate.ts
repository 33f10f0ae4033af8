/**
 * What every call passes before it is made: the rates of its connection, and the circuit of its host. Both are
 * shared by all processes.
 *
 * Invariant: a gate only ever delays. Whether a write may be made is decided elsewhere, and who passes without having
 * asked harms nothing but the other system's patience.
 */
import type { FailureCode } from '../domain/failure.ts'

/** A token bucket of a connection: what the other system lets through. */
export interface Bucket {
  /** Names it among the buckets of its connection. */
  readonly name: string
  /** Most tokens it holds; it begins full. */
  readonly capacity: number
  readonly refillPerSecond: number
}

export interface Toll {
  readonly bucket: Bucket
  readonly tokens: number
}

export type Turn =
  | { readonly kind: 'go' }
  /** Nothing was taken. Ask again after `waitMs`. */
  | {
      readonly kind: 'wait'
      readonly waitMs: number
      /** How long all waits for one call may last, where that is another time than such waits do. */
      readonly patienceMs?: number
      readonly failure: Extract<FailureCode, 'provider_rate_limited' | 'provider_unavailable'>
      readonly reason: string
    }

/** Only `take` and `enter` ever reject, and `take` only for a bug. */
export interface CallGate {
  /** Takes all of the tolls, each of another bucket, or none. */
  take(tolls: readonly Toll[]): Promise<Turn>
  /** Waits until they are taken. Rejects with the signal's reason, or with ConnectorError once it would take longer than `atMostMs`. */
  enter(
    tolls: readonly Toll[],
    options: { readonly signal: AbortSignal; readonly atMostMs: number },
  ): Promise<void>
  /** What the other system says is left in the bucket. */
  correct(bucket: Bucket, available: number): Promise<void>
  /** The other system wants nothing of this bucket for so long. */
  block(bucket: Bucket, forMs: number): Promise<void>
  /** How a call went: `dead` when nobody sensible answered. The HTTP client tells it of every call that it is given the gate for. */
  note(went: 'answered' | 'dead'): Promise<void>
}

/** Opens the gate of a connection for one host (with its port). */
export type OpenGate = (to: { readonly connectionId: string; readonly host: string }) => CallGate

/** Lets everything through: for what nobody else owns. */
export const FREE_GATE: CallGate = {
  take: () => Promise.resolve({ kind: 'go' }),
  enter: () => Promise.resolve(),
  correct: () => Promise.resolve(),
  block: () => Promise.resolve(),
  note: () => Promise.resolve(),
}
