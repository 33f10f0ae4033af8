/**
 * What a row of a file is known by: its identity field, or else its content and the how-many-eth of
 * equal ones in its page it is.
 *
 * Invariant: reading the same range again names the same rows the same, in the same order. The content
 * is taken in the order of the file's columns: sorting it first cost a third of the reading speed, and a
 * file whose columns were moved is read from its beginning anyway.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../../domain/json.ts'

export class RecordNamer {
  readonly #identityField: string | null
  readonly #occurrences = new Map<string, number>()

  /** One a page: occurrences are counted from its first record. */
  constructor(identityField: string | null) {
    this.#identityField = identityField
  }

  /** Null when the record has no value in the identity field. */
  identify(fields: JsonObject): string | null {
    if (this.#identityField === null) {
      return this.#nameContent(JSON.stringify(fields))
    }
    const value = Object.hasOwn(fields, this.#identityField) ? fields[this.#identityField] : null
    switch (typeof value) {
      case 'string':
        return value.trim() === '' ? null : value
      case 'number':
      case 'boolean':
        return String(value)
      default:
        return null
    }
  }

  /** For a row that is no record. */
  identifyRaw(row: Buffer): string {
    return this.#nameContent(row)
  }

  describeMissingIdentity(): string {
    return `has no value for ${this.#identityField}, the identity field`
  }

  #nameContent(content: string | Buffer): string {
    const digest = hash('sha256', content, 'base64url')
    const occurrence = this.#occurrences.get(digest) ?? 0
    this.#occurrences.set(digest, occurrence + 1)
    return `content:${digest}:${occurrence}`
  }
}
