/**
 * How many records a file has, where that is cheap, for a progress bar. A hint, not a promise: rows
 * that are no records count too, and the file may grow.
 *
 * Decision: without quotation marks every line that is not blank is a row, in both formats, so lines
 * are counted (64 MiB in about 0.1 s). A CSV with quotes has to be parsed, which is only done up to
 * 1 MiB (about 0.1 s). Else null.
 */
import { ByteTrail, emptyHash } from './byte-trail.ts'
import type { FileBytes } from './file-bytes.ts'
import type { Layout } from './rows.ts'

const MAX_COUNTED_BYTES = 64 * 1024 * 1024
const MAX_PARSED_BYTES = 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22

export async function countRecords(
  file: FileBytes,
  layout: Layout,
  options: { readonly isCsv: boolean; readonly signal: AbortSignal },
): Promise<number | null> {
  const { size } = await file.readState()
  // What is in a compressed file is only known once it was inflated.
  if (size > MAX_COUNTED_BYTES || !file.isPlain) {
    return null
  }
  const lines = await countLines(file, layout, options)
  return lines === null && size <= MAX_PARSED_BYTES
    ? countRows(file, layout, options.signal)
    : lines
}

/** Lines that hold more than their end. Null when a quotation mark makes lines and rows two things. */
async function countLines(
  file: FileBytes,
  layout: Layout,
  options: { readonly isCsv: boolean; readonly signal: AbortSignal },
): Promise<number | null> {
  let count = 0
  let lineBytes = 0
  let offset = layout.dataStart
  for (;;) {
    options.signal.throwIfAborted()
    const chunk = await file.read(offset, CHUNK_BYTES)
    if (chunk.length === 0) {
      return count + (lineBytes > 0 ? 1 : 0)
    }
    if (options.isCsv && chunk.includes(QUOTE)) {
      return null
    }
    const counted = countFilledLines(chunk, lineBytes)
    count += counted.lines
    lineBytes = counted.rest
    offset += chunk.length
  }
}

/** `carried`: bytes of the first line that lie before the chunk. `rest`: bytes of the line that it ends in. */
function countFilledLines(chunk: Buffer, carried: number): { lines: number; rest: number } {
  let lines = 0
  let bytes = carried
  let start = 0
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
    bytes += at - start - (chunk[at - 1] === CARRIAGE_RETURN ? 1 : 0)
    lines += bytes > 0 ? 1 : 0
    bytes = 0
    start = at + 1
  }
  return { lines, rest: bytes + chunk.length - start }
}

async function countRows(
  file: FileBytes,
  layout: Layout,
  signal: AbortSignal,
): Promise<number | null> {
  const { dataStart: offset, line } = layout
  const trail = new ByteTrail({
    file,
    offset,
    line,
    hash: emptyHash(),
    end: null,
    chunkBytes: CHUNK_BYTES,
  })
  const rows = layout.openRows(trail)
  let count = 0
  for (let isMore = true; isMore; ) {
    isMore = await rows.fill(signal)
    while (rows.take()) {
      count += 1
    }
  }
  return rows.broken === null ? count : null
}
