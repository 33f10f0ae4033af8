/**
 * The delivery key, and what became of a record.
 *
 * Invariants: a key depends on the sync, the source, the page's cursor, the position and the record
 * as it will be written, and on nothing else (no run, attempt, worker or clock). Cursor, identity and
 * record enter hashed only: neither a key nor a stored identity holds personal data (I10). Digests, hashes and
 * keys are hexadecimal text; their sizes are told in bytes.
 */
import type { FailureCode } from './failure.ts'
import type { Hash } from './ids.ts'

export const PAGE_DIGEST_BYTES = 16
const POSITION_BYTES = 4
export const RECORD_DIGEST_BYTES = 12
export const DELIVERY_KEY_BYTES = PAGE_DIGEST_BYTES + POSITION_BYTES + RECORD_DIGEST_BYTES
export const IDENTITY_HASH_BYTES = 16

/** How long a completed key counts, unless configured otherwise: 7 days. */
export const LEDGER_RETENTION_MS = 7 * 24 * 60 * 60 * 1000

/** What a page is known by. */
export interface PageOrigin {
  readonly syncId: string
  readonly sourceConnectionId: string
  readonly stream: string
  /** The cursor from which the page was read, as the source resolved it. */
  readonly fromCursor: string
}

/** 16 bytes: the first half of every key of the page, so that they lie side by side in the index. */
export function digestPage(hash: Hash, origin: PageOrigin): string {
  const { syncId, sourceConnectionId, stream, fromCursor } = origin
  const text = JSON.stringify(['page', syncId, sourceConnectionId, stream, fromCursor])
  return hash(text).slice(0, PAGE_DIGEST_BYTES * 2)
}

/** 12 bytes over the canonical text of a mapped record. */
export function digestRecord(hash: Hash, canonicalText: string): string {
  return hash(canonicalText).slice(0, RECORD_DIGEST_BYTES * 2)
}

/** 16 bytes. The sync's id is part of it, so that one person's hash differs between syncs. */
export function hashIdentity(hash: Hash, syncId: string, identity: string): string {
  return hash(`["identity","${syncId}",${JSON.stringify(identity)}]`).slice(
    0,
    IDENTITY_HASH_BYTES * 2,
  )
}

/** The 32-byte ledger key: page digest, position (big-endian), record digest. */
export function deliveryKey(pageDigest: string, position: number, recordDigest: string): string {
  return pageDigest + position.toString(16).padStart(POSITION_BYTES * 2, '0') + recordDigest
}

/**
 * What a destination does when it gets the same write twice. `idempotent`: nothing new happens, so an
 * unknown outcome is settled by sending again. `lookup`: it happens twice, but the destination can be asked
 * whether a write is there, once nothing of it can land any more. `none`: it happens twice, and only a
 * person can settle it.
 */
const DELIVERY_CLASSES = ['idempotent', 'lookup', 'none'] as const
export type DeliveryClass = (typeof DELIVERY_CLASSES)[number]

/**
 * A destination's answer for one record.
 * `retryable`: known not applied. `unknown`: may or may not be applied; never taken for either.
 */
export type Outcome =
  | { readonly kind: 'written'; readonly remoteId: string | null }
  | { readonly kind: 'rejected'; readonly reason: string }
  | {
      readonly kind: 'retryable'
      readonly failure: FailureCode
      readonly reason: string
      readonly retryAfterMs: number | null
    }
  | { readonly kind: 'unknown'; readonly failure: FailureCode; readonly reason: string }

/** What became of one record of a page in one run. Their counts are the run's books. */
export const DISPOSITIONS = [
  'written',
  'replayed',
  'rejected',
  'inDoubt',
  'quarantined',
  'skipped',
] as const
export type Disposition = (typeof DISPOSITIONS)[number]

/** `read` is always the sum of the others. */
export type Counters = { readonly read: number } & { readonly [D in Disposition]: number }

export const NO_COUNTS: Counters = {
  read: 0,
  written: 0,
  replayed: 0,
  rejected: 0,
  inDoubt: 0,
  quarantined: 0,
  skipped: 0,
}

export function countDispositions(dispositions: Iterable<Disposition>): Counters {
  const counts = { ...NO_COUNTS }
  for (const disposition of dispositions) {
    counts[disposition] += 1
    counts.read += 1
  }
  return counts
}

export function addCounters(a: Counters, b: Counters): Counters {
  return {
    read: a.read + b.read,
    written: a.written + b.written,
    replayed: a.replayed + b.replayed,
    rejected: a.rejected + b.rejected,
    inDoubt: a.inDoubt + b.inDoubt,
    quarantined: a.quarantined + b.quarantined,
    skipped: a.skipped + b.skipped,
  }
}

export function booksBalance(counters: Counters): boolean {
  return counters.read === DISPOSITIONS.reduce((sum, name) => sum + counters[name], 0)
}
