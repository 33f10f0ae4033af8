/**
 * The writes that show whether a place knows of writes: some that the destination has confirmed, which should be
 * there, and one that nobody made, which should not.
 *
 * Invariant (I12): a write is asked for only once it was confirmed as long ago as the destination may take until
 * it shows (`settlingMs`). As long as there are only younger ones they are waited for: that there are none is no
 * excuse to believe a place.
 */
import { deliveryKey, RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import type { Clock } from '../runtime/clock.ts'
import type { IdSource } from '../runtime/random.ts'
import type { AgedKey } from '../store/confirmed-keys.ts'

/** More than one: a record may have been deleted at the destination, and its key with it. */
export const MAX_CONFIRMED = 3

interface ConfirmedParts {
  readonly clock: Clock
  readonly ids: IdSource
  readonly settlingMs: number
  /** What the ledger has besides. Called where there are too few at hand. */
  listDelivered(): Promise<readonly AgedKey[]>
}

interface YoungWrite {
  readonly key: string
  readonly confirmedAtMs: number
}

/** Of one attempt, which asks at one place. */
export class ConfirmedWrites {
  readonly #parts: ConfirmedParts
  /** The newest first. */
  #settled: readonly string[] = []
  /** The oldest first: were they to make room for newer ones, none would ever settle. */
  #young: readonly YoungWrite[] = []
  #isToldApart = false

  constructor(parts: ConfirmedParts) {
    this.#parts = parts
  }

  /** Delivery keys for the next attempt to ask for, at most three. */
  get keys(): readonly string[] {
    return firstOf([...this.settled, ...this.#young.map(({ key }) => key)])
  }

  /** The delivery keys at hand that may be asked for, the newest first. */
  get settled(): readonly string[] {
    this.#settle(this.#parts.clock.monotonicMs())
    return this.#settled
  }

  /** The place has been asked for a write that nobody made, and does not have it. */
  get isToldApart(): boolean {
    return this.#isToldApart
  }

  noteToldApart(): void {
    this.#isToldApart = true
  }

  /** Confirmed just now, in this order. */
  note(keys: readonly string[]): void {
    const confirmedAtMs = this.#parts.clock.monotonicMs()
    this.#settle(confirmedAtMs)
    this.#addYoung(keys.slice(-MAX_CONFIRMED).map((key) => ({ key, confirmedAtMs })))
    this.#settle(confirmedAtMs)
  }

  /** As the database tells them, the newest of the settled ones first. Called once it has answered: none is older by then. */
  noteAged(writes: readonly AgedKey[]): void {
    const { clock, settlingMs } = this.#parts
    const nowMs = clock.monotonicMs()
    const settled = writes.filter(({ ageMs }) => ageMs >= settlingMs).map(({ key }) => key)
    this.#settled = firstOf([...this.#settled, ...settled])
    const young = writes.filter(({ ageMs }) => ageMs < settlingMs)
    // Its clock may have been set back since; it was confirmed before it was told of.
    this.#addYoung(
      young.map(({ key, ageMs }) => ({ key, confirmedAtMs: nowMs - Math.max(0, ageMs) })),
    )
  }

  /**
   * Keys to ask for, `known` before others. None: nothing of the sync is known to be confirmed. May wait as long
   * as the destination takes to show a write; rejects with the signal's reason.
   */
  async findSettled(known: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const { clock, settlingMs } = this.#parts
    const atHand = firstOf([...known, ...this.settled])
    if (atHand.length === MAX_CONFIRMED) {
      return atHand
    }
    this.noteAged(await this.#parts.listDelivered())
    const found = firstOf([...known, ...this.settled])
    const [oldest] = this.#young
    if (found.length > 0 || oldest === undefined) {
      return found
    }
    const settledAtMs = oldest.confirmedAtMs + settlingMs
    await clock.sleep(Math.max(0, settledAtMs - clock.monotonicMs()), signal)
    this.#settle(Math.max(settledAtMs, clock.monotonicMs()))
    return this.#settled
  }

  /** A key of the right form that no write can have. */
  makeKeyOfNone(): string {
    const chance = () => this.#parts.ids.next().replaceAll('-', '')
    return deliveryKey(chance(), 0, chance().slice(-RECORD_DIGEST_BYTES * 2))
  }

  #settle(nowMs: number): void {
    const { settlingMs } = this.#parts
    const isSettled = ({ confirmedAtMs }: YoungWrite) => confirmedAtMs + settlingMs <= nowMs
    const settled = this.#young.filter(isSettled).map(({ key }) => key)
    this.#settled = firstOf([...settled.reverse(), ...this.#settled])
    this.#young = this.#young.filter((write) => !isSettled(write))
  }

  #addYoung(writes: readonly YoungWrite[]): void {
    const known = new Set([...this.#settled, ...this.#young.map(({ key }) => key)])
    const added = writes.filter(({ key }) => !known.has(key))
    this.#young = [...this.#young, ...added]
      .sort((a, b) => a.confirmedAtMs - b.confirmedAtMs)
      .slice(0, MAX_CONFIRMED)
  }
}

function firstOf(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].slice(0, MAX_CONFIRMED)
}
