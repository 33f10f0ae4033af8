/**
 * What the formats have in common: rows, read ahead of the reader chunk by chunk.
 *
 * Invariant: where a row ends is told by the format's own parser, never guessed from line feeds, and
 * does not depend on how the file was cut into chunks or pages.
 */
import { isUtf8 } from 'node:buffer'
import type { JsonObject } from '../../../domain/json.ts'
import type { ByteTrail } from './byte-trail.ts'

/** A larger row is reported by its line and the rows behind it still come. */
export const MAX_ROW_BYTES = 1024 * 1024
/** Past this nothing is looked for any more: a quote that is never closed must not eat the memory. */
export const MAX_UNFINISHED_ROW_BYTES = 4 * 1024 * 1024

export const ENCODINGS = ['utf-8', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** `end`: the boundary behind the row. `problem`: why it is no record, without its line. */
export type Row =
  | { readonly end: number; readonly fields: JsonObject; readonly problem?: undefined }
  | { readonly end: number; readonly problem: string; readonly fields?: undefined }

export interface Rows {
  /** The next row that was read, or undefined: call `fill`. */
  take(): Row | undefined
  /** Reads one chunk. False when there is nothing more. */
  fill(signal: AbortSignal): Promise<boolean>
  /** Why nothing behind the last row can be read, or null. */
  readonly broken: string | null
}

/** How a file begins. Its columns, if it has any, lie in front of `dataStart`. */
export interface Layout {
  /** Offset of the first record. */
  readonly dataStart: number
  /** The line on which `dataStart` lies. */
  readonly line: number
  openRows(trail: ByteTrail): Rows
}

export const TOO_LARGE = 'is larger than 1 MiB'

/** What takes rows one by one from a list that is filled in pieces. */
export class RowQueue {
  #rows: Row[] = []
  #next = 0

  push(row: Row): void {
    this.#rows.push(row)
  }

  take(): Row | undefined {
    const row = this.#rows[this.#next]
    if (row === undefined) {
      this.#rows = []
      this.#next = 0
      return undefined
    }
    this.#next += 1
    return row
  }
}

const REPLACEMENT = '\uFFFD'

/** Whether decoding replaced bytes: a file in another encoding must not be read as if it were UTF-8. */
export function lostCharacters(text: string, raw: () => Buffer): boolean {
  return text.includes(REPLACEMENT) && !isUtf8(raw())
}

/** Bytes 0x80 to 0x9f of windows-1252; the five that it leaves undefined stay control characters. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

const DIFFERS_FROM_LATIN1 = /[\u0080-\u009f]/g

/** Text that was decoded as ISO 8859-1, as the windows-1252 it is. */
export function fromLatin1(text: string): string {
  return text.replace(
    DIFFERS_FROM_LATIN1,
    (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80] ?? char,
  )
}
