/** What the parser remembers: bounded in number and size, so that no client fills the memory with documents. */

/** At most so much text, some 10 MB of syntax trees for a document of this size. */
const MAX_TEXT = 16_000
const MAX_ENTRIES = 1_000

/** By the text of a document. What was asked for last stays longest; a long text is not remembered at all. */
export class DocumentCache<Value> {
  readonly #entries = new Map<string, Value>()

  get(text: string): Value | undefined {
    const value = this.#entries.get(text)
    if (value !== undefined) {
      this.#entries.delete(text)
      this.#entries.set(text, value)
    }
    return value
  }

  set(text: string, value: Value): void {
    if (text.length > MAX_TEXT) {
      return
    }
    this.#entries.set(text, value)
    if (this.#entries.size > MAX_ENTRIES) {
      const [oldest = text] = this.#entries.keys()
      this.#entries.delete(oldest)
    }
  }
}
