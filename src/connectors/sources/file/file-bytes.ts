/**
 * The bytes of an open file, as the formats read them: by offset.
 *
 * Invariant: fewer bytes than were asked for only come where the file ends. What cannot be read is an error.
 */
import type { FileHandle } from 'node:fs/promises'

/** What a changed file shows by: modification time in nanoseconds, and size on the disk. */
export interface FileState {
  readonly mtimeNs: bigint
  readonly size: bigint
}

export interface FileBytes {
  read(offset: number, length: number, signal?: AbortSignal): Promise<Buffer>
  /** Told before what is read counts as that of this state. */
  readState(): Promise<FileState>
  /** Whether offsets are those on the disk: so that its size tells the end. */
  readonly isPlain: boolean
  close(): Promise<void>
}

export class PlainFile implements FileBytes {
  readonly isPlain = true
  readonly #handle: FileHandle

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  read(offset: number, length: number): Promise<Buffer> {
    return readHandle(this.#handle, offset, length)
  }

  readState(): Promise<FileState> {
    return readHandleState(this.#handle)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

export async function readHandle(
  handle: FileHandle,
  offset: number,
  length: number,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) {
      break
    }
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

export async function readHandleState(handle: FileHandle): Promise<FileState> {
  const { mtimeNs, size } = await handle.stat({ bigint: true })
  return { mtimeNs, size }
}

export function isSameState(a: FileState, b: FileState): boolean {
  return a.mtimeNs === b.mtimeNs && a.size === b.size
}
