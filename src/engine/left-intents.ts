/**
 * What earlier attempts left in flight, and whom it concerns.
 *
 * An intent keeps the class of the call that it reserved. Of class `none`: nothing of its identities is
 * sent until a person has settled it (I16). Of class `idempotent`: it is sent again from its open page; until
 * then an older record of its identities waits, and another content of them waits for its quiet time. What is not
 * sent again, since its row has left the page or is rejected, may have been written: older ones go on waiting.
 * Both names count, the source's and the destination's, so that neither a changed row nor a changed
 * mapping hides anything.
 */
import { RECORD_DIGEST_BYTES } from '../domain/delivery.ts'
import type { LeftIntent } from '../store/left-intents.ts'
import { unpackHashes } from './prepare-page.ts'

interface Named {
  readonly identityHash: string
  readonly destinationIdentityHash: string
}

interface Placed extends Named {
  readonly position: number
}

interface SentRecord extends Placed {
  readonly recordDigest: string
}

/** One record of an intent of class `idempotent`. */
interface InFlight {
  readonly pageDigest: string
  readonly ordinal: number
  readonly position: number
  /** Its source identity. */
  readonly identityHash: string
  readonly recordDigest: string
  readonly quietAtMs: number
}

export interface LeftBehind {
  readonly position: number
  /** The monotonic moment before which it may still land. */
  readonly quietAtMs: number
}

export class LeftIntents {
  readonly #doubtful = new Set<string>()
  /** Record digests by place. */
  readonly #inDoubt = new Map<string, string[]>()
  /** By each of their names. */
  readonly #inFlight = new Map<string, InFlight[]>()
  readonly #ofPage = new Map<string, InFlight[]>()

  /** `loadedAtMs`: the monotonic moment at which they were read. */
  constructor(intents: readonly LeftIntent[], loadedAtMs: number) {
    for (const intent of intents) {
      for (const [index, hashes] of namesOf(intent).entries()) {
        const inFlight = toInFlight(intent, { index, hashes, loadedAtMs })
        if (intent.deliveryClass === 'none') {
          hashes.forEach(this.#doubtful.add, this.#doubtful)
          append(this.#inDoubt, placeOf(inFlight), inFlight.recordDigest)
        } else {
          this.#note(hashes, inFlight)
        }
      }
    }
  }

  /** From now on nothing of the record's identities is sent. */
  addDoubt(record: Named): void {
    this.#doubtful.add(record.identityHash)
    this.#doubtful.add(record.destinationIdentityHash)
  }

  isDoubtful(record: Named): boolean {
    return (
      this.#doubtful.has(record.identityHash) || this.#doubtful.has(record.destinationIdentityHash)
    )
  }

  isDoubtfulIdentity(identityHash: string): boolean {
    return this.#doubtful.has(identityHash)
  }

  /** Whether a later record of the record's identities is in flight: sent now, this one would overwrite it. */
  isOvertaken(record: Placed, ordinal: number): boolean {
    return this.#find(record).some(
      (later) =>
        later.ordinal > ordinal || (later.ordinal === ordinal && later.position > record.position),
    )
  }

  /** Whether an earlier attempt sent something in the record's place, and nobody knows what became of it. */
  isUnanswered(record: Placed, pageDigest: string): boolean {
    return this.#find(record).some(
      (sent) => sent.pageDigest === pageDigest && sent.position === record.position,
    )
  }

  /** The same of another content, also in doubt: whatever is known of this one, that may have been written since. */
  isOtherUnanswered(record: SentRecord, pageDigest: string): boolean {
    const { position, recordDigest } = record
    const sent = this.#find(record)
      .filter((each) => each.pageDigest === pageDigest && each.position === position)
      .map((each) => each.recordDigest)
    const inDoubt = this.#inDoubt.get(placeOf({ pageDigest, position })) ?? []
    return [...sent, ...inDoubt].some((digest) => digest !== recordDigest)
  }

  /** What was sent from the page and does not stand in its place any more. */
  listLeftBehind(page: {
    readonly pageDigest: string
    readonly records: readonly Placed[]
  }): readonly LeftBehind[] {
    const sent = this.#ofPage.get(page.pageDigest) ?? []
    const standing = new Map(
      sent.length > 0 ? page.records.map((each) => [each.position, each.identityHash]) : [],
    )
    return sent.filter(({ position, identityHash }) => standing.get(position) !== identityHash)
  }

  /**
   * The monotonic moment before which another content of the record's identities may still land; null:
   * the record may be sent at once, as it is what was sent, or nothing of it is in flight.
   */
  findQuietAtMs(record: SentRecord, pageDigest: string): number | null {
    const others = this.#find(record).filter(
      (other) =>
        other.pageDigest !== pageDigest ||
        other.position !== record.position ||
        other.recordDigest !== record.recordDigest,
    )
    return others.length > 0 ? Math.max(...others.map((other) => other.quietAtMs)) : null
  }

  #note(hashes: readonly string[], inFlight: InFlight): void {
    for (const hash of new Set(hashes)) {
      append(this.#inFlight, hash, inFlight)
    }
    append(this.#ofPage, inFlight.pageDigest, inFlight)
  }

  #find(record: Named): readonly InFlight[] {
    if (this.#inFlight.size === 0) {
      return []
    }
    return [
      ...(this.#inFlight.get(record.identityHash) ?? []),
      ...(this.#inFlight.get(record.destinationIdentityHash) ?? []),
    ]
  }
}

/** Both names of each record of an intent. Its own source names count, where it kept them: its page may have gone. */
function namesOf(intent: LeftIntent): string[][] {
  const destinations = unpackHashes(intent.destinationIdentities)
  const ofPage = unpackHashes(intent.pageIdentities ?? '')
  const own = intent.identities === null ? null : unpackHashes(intent.identities)
  return intent.positions.map((position, index) =>
    [own ? own[index] : ofPage[position], destinations[index]].filter((hash) => hash !== undefined),
  )
}

function placeOf(place: Pick<InFlight, 'pageDigest' | 'position'>): string {
  return `${place.pageDigest} ${place.position}`
}

function append<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key)
  if (list) {
    list.push(item)
  } else {
    lists.set(key, [item])
  }
}

function toInFlight(
  intent: LeftIntent,
  place: {
    readonly index: number
    readonly hashes: readonly string[]
    readonly loadedAtMs: number
  },
): InFlight {
  const { index, hashes, loadedAtMs } = place
  const width = RECORD_DIGEST_BYTES * 2
  return {
    pageDigest: intent.pageDigest,
    ordinal: intent.pageOrdinal ?? Number.POSITIVE_INFINITY,
    position: intent.positions[index] ?? -1,
    identityHash: hashes[0] ?? '',
    recordDigest: intent.recordDigests.slice(index * width, (index + 1) * width),
    quietAtMs: loadedAtMs + intent.quietInMs,
  }
}
