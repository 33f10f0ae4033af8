/**
 * Where an `http` source stands.
 *
 * The stream is read in *passes*, each from its beginning to its end. A cursor tells the pass, the API's page in it
 * (`at`, opaque, and `step`, its number), and how many of that page's records lie before it. With it goes what the
 * rest of the pass needs, so that any process can go on: what was asked for, and what of it was already seen.
 *
 * Invariant: a cursor is bounded, whatever the API says: tokens and what is remembered have a longest length.
 */
import { z } from 'zod'
import { ConnectorError } from '../../connector.ts'
import { RECALL_ENTRY_LENGTH } from './recall.ts'
import { PAGINGS } from './stream-options.ts'

/** Longest token or address of a next page. */
export const MAX_POSITION_LENGTH = 4_000
const MAX_RECALLED_LENGTH = 1_000 * RECALL_ENTRY_LENGTH

const cursorShape = z.strictObject({
  /** Counts how often the stream was begun; never derived from content. */
  pass: z.int().min(0),
  by: z.enum(PAGINGS),
  /** Names what is read, and how: a place in one stream is none in another. */
  of: z.string().max(64),
  /** What gives the API's page; null: the first one. */
  at: z.string().max(MAX_POSITION_LENGTH).nullable(),
  /** How many of the API's pages lie before it in this pass. */
  step: z.int().min(0),
  /** How many of its records lie before the cursor. */
  skip: z.int().min(0),
  /** Of an earlier page of the pass: met again, the API leads in a circle. */
  mark: z.string().max(64),
  isEnd: z.boolean(),
  /** The watermark that this pass asks from; null: everything. */
  since: z.string().max(64).nullable(),
  /** The highest watermark of any pass. */
  top: z.string().max(64).nullable(),
  /** When this pass was begun, from its first page on; null where no watermark is asked for. */
  began: z.string().max(64).nullable(),
  /** Of the pass before: what it saw of what this one is told again. */
  known: z.string().max(MAX_RECALLED_LENGTH),
  /** Of this pass: what it saw last. */
  seen: z.string().max(MAX_RECALLED_LENGTH),
  /** Over all records of this pass so far, where everything is read each time. */
  digest: z.string().max(64),
})

export type RestCursor = Readonly<z.infer<typeof cursorShape>>

/** The beginning of a pass. */
export function beginningOf(
  pass: Pick<RestCursor, 'pass' | 'by' | 'of' | 'since' | 'top' | 'known'>,
): RestCursor {
  const { pass: number, by, of, since, top, known } = pass
  return {
    ...{ pass: number, by, of, at: null, step: 0, skip: 0, mark: '', isEnd: false },
    ...{ since, top, began: null, known, seen: '', digest: '' },
  }
}

/** The same cursor is always the same text: delivery keys are made of it. */
export function cursorText(cursor: RestCursor): string {
  return JSON.stringify(cursorShape.parse(cursor))
}

/** Throws ConnectorError for a text that is no cursor of an HTTP API. */
export function parseCursor(text: string): RestCursor {
  const parsed = cursorShape.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new ConnectorError(
      'node_failed',
      'The cursor is not one of an HTTP API; reset the cursor of this sync to read from the beginning.',
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
