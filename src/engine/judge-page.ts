/**
 * What is decided about a page's records before anything is sent: replayed, skipped, rejected, in doubt.
 * No I/O.
 *
 * Invariant: what is left to send is not delivered yet and is the newest of its identity as far as the
 * sync's open pages, its held records and the intents of earlier attempts tell.
 */
import { type Disposition, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import type { OpenedPage } from '../store/ledger.ts'
import type { HeldRecord } from '../store/pages.ts'
import type { LeftIntents } from './left-intents.ts'
import {
  type PreparedPage,
  type PreparedRecord,
  type UnsendableRecord,
  unpackHashes,
} from './prepare-page.ts'

export interface PageToDeliver {
  readonly page: PreparedPage
  /** `reached` has not moved past it yet. */
  readonly advances: boolean
  /** What is remembered of a page that was stored before; null: it is read for the first time. */
  readonly remembered: RememberedPage | null
}

export interface RememberedPage {
  readonly ordinal: number
  /** 12 bytes a position, kept with the page since the ledger may have forgotten them. */
  readonly completed: string | null
  /**
   * Delivery has gone on behind the page: what was delivered of it is not sent again, also when it maps to
   * something else now, for a later page may have delivered something newer.
   */
  readonly isBehind: boolean
  /** Its range does not exist any more: what was not delivered comes again where the source starts over. */
  readonly isGone: boolean
}

/** What became of one record, and why where somebody will ask. */
export interface Verdict {
  readonly disposition: Disposition
  readonly reason: string | null
  /** An earlier attempt sent it, nobody answered, and now it is rejected: it may have been written. */
  readonly isUnanswered?: boolean
}

export interface PageFacts {
  readonly source: PageToDeliver
  readonly opened: OpenedPage
  readonly heldBefore: readonly HeldRecord[]
  readonly leftIntents: LeftIntents
}

/** The reason of a skipped record that has to be remembered while its page is open. */
export const SUPERSEDED = 'A later record of the same identity was delivered.'
export const OVERTAKEN =
  'A later record of the same identity was sent without an answer, and may have been written: this one waits.'

const MAY_BE_WRITTEN = 'It was sent before without an answer, and may have been written.'

/** Verdicts by position; a record without one is to be sent. */
export function judgePage(facts: PageFacts): Map<number, Verdict> {
  const { page } = facts.source
  const delivered = new DeliveredPositions(facts)
  const verdicts = new Map<number, Verdict>()
  for (const record of page.records) {
    const verdict = judgeRecord(facts, record, delivered)
    if (verdict) {
      verdicts.set(record.position, verdict)
    }
  }
  for (const position of page.left) {
    const verdict = judgeLeft(facts, position, delivered)
    if (verdict) {
      verdicts.set(position, verdict)
    }
  }
  return verdicts
}

function judgeRecord(
  facts: PageFacts,
  record: PreparedRecord,
  delivered: DeliveredPositions,
): Verdict | null {
  const { source, leftIntents } = facts
  if (delivered.isSuperseded(record.position) || delivered.isSetAside(record.position)) {
    return { disposition: 'skipped', reason: null }
  }
  if (delivered.isSame(record) && !isAnotherSent(facts, record)) {
    return { disposition: 'replayed', reason: null }
  }
  if (delivered.standsFor(record)) {
    const disposition = leftIntents.isDoubtful(record) ? 'inDoubt' : 'replayed'
    return { disposition, reason: null }
  }
  if (delivered.hasLater(record)) {
    return { disposition: 'skipped', reason: SUPERSEDED }
  }
  if (leftIntents.isDoubtful(record)) {
    return { disposition: 'inDoubt', reason: null }
  }
  if (record.kind === 'unsendable') {
    return judgeUnsendable(facts, record)
  }
  const { remembered } = source
  return remembered && leftIntents.isOvertaken(record, remembered.ordinal)
    ? { disposition: 'rejected', reason: OVERTAKEN }
    : null
}

/** Something else was sent in its place since, and may stand there now. */
function isAnotherSent({ source, leftIntents }: PageFacts, record: PreparedRecord): boolean {
  return record.kind === 'sendable' && leftIntents.isOtherUnanswered(record, source.page.pageDigest)
}

function judgeUnsendable({ source, leftIntents }: PageFacts, record: UnsendableRecord): Verdict {
  const isUnanswered = leftIntents.isUnanswered(record, source.page.pageDigest)
  return { disposition: 'rejected', reason: whyRejected(record, isUnanswered), isUnanswered }
}

export function whyRejected(
  { reason }: { readonly reason: string },
  isUnanswered: boolean,
): string {
  return isUnanswered ? `${reason} ${MAY_BE_WRITTEN}` : reason
}

/** A record that left its page comes again where it moved to, or is gone; in doubt it stays. */
function judgeLeft(
  facts: PageFacts,
  position: number,
  delivered: DeliveredPositions,
): Verdict | null {
  if (delivered.isSetAside(position)) {
    return { disposition: 'skipped', reason: null }
  }
  if (facts.leftIntents.isDoubtfulIdentity(delivered.identityAt(position))) {
    return { disposition: 'inDoubt', reason: null }
  }
  const { advances, remembered } = facts.source
  if (remembered?.isGone && !remembered.isBehind && !advances) {
    return null // nobody has counted it yet, and the source will read it again
  }
  return { disposition: delivered.has(position) ? 'replayed' : 'skipped', reason: null }
}

/** What the ledger and the page itself know to be delivered. */
class DeliveredPositions {
  readonly #source: PageToDeliver
  readonly #identities: readonly string[]
  /** The newest completed record digest of each position, as the page has kept them. */
  readonly #kept: ReadonlyMap<number, string>
  /** The same, as the ledger has them by now. */
  readonly #completed: ReadonlyMap<number, string>
  readonly #held: ReadonlySet<number>
  readonly #superseded: ReadonlySet<number>
  readonly #setAside: ReadonlySet<number>
  /** The last delivered position of each identity, by either of its names. */
  readonly #last = new Map<string, number>()

  constructor({ source, opened, heldBefore }: PageFacts) {
    this.#source = source
    this.#identities = unpackHashes(source.page.identities)
    this.#kept = readKept(source.remembered?.completed ?? null)
    this.#completed = mergeCompleted(this.#kept, opened)
    this.#superseded = new Set(
      heldBefore.filter((record) => record.isSuperseded).map((record) => record.position),
    )
    this.#held = new Set(heldBefore.map((record) => record.position))
    this.#setAside = new Set(
      heldBefore.filter((record) => record.isSetAside).map((record) => record.position),
    )
    for (const position of this.#completed.keys()) {
      this.#note(this.identityAt(position), position)
    }
    for (const record of this.#completed.size > 0 ? source.page.records : []) {
      if (this.#completed.has(record.position)) {
        this.#note(record.destinationIdentityHash, record.position)
      }
    }
  }

  identityAt(position: number): string {
    return this.#identities[position] ?? ''
  }

  has(position: number): boolean {
    return this.#completed.has(position)
  }

  isSuperseded(position: number): boolean {
    return this.#superseded.has(position)
  }

  /** What becomes of it is not this page's business any more, whatever its row says now. */
  isSetAside(position: number): boolean {
    return this.#setAside.has(position)
  }

  /** The record as it is now is delivered. */
  isSame(record: PreparedRecord): boolean {
    return (
      record.kind === 'sendable' && record.recordDigest === this.#completed.get(record.position)
    )
  }

  /**
   * What was delivered in its place stands for it, whatever is there now. Not for a record that was sent since
   * and is held; and of a page that delivery has passed only what the page itself has kept.
   */
  standsFor({ position }: PreparedRecord): boolean {
    const { remembered, advances } = this.#source
    const isDelivered = (advances ? this.#completed : this.#kept).has(position)
    return remembered?.isBehind === true && isDelivered && !this.#held.has(position)
  }

  /** A later position of the page has delivered the record's identity. */
  hasLater(record: PreparedRecord): boolean {
    const { position, identityHash, destinationIdentityHash } = record
    return [identityHash, destinationIdentityHash].some(
      (hash) => (this.#last.get(hash) ?? -1) > position,
    )
  }

  #note(hash: string, position: number): void {
    this.#last.set(hash, Math.max(position, this.#last.get(hash) ?? -1))
  }
}

/** Record digests by position, as the page has kept them. */
function readKept(kept: string | null): Map<number, string> {
  const completed = new Map<number, string>()
  const width = RECORD_DIGEST_BYTES * 2
  for (let start = 0; kept !== null && start < kept.length; start += width) {
    const digest = kept.slice(start, start + width)
    if (!/^0+$/.test(digest)) {
      completed.set(start / width, digest)
    }
  }
  return completed
}

/** The ledger's, and the page's own where the ledger has none. */
function mergeCompleted(
  kept: ReadonlyMap<number, string>,
  opened: OpenedPage,
): Map<number, string> {
  const completed = new Map(kept)
  for (const { position, recordDigest } of opened.completed) {
    completed.set(position, recordDigest)
  }
  return completed
}
