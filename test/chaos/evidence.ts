/** What the auditor is given of one sync: its file, what the destination did, what the database says. */

/** A record as the destination gets it. */
export type MappedRecord = Readonly<Record<string, unknown>>

export interface Effect {
  readonly key: string
  readonly record: unknown
}

export interface StoredPage {
  readonly pageDigest: string
  readonly fromCursor: string
  readonly toCursor: string
  readonly isPassed: boolean
}

export interface StoredIntent {
  readonly pageDigest: string
  readonly positions: readonly number[]
  /** 64 hexadecimal characters each. */
  readonly keys: readonly string[]
  readonly epoch: number
}

export interface StoredRun {
  readonly id: string
  readonly status: string
  readonly epoch: number
  readonly read: number
  readonly written: number
  readonly replayed: number
  readonly rejected: number
  readonly inDoubt: number
  readonly quarantined: number
  readonly skipped: number
}

export interface StoredAttempt {
  readonly runId: string
  readonly number: number
  readonly epoch: number
  readonly isClosed: boolean
}

/** All that is known of one sync, after its last run. */
export interface Evidence {
  readonly name: string
  readonly fileText: string
  readonly deliveryClass: 'IDEMPOTENT' | 'LOOKUP' | 'NONE'
  /** The destination knows records by `contact`; else by the source's name of the row. */
  readonly isContactKnown: boolean
  /** Whether the destination ever refused such a record. */
  wasRefused(record: MappedRecord): boolean
  /** What this sync did to the destination, in the order in which it happened. */
  readonly effects: readonly Effect[]
  readonly ledgerKeys: ReadonlySet<string>
  /** Oldest first. */
  readonly openPages: readonly StoredPage[]
  readonly held: readonly { readonly pageDigest: string; readonly position: number }[]
  /** Records that left their pages and wait in the list for a person; which rows they are it does not tell. */
  readonly setAside: number
  readonly intents: readonly StoredIntent[]
  readonly fence: {
    readonly epoch: number
    readonly reached: string | null
    readonly savedCursor: string | null
  }
  /** Oldest first. */
  readonly runs: readonly StoredRun[]
  /** Oldest first. */
  readonly attempts: readonly StoredAttempt[]
}
