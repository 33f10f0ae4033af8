/**
 * Where a PostgreSQL source stands: behind a row, by the values of its cursor column and its key, as the server
 * writes them, to the last digit.
 *
 * Invariants: a cursor belongs to one stream (its table or query, its cursor and key columns and their types, and
 * with them the order of its rows), which `stream` is the digest of. One of another stream is not known: reading
 * starts over, in the next `generation`, so that a stream that is changed to and fro is sent again and not
 * taken for delivered (A → B → A is three writes).
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { ConnectorError } from '../../connector.ts'

/** Longest value of a column that a cursor carries, in characters. */
const MAX_VALUE_LENGTH = 8_000
const MAX_VALUES = 9

const cursorShape = z.strictObject({
  version: z.literal(1),
  stream: z.string().regex(/^[0-9a-f]{32}$/),
  generation: z.int().min(0),
  /** The cursor column, then the key; null: before the first row. */
  behind: z.array(z.string()).min(2).max(MAX_VALUES).nullable(),
})

export type PostgresCursor = Readonly<
  Omit<z.infer<typeof cursorShape>, 'behind'> & { behind: readonly string[] | null }
>

/** The same cursor is always the same text: delivery keys are made of it. */
export function cursorText({ version, stream, generation, behind }: PostgresCursor): string {
  if (behind?.some((value) => value.length > MAX_VALUE_LENGTH)) {
    throw new ConnectorError(
      'node_failed',
      `A row has more than ${MAX_VALUE_LENGTH} characters in its cursor or key column; choose columns with shorter values.`,
    )
  }
  return JSON.stringify({ version, stream, generation, behind })
}

/** Throws ConnectorError for a text that is no cursor of a PostgreSQL source. */
export function parseCursor(text: string): PostgresCursor {
  const parsed = cursorShape.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new ConnectorError(
      'node_failed',
      'The cursor is not one of a PostgreSQL source; reset the cursor of this sync to read it from its beginning.',
    )
  }
  return parsed.data
}

export function digestStream(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
