/**
 * Where a file source stands: a boundary between two records, and the proof that what lies before it
 * is still what was read.
 *
 * Invariants: `prefix` is the SHA-256 of every byte before `offset`, so a cursor is known exactly as
 * long as those bytes are unchanged; appending to a file keeps every cursor known. `generation` counts
 * how often the stream was started over and is never derived from content: a file that goes back to
 * an older content is a new generation, and its records are sent again (A → B → A is three writes).
 */
import { z } from 'zod'
import { ConnectorError } from '../../connector.ts'

const cursorShape = z.strictObject({
  generation: z.int().min(0),
  /** Index of the next record. */
  record: z.int().min(0),
  /** Bytes before the boundary. */
  offset: z.int().min(0),
  /** The line of the file, from 1, on which `offset` lies. */
  line: z.int().min(1),
  /** 64 hexadecimal characters. */
  prefix: z.string().regex(/^[0-9a-f]{64}$/),
})

export type FileCursor = Readonly<z.infer<typeof cursorShape>>

/** The same cursor is always the same text: delivery keys are made of it. */
export function cursorText(cursor: FileCursor): string {
  const { generation, record, offset, line, prefix } = cursor
  return JSON.stringify({ generation, record, offset, line, prefix })
}

/** Throws ConnectorError for a text that is no cursor of a file. */
export function parseCursor(text: string): FileCursor {
  const parsed = cursorShape.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new ConnectorError(
      'node_failed',
      'The cursor is not one of a file; reset the cursor of this sync to read the file from its beginning.',
    )
  }
  return parsed.data
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
