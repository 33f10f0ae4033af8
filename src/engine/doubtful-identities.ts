/**
 * Identities of which a delivery is in doubt: nothing of theirs is sent until the doubt is settled.
 *
 * Both names count, the source's and the destination's, so that neither a changed row nor a changed
 * mapping hides a doubt.
 */
import type { LeftIntent } from '../store/ledger.ts'
import { unpackHashes } from './prepare-page.ts'

interface Named {
  readonly identityHash: string
  readonly destinationIdentityHash: string
}

export class DoubtfulIdentities {
  readonly #hashes = new Set<string>()

  /** Takes in what earlier epochs left behind. */
  addIntents(intents: readonly LeftIntent[]): void {
    for (const intent of intents) {
      const pageIdentities = unpackHashes(intent.pageIdentities)
      for (const position of intent.positions) {
        const identity = pageIdentities[position]
        if (identity !== undefined) {
          this.#hashes.add(identity)
        }
      }
      for (const hash of unpackHashes(intent.destinationIdentities)) {
        this.#hashes.add(hash)
      }
    }
  }

  add(record: Named): void {
    this.#hashes.add(record.identityHash)
    this.#hashes.add(record.destinationIdentityHash)
  }

  has(record: Named): boolean {
    return this.#hashes.has(record.identityHash) || this.#hashes.has(record.destinationIdentityHash)
  }

  hasIdentity(identityHash: string): boolean {
    return this.#hashes.has(identityHash)
  }
}
