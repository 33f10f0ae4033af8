/**
 * What a mapping gets of a column.
 *
 * Invariant: no value loses a digit. What JavaScript would round (64-bit numbers, decimals, times to the
 * microsecond) is text; so are NaN and Infinity, which JSON has not.
 */
import { isSafeNumber, parse as parseLossless } from 'lossless-json'
import { isJsonArray, type JsonValue, MAX_JSON_DEPTH } from '../../../domain/json.ts'
import type { CatalogueType } from '../../postgres-catalogue.ts'

/** Reads the server's text; throws UnreadableValueError. */
export type ReadValue = (text: string) => JsonValue

export interface ColumnForm {
  /** Around the column's name in the statement. */
  readonly select: (name: string) => string
  readonly read: ReadValue
}

export class UnreadableValueError extends Error {}

const asItStands = (name: string): string => name
const asText: ReadValue = (text) => text

const asNumber: ReadValue = (text) => {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}

const PLAIN_TIME = /^\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?:\+00)?$/

/** In the form of RFC 3339; what has none there (infinity, years before Christ) stays as the server writes it. */
const asTime: ReadValue = (text) =>
  PLAIN_TIME.test(text) ? text.replace(' ', 'T').replace('+00', 'Z') : text

const asBase64: ReadValue = (text) => Buffer.from(text.slice(2), 'hex').toString('base64')

/** A text without such digits is read by the platform, which takes a tenth of the time. */
const MAY_BE_ROUNDED = /[\d.]{16}|\d[eE]/

const asJson: ReadValue = (text) => {
  const value = (
    MAY_BE_ROUNDED.test(text)
      ? parseLossless(text, null, {
          parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : digits),
          onDuplicateKey: ({ newValue }) => newValue,
        })
      : JSON.parse(text)
  ) as JsonValue
  if (isDeeperThan(value, MAX_JSON_DEPTH - 1)) {
    throw new UnreadableValueError(`is nested more than ${MAX_JSON_DEPTH} levels deep`)
  }
  return value
}

function isDeeperThan(value: JsonValue, levels: number): boolean {
  if (value === null || typeof value !== 'object') {
    return false
  }
  const members = isJsonArray(value) ? value : Object.values(value)
  return levels === 0 || members.some((member) => isDeeperThan(member, levels - 1))
}

const NUMBER: ColumnForm = { select: asItStands, read: asNumber }
const TIME: ColumnForm = { select: asItStands, read: asTime }
const JSON_TEXT: ColumnForm = { select: asItStands, read: asJson }
const TEXT: ColumnForm = { select: asItStands, read: asText }

/** By the oid of the type, which are the same on every server. */
const FORMS: ReadonlyMap<number, ColumnForm> = new Map([
  [16, { select: asItStands, read: (text) => text === 't' }],
  [17, { select: asItStands, read: asBase64 }],
  [21, NUMBER],
  [23, NUMBER],
  [26, NUMBER],
  [700, NUMBER],
  [701, NUMBER],
  [114, JSON_TEXT],
  [3802, JSON_TEXT],
  [1114, TIME],
  [1184, TIME],
])

/** Elements that are in JSON what they are in a column; all others are made texts first. */
const PLAIN_ELEMENTS: ReadonlySet<number> = new Set([16, 21, 23, 114, 3802])

const PLAIN_LIST: ColumnForm = {
  select: (name) => `pg_catalog.to_json(${name})`,
  read: asJson,
}
const TEXT_LIST: ColumnForm = {
  select: (name) => `pg_catalog.to_json((${name})::text[])`,
  read: asJson,
}

export function formOf(type: number, described: CatalogueType | undefined): ColumnForm {
  if (described?.isArray) {
    return PLAIN_ELEMENTS.has(described.element) ? PLAIN_LIST : TEXT_LIST
  }
  return FORMS.get(type) ?? TEXT
}
