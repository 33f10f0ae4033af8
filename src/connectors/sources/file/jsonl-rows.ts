/**
 * JSON Lines: one JSON object a line.
 *
 * Invariants: a line ends at a line feed and nowhere else (U+2028 is text). A number that JavaScript
 * would round arrives as the text it was written as. Of a member named twice the last one counts. A
 * line that is no object is reported and the lines behind it still come; blank lines are no rows.
 */
import { isSafeNumber, parse as parseLossless } from 'lossless-json'
import {
  describeUnstorableText,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from '../../../domain/json.ts'
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

/** Numbers that could be rounded: 16 digits and more, or an exponent. Only these lines pay for the exact parser. */
const MAY_BE_ROUNDED = /\d[\d.]{15}|\d[eE]/

/** The object of a line, or what is wrong with it. JSON's own error repeats the text; ours does not. */
function readObject(line: string): JsonObject | string {
  let value: JsonValue
  try {
    value = JSON.parse(line)
  } catch {
    return 'is not valid JSON'
  }
  if (!isJsonObject(value)) {
    return 'is not a JSON object'
  }
  if (isDeeperThan(value, MAX_JSON_DEPTH)) {
    return `is nested more than ${MAX_JSON_DEPTH} levels deep`
  }
  if (line.includes('"__proto__"')) {
    return 'has a member named __proto__, which may not be the name of a field'
  }
  // Halves of surrogate pairs and NULs can only be written as escapes.
  const unfit = line.includes('\\u') ? describeUnfitMember(value) : null
  if (unfit) {
    return unfit
  }
  return MAY_BE_ROUNDED.test(line) ? parseExactly(line) : value
}

function parseExactly(line: string): JsonObject | string {
  const value = parseLossless(line, null, {
    parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : digits),
    onDuplicateKey: ({ newValue }) => newValue,
  })
  return isJsonObject(value) ? value : 'is not a JSON object'
}

function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (value === null || typeof value !== 'object') {
    return false
  }
  if (levels === 0) {
    return true
  }
  const members = isJsonArray(value) ? value : Object.values(value)
  return members.some((member) => isDeeperThan(member, levels - 1))
}

function describeUnfitMember(record: JsonObject): string | null {
  for (const [name, value] of Object.entries(record)) {
    const unfit = describeUnstorableText(name)
    if (unfit) {
      return `has a member whose name ${unfit}`
    }
    const problem = describeUnfitValue(value)
    if (problem) {
      return `${name} ${problem}`
    }
  }
  return null
}

function describeUnfitValue(value: JsonValue): string | null {
  if (typeof value === 'string') {
    return describeUnstorableText(value)
  }
  if (value === null || typeof value !== 'object') {
    return null
  }
  if (isJsonArray(value)) {
    return firstProblem(value, describeUnfitValue)
  }
  return describeUnfitMember(value) === null ? null : 'has a member that cannot be stored'
}

function firstProblem(
  values: readonly JsonValue[],
  describe: (value: JsonValue) => string | null,
): string | null {
  for (const value of values) {
    const problem = describe(value)
    if (problem) {
      return problem
    }
  }
  return null
}
