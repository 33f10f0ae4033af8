/**
 * CSV (RFC 4180, with `,` `;` tab or `|`): the header, and the rows behind it.
 *
 * Invariants: every boundary comes from csv-parse. Values are text, unchanged; an empty one is ''. A
 * row that does not fit the header, or breaks the rules of quotes, is reported and the rows behind it
 * still come; only a quote that is never closed ends the reading.
 *
 * The parser runs in its lenient mode, so that a stray quote does not cost the rest of the file; what
 * then holds a quotation mark is parsed once more, alone and strictly, and reported if it breaks.
 */
import { CsvError, type Options, Parser } from 'csv-parse'
import { parse } from 'csv-parse/sync'
import { describeUnstorableText, type JsonObject } from '../../../domain/json.ts'
import { ConnectorError } from '../../connector.ts'
import { type ByteTrail, countLineFeeds } from './byte-trail.ts'
import type { FileBytes } from './file-bytes.ts'
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

export const DELIMITERS = [',', ';', '\t', '|'] as const
export type Delimiter = (typeof DELIMITERS)[number]

export interface CsvOptions {
  readonly delimiter: Delimiter
  readonly encoding: Encoding
}

const MAX_HEADER_BYTES = 1024 * 1024
const FIRST_HEADER_BYTES = 64 * 1024
const MAX_COLUMNS = 2_000

interface CsvHeader {
  readonly columns: readonly string[]
  /** As they stand in the file, without a byte order mark. */
  readonly bytes: Buffer
}

/**
 * Reads the header from `start` (behind a byte order mark). Throws ConnectorError, with a sentence for
 * the person who named the file, when there is none or its columns cannot be told apart.
 */
export async function readCsvLayout(
  file: FileBytes,
  start: number,
  options: CsvOptions,
): Promise<Layout & { readonly columns: readonly string[] }> {
  const header = await readHeader(file, start, options)
  const problem = describeColumnProblem(header.columns)
  if (problem) {
    throw new ConnectorError('node_failed', problem)
  }
  return {
    columns: header.columns,
    dataStart: start + header.bytes.length,
    line: 1 + countLineFeeds(header.bytes),
    openRows: (trail) => new CsvRows(trail, header, options),
  }
}

async function readHeader(file: FileBytes, start: number, options: CsvOptions): Promise<CsvHeader> {
  for (let size = FIRST_HEADER_BYTES; ; size = MAX_HEADER_BYTES) {
    const bytes = await file.read(start, size)
    const isWholeFile = bytes.length < size
    const header = parseHeader(bytes, isWholeFile, options)
    if (header) {
      return header
    }
    if (isWholeFile) {
      throw new ConnectorError('node_failed', 'The file has no header line.')
    }
    if (size === MAX_HEADER_BYTES) {
      throw new ConnectorError('node_failed', 'line 1: the header line is longer than 1 MiB.')
    }
  }
}

/** Null where `bytes` hold no header, or only the beginning of one. */
function parseHeader(bytes: Buffer, isWholeFile: boolean, options: CsvOptions): CsvHeader | null {
  try {
    const found: unknown = parse(bytes, { ...parserOptions(options), to: 1, info: true })
    const first = Array.isArray(found) ? found[0] : undefined
    if (!first || (!isWholeFile && first.info.bytes === bytes.length && bytes.at(-1) !== 0x0a)) {
      return null
    }
    const columns: string[] = first.record
    return {
      columns: columns.map((name) => decode(name, options.encoding).trim()),
      bytes: Buffer.from(bytes.subarray(0, first.info.bytes)),
    }
  } catch (error) {
    if (!isWholeFile && error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED') {
      return null
    }
    throw new ConnectorError('node_failed', `line 1: the header ${describeQuoteProblem(error)}.`)
  }
}

function describeColumnProblem(columns: readonly string[]): string | null {
  if (columns.length > MAX_COLUMNS) {
    return `The header has ${columns.length} columns; a file may have ${MAX_COLUMNS}.`
  }
  const seen = new Set<string>()
  for (const [index, name] of columns.entries()) {
    const unfit = name === '__proto__' ? 'may not be the name of a column' : describeUnfitName(name)
    if (unfit) {
      return name === ''
        ? `The header has no name for column ${index + 1}.`
        : `The header has a name for column ${index + 1} that ${unfit}.`
    }
    if (seen.has(name)) {
      return `The header has the column ${JSON.stringify(name)} twice; rename one of them.`
    }
    seen.add(name)
  }
  return null
}

function describeUnfitName(name: string): string | null {
  if (name === '') {
    return 'is empty'
  }
  if (name.includes('\uFFFD')) {
    return 'is not valid UTF-8; set the encoding of the file'
  }
  return name.includes('\r')
    ? 'contains a carriage return; the lines of the file must end with a line feed'
    : describeUnstorableText(name)
}

class CsvRows implements Rows {
  broken: string | null = null
  readonly #trail: ByteTrail
  readonly #header: CsvHeader
  readonly #options: CsvOptions
  readonly #parser: Parser
  readonly #queue = new RowQueue()
  /** Offset in the file of byte 0 of what the parser was given; the header is given first. */
  readonly #base: number
  /** Where the last row ended. */
  #boundary: number
  #isHeaderWritten = false
  #isHeaderSeen = false
  #isFinished = false

  constructor(trail: ByteTrail, header: CsvHeader, options: CsvOptions) {
    this.#trail = trail
    this.#header = header
    this.#options = options
    this.#base = trail.offset - header.bytes.length
    this.#boundary = trail.offset
    this.#parser = new Parser({
      ...parserOptions(options),
      relax_quotes: true,
      relax_column_count: true,
      on_record: (values: string[], context) => {
        this.#onRow(values, this.#base + context.bytes)
        return null
      },
    })
    // Every failure reaches the callback of the write it belongs to; without a listener Node would throw it.
    this.#parser.on('error', () => undefined)
  }

  take(): Row | undefined {
    return this.#queue.take()
  }

  async fill(signal: AbortSignal): Promise<boolean> {
    if (this.#isFinished) {
      return false
    }
    try {
      // The header goes first, so that the parser knows how many columns to expect.
      if (!this.#isHeaderWritten) {
        this.#isHeaderWritten = true
        await this.#write(this.#header.bytes)
      }
      await this.#parseChunk(await this.#trail.read(signal))
    } catch (error) {
      if (!(error instanceof CsvError)) {
        throw error
      }
      this.#isFinished = true
      this.broken = describeQuoteProblem(error)
    }
    return !this.#isFinished
  }

  async #parseChunk(chunk: Buffer | null): Promise<void> {
    if (chunk === null) {
      this.#isFinished = true
      await this.#end()
      return
    }
    await this.#write(chunk)
    if (this.#trail.readOffset - this.#boundary > MAX_UNFINISHED_ROW_BYTES) {
      this.#isFinished = true
      this.broken = 'does not end within 4 MiB; perhaps a quote is never closed'
    }
  }

  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#parser.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
  }

  #end(): Promise<void> {
    return new Promise((resolve, reject) => {
      const parser = this.#parser
      parser.once('error', reject)
      parser.end(() => (parser.errored ? reject(parser.errored) : resolve()))
    })
  }

  #onRow(values: string[], end: number): void {
    if (!this.#isHeaderSeen) {
      this.#isHeaderSeen = true
      // An unterminated header may have been continued since it was read.
      if (values.length !== this.#header.columns.length) {
        throw new ConnectorError('node_failed', 'The header changed while the file was read.')
      }
      return
    }
    const start = this.#boundary
    this.#boundary = end
    this.#queue.push(this.#readRow(values, start, end))
  }

  #readRow(values: string[], start: number, end: number): Row {
    const { columns } = this.#header
    if (end - start > MAX_ROW_BYTES) {
      return { end, problem: TOO_LARGE }
    }
    const raw = (): Buffer => this.#trail.slice(start, end)
    const fields: Record<string, string> = {}
    for (let column = 0; column < values.length; column += 1) {
      const name = columns[column]
      const value = decode(values[column] ?? '', this.#options.encoding)
      const problem = this.#describeValueProblem(value, raw)
      if (problem) {
        return {
          end,
          problem: problem.isOfRow
            ? problem.text
            : `${name ?? `column ${column + 1}`} ${problem.text}`,
        }
      }
      if (name !== undefined) {
        fields[name] = value
      }
    }
    if (values.length !== columns.length) {
      return { end, problem: describeColumnCount(values.length, columns.length) }
    }
    return { end, fields: fields satisfies JsonObject }
  }

  #describeValueProblem(
    value: string,
    raw: () => Buffer,
  ): { readonly text: string; readonly isOfRow: boolean } | null {
    if (value.includes('"')) {
      const broken = describeStrictly(raw(), this.#options)
      if (broken) {
        return { text: broken, isOfRow: true }
      }
    }
    if (value.includes('\0')) {
      return { text: 'contains a NUL character', isOfRow: false }
    }
    return lostCharacters(value, raw)
      ? { text: 'is not valid UTF-8; set the encoding of the file', isOfRow: false }
      : null
  }
}

function describeColumnCount(count: number, expected: number): string {
  return `has ${count} ${count === 1 ? 'column' : 'columns'}, the header has ${expected}`
}

/** What is wrong with the quotes of one row, or null. */
function describeStrictly(row: Buffer, options: CsvOptions): string | null {
  try {
    parse(row, { ...parserOptions(options), relax_column_count: true })
    return null
  } catch (error) {
    return describeQuoteProblem(error)
  }
}

/** csv-parse's own words repeat values; ours do not. Throws what is no error of the parser. */
function describeQuoteProblem(error: unknown): string {
  if (!(error instanceof CsvError)) {
    throw error
  }
  const code: string = error.code
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'has a quote that is never closed'
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has text behind a closing quote'
    case 'INVALID_OPENING_QUOTE':
      return 'has a quote inside of a value that is not quoted'
    default:
      return `cannot be read as CSV (${code})`
  }
}

/** Line ends are LF or CRLF, also mixed; blank lines are no rows. */
function parserOptions(options: CsvOptions): Options {
  return {
    columns: false,
    delimiter: options.delimiter,
    encoding: options.encoding === 'utf-8' ? 'utf8' : 'latin1',
    record_delimiter: ['\r\n', '\n'],
    skip_empty_lines: true,
  }
}

function decode(value: string, encoding: Encoding): string {
  return encoding === 'utf-8' ? value : fromLatin1(value)
}
