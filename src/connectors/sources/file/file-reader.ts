/**
 * Reads one file page by page.
 *
 * A cursor is known as long as the bytes before it are what they were when it was made, and a row still
 * ends there. So an appended file goes on behind the cursor, with the new records only. A file that was
 * replaced, truncated or edited before the cursor is read from its first record again, in a new
 * generation: all its records get new delivery keys and are sent again, which is safe, where going on at
 * an offset that means something else is not. A range of such a file is gone.
 *
 * Invariants: what a page says of the bytes before `to` is true of the bytes that were read. The prefix
 * is hashed once when the reader is placed, not again while it reads on. The end is only told after the
 * file was found unchanged since, or its prefix proved again; a file that shrinks has no end.
 *
 * Limits, told in the docs: a last line without a line feed is a record; should it be continued later,
 * the file counts as edited. A file that is rewritten in place while it is read may be seen half old,
 * half new, until the reader notices and starts over: write beside it and rename.
 */
import type { Hash } from 'node:crypto'
import { MAX_PAGE_RECORDS, type SourceRecord } from '../../../domain/page.ts'
import { assert } from '../../../runtime/assert.ts'
import { ConnectorError } from '../../connector.ts'
import type { ReadRequest, ReadResult, SourceReader } from '../../source.ts'
import { RecordNamer } from '../record-identity.ts'
import { ByteTrail, emptyHash, hashRange, isRowEnd } from './byte-trail.ts'
import { type FileBytes, type FileState, isSameState } from './file-bytes.ts'
import { cursorText, type FileCursor, parseCursor } from './file-cursor.ts'
import type { Layout, Row, Rows } from './rows.ts'
import { failureOfSystem } from './stream-path.ts'

/** A page ends early past it, so that 10,000 large records do not fill the memory. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** Blank lines in a row, in bytes: what has not become a row is kept. */
const MAX_BLANK_BYTES = 16 * 1024 * 1024
/** Up to here a changed file's prefix is hashed again at every page; behind it only when the offset has doubled. */
const CHEAP_PREFIX_BYTES = 1024 * 1024
/** A file that was rewritten more often during one read is not at rest. */
const MAX_STARTS_PER_READ = 10

export interface FileReaderOptions {
  readonly file: FileBytes
  readonly identityField: string | null
  readonly totalRecords: number | null
  /** Null: each record names its own. */
  readonly fields: readonly string[] | null
  readonly chunkBytes: number
  /** Reads how the file begins; throws ConnectorError. Called again when the file was replaced. */
  readLayout(): Promise<Layout>
}

/** Where the reader stands: proven up to `cursor.offset`, of which `hash` is the digest. */
interface Standing {
  readonly cursor: FileCursor
  readonly hash: Hash
  readonly layout: Layout
  /** What is read ahead; null: nothing. */
  readonly ahead: Ahead | null
}

interface Ahead {
  readonly trail: ByteTrail
  readonly rows: Rows
}

interface Collected {
  readonly records: SourceRecord[]
  readonly ahead: Ahead
  /** Why the row behind the last one cannot be read, or null. */
  readonly broken: string | null
}

export class FileReader implements SourceReader {
  readonly totalRecords: number | null
  readonly #options: FileReaderOptions
  #standing: Standing | null = null
  /** The file when its prefix was proven last, and up to where. */
  #proven: { readonly state: FileState; readonly offset: number } | null = null
  /** Reads are taken one after the other: they share the position. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: FileReaderOptions) {
    this.#options = options
    this.totalRecords = options.totalRecords
  }

  readPage(request: ReadRequest): Promise<ReadResult> {
    const read = this.#last.then(() => this.#readPage(request))
    this.#last = read.catch(() => undefined)
    return read
  }

  listFields(): Promise<readonly string[] | null> {
    return Promise.resolve(this.#options.fields)
  }

  async close(): Promise<void> {
    await this.#last
    this.#standing = null
    await this.#options.file.close()
  }

  async #readPage(request: ReadRequest): Promise<ReadResult> {
    assert(
      request.limit >= 1 && request.limit <= MAX_PAGE_RECORDS,
      `A page has 1 to ${MAX_PAGE_RECORDS} records.`,
    )
    const from = request.from === null ? null : parseCursor(request.from)
    const to = request.to === null ? null : parseCursor(request.to)
    try {
      return to === null
        ? await this.#readOn(from, request)
        : await this.#readRange(from, to, request)
    } catch (error) {
      // What was taken from the rows read ahead is lost with the page: the next read parses it again.
      this.#standing = null
      throw request.signal.aborted ? request.signal.reason : asConnectorError(error)
    }
  }

  async #readOn(from: FileCursor | null, request: ReadRequest): Promise<ReadResult> {
    const { limit, signal } = request
    for (let starts = 0; starts < MAX_STARTS_PER_READ; starts += 1) {
      const standing =
        (await this.#stand(from, signal)) ??
        (await this.#standAtStart((from?.generation ?? 0) + 1, signal))
      const { records, ahead, broken } = await this.#collect(standing, { limit, end: null, signal })
      if (records.length > 0) {
        return this.#turnPage(standing, ahead, records)
      }
      if (broken !== null) {
        throwBroken(ahead.trail, broken)
      }
      if (await this.#isUnchanged()) {
        return { kind: 'end' }
      }
      // Proven again from the first byte: the end of a file that changed is not believed.
      this.#standing = null
    }
    throw new ConnectorError(
      'node_failed',
      'The file keeps changing while it is read; write it beside and rename it.',
    )
  }

  /** The rows of a range that is proven to be what it was, its end included. */
  async #readRange(
    from: FileCursor | null,
    to: FileCursor,
    request: ReadRequest,
  ): Promise<ReadResult> {
    const gone: ReadResult = {
      kind: 'gone',
      reason: 'The file was replaced, truncated or edited since the page was read.',
    }
    if (to.generation !== (from?.generation ?? 0) || to.offset < (from?.offset ?? 0)) {
      return gone
    }
    const standing = await this.#stand(from, request.signal)
    if (standing === null || !(await this.#isPrefix(standing, to, request.signal))) {
      return gone
    }
    const { records, ahead, broken } = await this.#collect(standing, {
      limit: Number.POSITIVE_INFINITY,
      end: to.offset,
      signal: request.signal,
    })
    if (broken !== null) {
      throwBroken(ahead.trail, broken)
    }
    const { trail } = ahead
    trail.advance(trail.readOffset)
    if (trail.offset !== to.offset || trail.digest() !== to.prefix) {
      return gone
    }
    this.#standing = { cursor: to, hash: trail.hash, layout: standing.layout, ahead: null }
    return { kind: 'page', from: cursorText(standing.cursor), to: cursorText(to), records }
  }

  async #isPrefix(standing: Standing, to: FileCursor, signal: AbortSignal): Promise<boolean> {
    const hash = standing.hash.copy()
    const range = { from: standing.cursor.offset, to: to.offset, signal }
    const isThere = await hashRange(this.#options.file, hash, range)
    return (
      isThere && hash.digest('hex') === to.prefix && (await this.#isBoundary(to, standing.layout))
    )
  }

  /** A last line that was read without its line feed may have been continued since: then it is another row. */
  async #isBoundary(cursor: FileCursor, layout: Layout): Promise<boolean> {
    const { offset } = cursor
    return offset === layout.dataStart || (await isRowEnd(this.#options.file, offset))
  }

  #turnPage(standing: Standing, ahead: Ahead, records: readonly SourceRecord[]): ReadResult {
    const { trail } = ahead
    const to: FileCursor = {
      generation: standing.cursor.generation,
      record: standing.cursor.record + records.length,
      offset: trail.offset,
      line: trail.line,
      prefix: trail.digest(),
    }
    this.#standing = { cursor: to, hash: trail.hash.copy(), layout: standing.layout, ahead }
    return { kind: 'page', from: cursorText(standing.cursor), to: cursorText(to), records }
  }

  async #collect(
    standing: Standing,
    bounds: { readonly limit: number; readonly end: number | null; readonly signal: AbortSignal },
  ): Promise<Collected> {
    const ahead = (bounds.end === null && standing.ahead) || this.#openAhead(standing, bounds.end)
    const { trail, rows } = ahead
    const start = trail.offset
    const namer = new RecordNamer(this.#options.identityField)
    const records: SourceRecord[] = []
    let boundary = start
    let isMore = true
    while (records.length < bounds.limit && boundary - start < MAX_PAGE_BYTES) {
      const row: Row | undefined = rows.take()
      if (row) {
        records.push(nameRow(namer, row, boundary, trail))
        boundary = row.end
      } else if (trail.readOffset - boundary > MAX_BLANK_BYTES) {
        trail.advance(boundary)
        return { records, ahead, broken: 'does not begin within 16 MiB' }
      } else if (isMore) {
        isMore = await rows.fill(bounds.signal)
      } else {
        break
      }
    }
    trail.advance(boundary)
    return { records, ahead, broken: isMore ? null : rows.broken }
  }

  #openAhead(standing: Standing, end: number | null): Ahead {
    const { offset, line } = standing.cursor
    const { hash, layout } = standing
    const { file, chunkBytes } = this.#options
    const trail = new ByteTrail({ file, offset, line, hash, end, chunkBytes })
    return { trail, rows: layout.openRows(trail) }
  }

  /** Stands at `cursor`, null being the start of generation 0. Null when what lies before it is not known. */
  async #stand(cursor: FileCursor | null, signal: AbortSignal): Promise<Standing | null> {
    if (cursor === null) {
      return this.#standAtStart(0, signal)
    }
    const standing = this.#standing
    const state = await this.#options.file.readState()
    if (standing && this.#isTrusted(state, standing)) {
      if (cursorText(standing.cursor) === cursorText(cursor)) {
        return standing
      }
      if (standing.cursor.offset <= cursor.offset) {
        const { hash, layout, cursor: at } = standing
        const moved = await this.#prove(cursor, { hash, offset: at.offset, layout }, signal)
        if (moved) {
          return moved
        }
      }
    }
    const layout = await this.#options.readLayout()
    const proven = await this.#prove(cursor, { hash: emptyHash(), offset: 0, layout }, signal)
    this.#proven = proven && { state, offset: cursor.offset }
    return proven
  }

  async #standAtStart(generation: number, signal: AbortSignal): Promise<Standing> {
    const state = await this.#options.file.readState()
    const layout = await this.#options.readLayout()
    const hash = emptyHash()
    await hashRange(this.#options.file, hash, { from: 0, to: layout.dataStart, signal })
    const prefix = hash.copy().digest('hex')
    const { dataStart: offset, line } = layout
    const cursor: FileCursor = { generation, record: 0, offset, line, prefix }
    this.#standing = { cursor, hash, layout, ahead: null }
    this.#proven = { state, offset }
    return this.#standing
  }

  /** Hashes on from a proven place to `cursor`. */
  async #prove(
    cursor: FileCursor,
    start: { readonly hash: Hash; readonly offset: number; readonly layout: Layout },
    signal: AbortSignal,
  ): Promise<Standing | null> {
    const { layout } = start
    const hash = start.hash.copy()
    const range = { from: start.offset, to: cursor.offset, signal }
    if (
      cursor.offset < layout.dataStart ||
      !(await hashRange(this.#options.file, hash, range)) ||
      hash.copy().digest('hex') !== cursor.prefix ||
      !(await this.#isBoundary(cursor, layout))
    ) {
      return null
    }
    this.#standing = { cursor, hash, layout, ahead: null }
    return this.#standing
  }

  /** Whether the reader may go on from where it stands without hashing the prefix again. */
  #isTrusted(state: FileState, standing: Standing): boolean {
    const proven = this.#proven
    const { offset } = standing.cursor
    const { isPlain } = this.#options.file
    if (proven === null || (isPlain && BigInt(offset) > state.size)) {
      return false
    }
    return (
      isSameState(proven.state, state) ||
      (isPlain && offset > CHEAP_PREFIX_BYTES && offset < 2 * proven.offset)
    )
  }

  async #isUnchanged(): Promise<boolean> {
    const state = await this.#options.file.readState()
    return this.#proven !== null && isSameState(this.#proven.state, state)
  }
}

function nameRow(namer: RecordNamer, row: Row, boundary: number, trail: ByteTrail): SourceRecord {
  if (row.fields) {
    const identity = namer.identify(row.fields)
    if (identity !== null) {
      return { identity, fields: row.fields }
    }
  }
  trail.advance(boundary)
  trail.advance(trail.rowStart(row.end))
  const raw = trail.slice(trail.offset, row.end)
  const problem = row.problem ?? namer.describeMissingIdentity()
  return { identity: namer.identifyRaw(raw), problem: `line ${trail.line}: ${problem}` }
}

function throwBroken(trail: ByteTrail, broken: string): never {
  trail.advance(trail.rowStart(trail.readOffset))
  throw new ConnectorError('node_failed', `line ${trail.line}: the row ${broken}.`)
}

function asConnectorError(error: unknown): unknown {
  if (error instanceof Error && 'syscall' in error && 'code' in error) {
    const reason = `The file could not be read (${error.code}).`
    return new ConnectorError(failureOfSystem(error), reason, { cause: error })
  }
  return error
}
