/**
 * What was seen last of each record: enough to tell that a record comes again unchanged, and nothing of the record.
 *
 * Invariant: a record is only called unchanged when its content is that of the last time it was seen. A content that
 * comes back (A, B, A) is another one each time, also within one reading.
 */
import { hash } from 'node:crypto'

const IDENTITY_LENGTH = 8
const CONTENT_LENGTH = 11
/** Characters that one record takes. */
export const RECALL_ENTRY_LENGTH = IDENTITY_LENGTH + CONTENT_LENGTH

export interface Sighting {
  readonly identity: string
  readonly content: string
}

export function sightingOf(identity: string, json: string): Sighting {
  return {
    identity: hash('sha256', identity, 'base64url').slice(0, IDENTITY_LENGTH),
    content: hash('sha256', json, 'base64url').slice(0, CONTENT_LENGTH),
  }
}

/** By identity, the contents that were sent between two cursors of a pass, as far as they are remembered. */
export function sentBetween(
  from: { readonly known: string; readonly seen: string },
  to: { readonly seen: string },
): Map<string, string> {
  const before = new Map([...unpack(from.known), ...unpack(from.seen)])
  return new Map(unpack(to.seen).filter(([identity, content]) => before.get(identity) !== content))
}

function unpack(packed: string): (readonly [identity: string, content: string])[] {
  return Array.from({ length: packed.length / RECALL_ENTRY_LENGTH }, (_, index) => {
    const start = index * RECALL_ENTRY_LENGTH
    const middle = start + IDENTITY_LENGTH
    return [packed.slice(start, middle), packed.slice(middle, start + RECALL_ENTRY_LENGTH)] as const
  })
}

/** At most `most` records; the ones seen first are forgotten first. */
export class Recall {
  readonly #contents: Map<string, string>
  readonly #most: number

  constructor(packed: string, most: number) {
    this.#most = most
    this.#contents = new Map(unpack(packed))
  }

  /** Undefined: nothing is known of the record. */
  contentOf({ identity }: Sighting): string | undefined {
    return this.#contents.get(identity)
  }

  note({ identity, content }: Sighting): void {
    this.#contents.delete(identity)
    this.#contents.set(identity, content)
    if (this.#contents.size > this.#most) {
      const [first] = this.#contents.keys()
      this.forget(first ?? '')
    }
  }

  forget(identity: string): void {
    this.#contents.delete(identity)
  }

  packed(): string {
    return Array.from(this.#contents, ([identity, content]) => identity + content).join('')
  }
}
