/**
 * A gzip file, read as what it holds: offsets are those of the text inside.
 *
 * Gzip can only be read forwards. What was inflated last is kept, so that reading on and looking back a little cost
 * nothing; whoever goes back farther has it inflated again from the first byte. That is once when a reader is placed at a cursor, and
 * once for each open page.
 *
 * Invariants: memory is bounded by what is kept, however much comes out of the file. The end is only told behind the
 * last member, whose checksum was right and behind which nothing but zeros follows; a file that is cut short has none. What
 * was inflated from a file that has changed since is forgotten.
 */
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip, type Gunzip } from 'node:zlib'
import { ConnectorError } from '../../connector.ts'
import {
  type FileBytes,
  type FileState,
  isSameState,
  readHandle,
  readHandleState,
} from './file-bytes.ts'

/** Covers a header of 1 MiB, the chunk that is hashed last, and a row in the middle of both. */
const KEPT_BYTES = 4 * 1024 * 1024
const COMPRESSED_CHUNK_BYTES = 64 * 1024
/** One step of inflating: what a bomb can make of one chunk comes in pieces of this size. */
const INFLATED_CHUNK_BYTES = 64 * 1024
/** Larger than any file of customers, and read in a night. */
export const MAX_INFLATED_BYTES = 64 * 1024 * 1024 * 1024

export class InflatedFile implements FileBytes {
  readonly isPlain = false
  readonly #handle: FileHandle
  readonly #maxBytes: number
  #inflation: Inflation | null = null
  #state: FileState | null = null

  constructor(handle: FileHandle, maxBytes: number) {
    this.#handle = handle
    this.#maxBytes = maxBytes
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Buffer> {
    if (this.#inflation === null || offset < this.#inflation.keptFrom) {
      this.#inflation?.stop()
      this.#inflation = new Inflation(this.#handle, this.#maxBytes)
    }
    try {
      return await this.#inflation.read(offset, length, signal)
    } catch (error) {
      // What is broken stays so; what was stopped begins again.
      this.#inflation.stop()
      this.#inflation = null
      throw error
    }
  }

  async readState(): Promise<FileState> {
    const state = await readHandleState(this.#handle)
    if (this.#state !== null && !isSameState(this.#state, state)) {
      this.#inflation?.stop()
      this.#inflation = null
    }
    this.#state = state
    return state
  }

  async close(): Promise<void> {
    this.#inflation?.stop()
    await this.#handle.close()
  }
}

/** One way through the file, from its first byte. */
class Inflation {
  readonly #handle: FileHandle
  readonly #maxBytes: number
  readonly #gunzip: Gunzip
  readonly #chunks: AsyncIterator<Buffer>
  #kept: Buffer[] = []
  #keptFrom = 0
  #end = 0
  #isOver = false

  constructor(handle: FileHandle, maxBytes: number) {
    this.#handle = handle
    this.#maxBytes = maxBytes
    this.#gunzip = createGunzip({ chunkSize: INFLATED_CHUNK_BYTES })
    const compressed = Readable.from(chunksOf(handle), { objectMode: false, highWaterMark: 1 })
    compressed.on('error', (error) => this.#gunzip.destroy(error))
    // Whoever reads gets the error; one that comes after the last read is nobody's.
    this.#gunzip.on('error', () => undefined)
    this.#gunzip.on('close', () => compressed.destroy())
    compressed.pipe(this.#gunzip)
    this.#chunks = this.#gunzip[Symbol.asyncIterator]()
  }

  /** Nothing before it can be read any more. */
  get keptFrom(): number {
    return this.#keptFrom
  }

  async read(offset: number, length: number, signal?: AbortSignal): Promise<Buffer> {
    while (this.#end < offset + length && !this.#isOver) {
      signal?.throwIfAborted()
      await this.#inflate()
      this.#forgetBefore(offset)
    }
    const parts: Buffer[] = []
    let start = this.#keptFrom
    for (const chunk of this.#kept) {
      const end = start + chunk.length
      if (end > offset && start < offset + length) {
        parts.push(chunk.subarray(Math.max(offset - start, 0), offset + length - start))
      }
      start = end
    }
    return Buffer.concat(parts)
  }

  stop(): void {
    this.#gunzip.destroy()
  }

  async #inflate(): Promise<void> {
    try {
      const next = await this.#chunks.next()
      if (next.done) {
        await this.#checkRest()
        this.#isOver = true
        return
      }
      this.#kept.push(next.value)
      this.#end += next.value.length
    } catch (error) {
      throw describeDamage(error)
    }
    if (this.#end > this.#maxBytes) {
      const reason = `The gzip file holds more than ${this.#maxBytes} bytes; split it.`
      throw new ConnectorError('node_failed', reason)
    }
  }

  /** Zeros behind the last member fill up a block; anything else would be data that nobody read. */
  async #checkRest(): Promise<void> {
    for (let offset = this.#gunzip.bytesWritten; ; offset += COMPRESSED_CHUNK_BYTES) {
      const rest = await readHandle(this.#handle, offset, COMPRESSED_CHUNK_BYTES)
      if (rest.length === 0) {
        return
      }
      if (rest.some((byte) => byte !== 0)) {
        throw new ConnectorError(
          'node_failed',
          'The gzip file is damaged: behind its end there is more.',
        )
      }
    }
  }

  #forgetBefore(offset: number): void {
    for (let [first] = this.#kept; first !== undefined; [first] = this.#kept) {
      const behind = this.#keptFrom + first.length
      if (behind > offset || this.#end - behind < KEPT_BYTES) {
        return
      }
      this.#kept.shift()
      this.#keptFrom = behind
    }
  }
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let offset = 0; ; offset += COMPRESSED_CHUNK_BYTES) {
    const chunk = await readHandle(handle, offset, COMPRESSED_CHUNK_BYTES)
    if (chunk.length > 0) {
      yield chunk
    }
    if (chunk.length < COMPRESSED_CHUNK_BYTES) {
      return
    }
  }
}

function describeDamage(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string' || !code.startsWith('Z_')) {
    return error
  }
  const reason =
    code === 'Z_BUF_ERROR'
      ? 'The gzip file is cut short: it ends before what it holds does.'
      : `The gzip file is damaged, or is none (${code}).`
  return new ConnectorError('node_failed', reason, { cause: error })
}
