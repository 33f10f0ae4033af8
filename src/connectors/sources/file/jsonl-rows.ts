/**
 * JSON Lines: one JSON object a line.
 *
 * Invariants: a line ends at a line feed and nowhere else (U+2028 is text). A number that JavaScript
 * would round arrives as the text it was written as. Of a member named twice the last one counts. A
 * line that is no object is reported and the lines behind it still come; blank lines are no rows.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json.ts'
import { describeUnfitRecord, keepDigits } from '../exact-json.ts'
import type { ByteTrail } from './byte-trail.ts'
import {
  type Encoding,
  fromLatin1,
  type Layout,
  lostCharacters,
  MAX_ROW_BYTES,
  MAX_UNFINISHED_ROW_BYTES,
  type Row,
  RowQueue,
  type Rows,
  TOO_LARGE,
} from './rows.ts'

export interface JsonlOptions {
  readonly encoding: Encoding
}

const LINE_FEED = 0x0a

/** `start`: behind a byte order mark. */
export function jsonlLayout(start: number, options: JsonlOptions): Layout {
  return { dataStart: start, line: 1, openRows: (trail) => new JsonlRows(trail, options) }
}

class JsonlRows implements Rows {
  broken: string | null = null
  readonly #trail: ByteTrail
  readonly #options: JsonlOptions
  readonly #queue = new RowQueue()
  /** Pieces of the line that is not finished yet. */
  #unfinished: Buffer[] = []
  #unfinishedBytes = 0
  /** Where the last line ended. */
  #boundary: number
  #isFinished = false

  constructor(trail: ByteTrail, options: JsonlOptions) {
    this.#trail = trail
    this.#options = options
    this.#boundary = trail.offset
  }

  take(): Row | undefined {
    return this.#queue.take()
  }

  async fill(signal: AbortSignal): Promise<boolean> {
    if (this.#isFinished) {
      return false
    }
    const chunk = await this.#trail.read(signal)
    if (chunk === null) {
      this.#isFinished = true
      this.#onLine(Buffer.alloc(0))
      return false
    }
    let start = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
      this.#onLine(chunk.subarray(start, at + 1))
      start = at + 1
    }
    this.#unfinished.push(chunk.subarray(start))
    this.#unfinishedBytes += chunk.length - start
    if (this.#unfinishedBytes > MAX_UNFINISHED_ROW_BYTES) {
      this.#isFinished = true
      this.broken = 'does not end within 4 MiB'
    }
    return !this.#isFinished
  }

  #onLine(lastPiece: Buffer): void {
    const bytes =
      this.#unfinishedBytes === 0 ? lastPiece : Buffer.concat([...this.#unfinished, lastPiece])
    this.#unfinished = []
    this.#unfinishedBytes = 0
    const end = this.#boundary + bytes.length
    this.#boundary = end
    if (bytes.length > MAX_ROW_BYTES) {
      this.#queue.push({ end, problem: TOO_LARGE })
      return
    }
    const text = this.#decode(bytes)
    if (text.trim() !== '') {
      const read = lostCharacters(text, () => bytes)
        ? 'is not valid UTF-8; set the encoding of the file'
        : readObject(text)
      this.#queue.push(typeof read === 'string' ? { end, problem: read } : { end, fields: read })
    }
  }

  #decode(bytes: Buffer): string {
    return this.#options.encoding === 'utf-8'
      ? bytes.toString('utf8')
      : fromLatin1(bytes.toString('latin1'))
  }
}

/** The object of a line, or what is wrong with it. JSON's own error repeats the text; ours does not. */
function readObject(line: string): JsonObject | string {
  let value: JsonValue
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not valid JSON'
  }
  const problem = describeUnfitRecord(value, line)
  if (problem !== null) {
    return problem
  }
  const exact = keepDigits(value, line)
  return isJsonObject(exact) ? exact : 'is not a JSON object'
}
