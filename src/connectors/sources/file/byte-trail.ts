/**
 * The bytes of a file, read forwards once: what was read and not yet consumed, and the digest and the
 * line number of what was.
 *
 * Invariant: the digest is made of exactly the bytes that were handed out for parsing, so the cursor of
 * a page can never vouch for anything that the page was not read from, whoever writes to the file
 * meanwhile. Memory is bounded by one page and one chunk, however long the file is.
 */
import { createHash, type Hash } from 'node:crypto'
import { assert } from '../../../runtime/assert.ts'
import type { FileBytes } from './file-bytes.ts'

/** 64 KiB: one chunk is parsed in about 4 ms, so that timers and heartbeats stay on time. */
export const DEFAULT_CHUNK_BYTES = 64 * 1024
/** Chunk of a pass that only hashes: larger, since nothing is parsed. */
const HASH_CHUNK_BYTES = 1024 * 1024
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

export interface TrailStart {
  readonly file: FileBytes
  readonly offset: number
  readonly line: number
  /** Over every byte before `offset`. Copied, not changed. */
  readonly hash: Hash
  /** Nothing at or past it is read; null: as far as the file goes. */
  readonly end: number | null
  readonly chunkBytes: number
}

export class ByteTrail {
  readonly #file: FileBytes
  readonly #hash: Hash
  readonly #end: number
  readonly #chunkBytes: number
  /** Chunks from `#offset` on; the first one starts there. */
  #pending: Buffer[] = []
  #offset: number
  #line: number
  #readOffset: number

  constructor(start: TrailStart) {
    this.#file = start.file
    this.#hash = start.hash.copy()
    this.#end = start.end ?? Number.POSITIVE_INFINITY
    this.#chunkBytes = start.chunkBytes
    this.#offset = start.offset
    this.#readOffset = start.offset
    this.#line = start.line
  }

  /** Up to where bytes were consumed. */
  get offset(): number {
    return this.#offset
  }

  /** Up to where bytes were read. */
  get readOffset(): number {
    return this.#readOffset
  }

  /** The line on which `offset` lies, from 1. */
  get line(): number {
    return this.#line
  }

  /** Over every byte before `offset`, to go on from. */
  get hash(): Hash {
    return this.#hash
  }

  /** 64 hexadecimal characters over every byte before `offset`. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  /**
   * The next chunk; null where the file ends. A carriage return that is the file's last byte is left
   * unread: it is half of a line end whose other half has not been written yet.
   */
  async read(signal: AbortSignal): Promise<Buffer | null> {
    signal.throwIfAborted()
    const wanted = Math.min(this.#chunkBytes, this.#end - this.#readOffset)
    if (wanted <= 0) {
      return null
    }
    let chunk = await this.#file.read(this.#readOffset, wanted, signal)
    if (chunk.at(-1) === CARRIAGE_RETURN && !(await this.#hasByteAt(chunk.length))) {
      chunk = chunk.subarray(0, -1)
    }
    if (chunk.length === 0) {
      return null
    }
    this.#pending.push(chunk)
    this.#readOffset += chunk.length
    return chunk
  }

  /** A range that ends there was cut on purpose: nothing is missing. */
  async #hasByteAt(distance: number): Promise<boolean> {
    const next = this.#readOffset + distance
    return next >= this.#end || (await this.#file.read(next, 1)).length > 0
  }

  /** Consumes the bytes before `to`: they enter the digest, and their line feeds are counted. */
  advance(to: number): void {
    assert(to >= this.#offset && to <= this.#readOffset, 'A trail advances over bytes it has read.')
    while (this.#offset < to) {
      const first = this.#pending[0] ?? Buffer.alloc(0)
      const part = first.subarray(0, to - this.#offset)
      this.#hash.update(part)
      this.#line += countLineFeeds(part)
      this.#offset += part.length
      if (part.length === first.length) {
        this.#pending.shift()
      } else {
        this.#pending[0] = first.subarray(part.length)
      }
    }
  }

  /** The bytes between two offsets, none of them consumed yet. */
  slice(from: number, to: number): Buffer {
    assert(from >= this.#offset && to <= this.#readOffset, 'A trail keeps what is not consumed.')
    const parts: Buffer[] = []
    let start = this.#offset
    for (const chunk of this.#pending) {
      const end = start + chunk.length
      if (end > from && start < to) {
        parts.push(chunk.subarray(Math.max(from - start, 0), to - start))
      }
      start = end
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
  }

  /** Where the row that ends at `to` starts: behind the blank lines at the front. */
  rowStart(to: number): number {
    const bytes = this.slice(this.#offset, to)
    let start = 0
    for (let at = 0; at < bytes.length - 1 && isBlank(bytes[at]); at += 1) {
      start = bytes[at] === LINE_FEED ? at + 1 : start
    }
    return this.#offset + start
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === 0x20 || byte === 0x09
}

/** Hashes `file` from `from` to `to` into `hash`. False when the file ends before `to`. */
export async function hashRange(
  file: FileBytes,
  hash: Hash,
  range: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
): Promise<boolean> {
  let offset = range.from
  while (offset < range.to) {
    range.signal.throwIfAborted()
    const chunk = await file.read(
      offset,
      Math.min(HASH_CHUNK_BYTES, range.to - offset),
      range.signal,
    )
    if (chunk.length === 0) {
      return false
    }
    hash.update(chunk)
    offset += chunk.length
  }
  return true
}

/**
 * Whether a row still ends at `offset`. Behind a line feed it does; a last row without one does as long
 * as nothing, or only the missing line end, follows it.
 */
export async function isRowEnd(file: FileBytes, offset: number): Promise<boolean> {
  const [before, ...after] = await file.read(offset - 1, 3)
  const [first, second] = after
  return (
    before === LINE_FEED ||
    first === undefined ||
    first === LINE_FEED ||
    (first === CARRIAGE_RETURN && (second === undefined || second === LINE_FEED))
  )
}

export function emptyHash(): Hash {
  return createHash('sha256')
}

export function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    count += 1
  }
  return count
}
