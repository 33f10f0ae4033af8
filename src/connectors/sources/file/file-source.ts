/**
 * The `file` source: CSV with a header, or JSON Lines, also as gzip, below a directory that the deployment sets.
 *
 * Invariant: the checks of a stream are the same when a sync is saved and when it is read, and each
 * says in one sentence what is wrong. How a cursor works stands in file-reader.ts.
 */
import { access, open } from 'node:fs/promises'
import { extname } from 'node:path'
import type { z } from 'zod'
import type { JsonObject } from '../../../domain/json.ts'
import { ConnectorError } from '../../connector.ts'
import { redact } from '../../redact.ts'
import {
  choiceSetting,
  noSettings,
  settingsObject,
  textSetting,
  withoutUndefined,
} from '../../settings.ts'
import type { OpenSource, SourceConnector, SourceReader } from '../../source.ts'
import { DEFAULT_CHUNK_BYTES } from './byte-trail.ts'
import { countRecords } from './count-records.ts'
import { type CsvOptions, DELIMITERS, type Delimiter, readCsvLayout } from './csv-rows.ts'
import { type FileBytes, PlainFile } from './file-bytes.ts'
import { FileReader } from './file-reader.ts'
import { InflatedFile, MAX_INFLATED_BYTES } from './inflated-file.ts'
import { jsonlLayout } from './jsonl-rows.ts'
import { ENCODINGS, type Encoding, type Layout } from './rows.ts'
import {
  codeOf,
  describeSystemError,
  failureOfSystem,
  quoteStream,
  resolveStream,
} from './stream-path.ts'

const FORMATS = ['CSV', 'JSONL'] as const
type Format = (typeof FORMATS)[number]

const COMPRESSIONS = ['NONE', 'GZIP'] as const
type Compression = (typeof COMPRESSIONS)[number]

const streamOptions = settingsObject({
  format: choiceSetting('format', FORMATS)
    .describe('CSV or JSONL; by default told by the extension of the file.')
    .optional(),
  identityField: textSetting('identityField', 200)
    .describe('The column that names a record. By default a record is known by its content.')
    .optional(),
  delimiter: choiceSetting('delimiter', DELIMITERS)
    .describe('What separates the columns of a CSV; by default a comma, for .tsv a tab.')
    .optional(),
  compression: choiceSetting('compression', COMPRESSIONS)
    .describe('GZIP or NONE; by default told by the extension .gz.')
    .optional(),
  encoding: choiceSetting('encoding', ENCODINGS)
    .describe('How characters are stored; by default utf-8.')
    .optional(),
})

export interface FileSourceOptions {
  /** Files are read below it only. */
  readonly rootDirectory: string
  /** Bytes of one read of a file. Small ones let a test cut a file at every place. */
  readonly chunkBytes?: number
  /** What a gzip file may hold, in bytes. */
  readonly maxInflatedBytes?: number
}

export function createFileSource(source: FileSourceOptions): SourceConnector {
  return {
    type: 'file',
    connectionConfig: noSettings,
    credentials: noSettings,
    testConnection: async () => {
      await access(source.rootDirectory).catch((cause: unknown) => {
        const problem = `The directory of the files cannot be read (${codeOf(cause)}).`
        throw new ConnectorError('node_failed', problem, { cause })
      })
    },
    streamOptions: streamOptions.transform(withoutUndefined),
    describeStreamProblem: async (stream, options) => {
      try {
        const file = await openFile(source, stream, options)
        await file.bytes.close()
        return null
      } catch (error) {
        if (error instanceof ConnectorError) {
          return error.message
        }
        throw error
      }
    },
    listFields: async (stream, options) => {
      const file = await openFile(source, stream, options)
      await file.bytes.close()
      return file.layout.columns
    },
    open: (request) => openReader(source, request),
  }
}

interface OpenFile {
  readonly bytes: FileBytes
  readonly settings: FileSettings
  readonly layout: FileLayout
}

/** `columns`: null where each line names its own fields. */
type FileLayout = Layout & { readonly columns: readonly string[] | null }

/** The stream's options with what the file's name says filled in. */
interface FileSettings {
  readonly format: Format
  readonly identityField: string | null
  readonly delimiter: Delimiter
  readonly encoding: Encoding
  readonly compression: Compression
}

async function openReader(source: FileSourceOptions, request: OpenSource): Promise<SourceReader> {
  request.signal.throwIfAborted()
  const { bytes, settings, layout } = await openFile(source, request.stream, request.options)
  try {
    const isCsv = settings.format === 'CSV'
    const totalRecords = await countRecords(bytes, layout, { isCsv, signal: request.signal })
    return new FileReader({
      file: bytes,
      identityField: settings.identityField,
      totalRecords,
      fields: layout.columns,
      chunkBytes: source.chunkBytes ?? DEFAULT_CHUNK_BYTES,
      readLayout: () => readLayout(bytes, settings),
    })
  } catch (error) {
    await bytes.close()
    throw error
  }
}

/** Throws ConnectorError with what is wrong with the stream. */
async function openFile(
  source: FileSourceOptions,
  stream: string,
  options: JsonObject,
): Promise<OpenFile> {
  const resolved = await resolveStream(source.rootDirectory, stream)
  if (resolved.problem !== undefined) {
    throw new ConnectorError(resolved.failure, resolved.problem)
  }
  const settings = settle(stream, streamOptions.parse(options))
  const handle = await open(resolved.path, 'r').catch((cause: unknown) => {
    throw new ConnectorError(failureOfSystem(cause), describeSystemError(stream, cause), { cause })
  })
  const bytes =
    settings.compression === 'GZIP'
      ? new InflatedFile(handle, source.maxInflatedBytes ?? MAX_INFLATED_BYTES)
      : new PlainFile(handle)
  try {
    return { bytes, settings, layout: await readLayout(bytes, settings) }
  } catch (error) {
    await bytes.close()
    throw error
  }
}

function settle(stream: string, options: z.infer<typeof streamOptions>): FileSettings {
  const isNamedGzip = extname(stream).toLowerCase() === GZIP_EXTENSION
  const inner = isNamedGzip ? stream.slice(0, -GZIP_EXTENSION.length) : stream
  const extension = extname(inner).toLowerCase()
  const format = options.format ?? FORMAT_OF_EXTENSION[extension]
  if (format === undefined) {
    throw new ConnectorError(
      'node_failed',
      `The format of the stream ${quoteStream(stream)} cannot be told from its name; set format to CSV or JSONL.`,
    )
  }
  return {
    format,
    identityField: options.identityField ?? null,
    delimiter: options.delimiter ?? (extension === '.tsv' ? '\t' : ','),
    encoding: options.encoding ?? 'utf-8',
    compression: options.compression ?? (isNamedGzip ? 'GZIP' : 'NONE'),
  }
}

const GZIP_EXTENSION = '.gz'

const FORMAT_OF_EXTENSION: Readonly<Record<string, Format>> = {
  '.csv': 'CSV',
  '.tsv': 'CSV',
  '.txt': 'CSV',
  '.jsonl': 'JSONL',
  '.ndjson': 'JSONL',
}

async function readLayout(file: FileBytes, settings: FileSettings): Promise<FileLayout> {
  const start = await findTextStart(file)
  const { format, identityField, delimiter, encoding } = settings
  if (format === 'JSONL') {
    return { ...jsonlLayout(start, { encoding }), columns: null }
  }
  const options: CsvOptions = { delimiter, encoding }
  const layout = await readCsvLayout(file, start, options)
  if (identityField !== null && !layout.columns.includes(identityField)) {
    throw new ConnectorError(
      'node_failed',
      `identityField names the column ${JSON.stringify(identityField)}, which the file does not have; ${describeColumns(layout.columns)}.`,
    )
  }
  return layout
}

/** Where the text starts: behind a UTF-8 byte order mark. */
async function findTextStart(file: FileBytes): Promise<number> {
  const head = await file.read(0, 3)
  if (head.subarray(0, 2).equals(UTF_16_LE) || head.subarray(0, 2).equals(UTF_16_BE)) {
    throw new ConnectorError('node_failed', 'The file is in UTF-16; save it as UTF-8.')
  }
  return head.equals(UTF_8_MARK) ? UTF_8_MARK.length : 0
}

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const UTF_16_LE = Buffer.from([0xff, 0xfe])
const UTF_16_BE = Buffer.from([0xfe, 0xff])

const MAX_LISTED_COLUMNS = 20

/** The first line of a file without a header is somebody's row, and nobody's names of columns. */
function describeColumns(columns: readonly string[]): string {
  if (columns.some((name) => redact(name) !== name)) {
    return 'its first line looks like a row and not like a header'
  }
  const listed = columns.slice(0, MAX_LISTED_COLUMNS).map((name) => JSON.stringify(name))
  return `its columns are ${listed.join(', ')}${columns.length > MAX_LISTED_COLUMNS ? ' and more' : ''}`
}
