/**
 * Where a read stands in a stream: the time of change and the id of the last row that was given.
 *
 * Invariants: the position is our own, never one of Shopify's cursors, whose life nobody knows. The same position is
 * always the same text, since delivery keys are made of it; and a cursor of another shop or stream is refused.
 */
import { z } from 'zod'
import { ConnectorError } from '../../connector.ts'
import type { ShopifyStream } from './shopify-queries.ts'

export interface Position {
  /** `YYYY-MM-DDTHH:MM:SS.fffffffffZ`: sorts as text. */
  readonly changedAt: string
  /** A whole number as text. */
  readonly id: string
}

/** In front of every row. */
export const BEGINNING: Position = { changedAt: '0000-01-01T00:00:00.000000000Z', id: '0' }

export function comparePositions(a: Position, b: Position): number {
  return compareTexts(a.changedAt, b.changedAt) || compareIds(a.id, b.id)
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** They may be longer than a double is exact. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || compareTexts(a, b)
}

const MOMENT = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/

/** A moment as Shopify writes it, in the form of a position; null: it is none. */
export function readMoment(text: string): string | null {
  const [, seconds = '', fraction = '', zone = ''] = MOMENT.exec(text) ?? []
  // biome-ignore lint/style/noRestrictedGlobals: this reads a moment that was sent, not a clock.
  const ms = Date.parse(`${seconds}${zone}`)
  return Number.isNaN(ms)
    ? null
    : momentOf(ms).replace('.000000000Z', `.${fraction.padEnd(9, '0')}Z`)
}

export function momentOf(ms: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: this writes a moment, it does not ask for one.
  return new Date(ms).toISOString().replace(/Z$/, '000000Z')
}

/** In a filter: quoted by who uses it, in UTC, and whole seconds, since nobody says what it makes of parts of them. */
export function filterMoment(changedAt: string): string {
  return `${changedAt.slice(0, 19)}Z`
}

/** Whose position it is. */
export interface CursorOwner {
  readonly shop: string
  readonly stream: ShopifyStream
}

const cursorShape = z.strictObject({
  version: z.literal(1),
  shop: z.string(),
  stream: z.string(),
  changedAt: z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/),
  id: z.string().regex(/^(?:0|[1-9]\d{0,19})$/),
})

export function cursorText({ shop, stream }: CursorOwner, { changedAt, id }: Position): string {
  return JSON.stringify({ version: 1, shop, stream, changedAt, id })
}

/** Throws ConnectorError for a text that is no cursor of this shop's stream. */
export function parseCursor(owner: CursorOwner, text: string): Position {
  const parsed = cursorShape.safeParse(parseJson(text))
  if (!parsed.success) {
    throw refuseCursor('is not one of a Shopify stream')
  }
  const { shop, stream, changedAt, id } = parsed.data
  if (shop !== owner.shop || stream !== owner.stream) {
    throw refuseCursor(`is one of ${stream} of ${shop}, not of ${owner.stream} of ${owner.shop}`)
  }
  return { changedAt, id }
}

function refuseCursor(why: string): ConnectorError {
  return new ConnectorError(
    'node_failed',
    `The cursor ${why}; reset the cursor of this sync to read the stream from its beginning.`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
