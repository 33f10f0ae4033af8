/**
 * What a row is known by in its table: its key, in one form.
 *
 * Invariant: two records of one row have one identity, so they never share a statement, which PostgreSQL would
 * refuse. Where a type takes several texts for one value, those of whole numbers and UUIDs are made one here;
 * of others (such as a text that ignores case) the server finds out, and the call is split.
 */
import type { JsonObject, JsonValue } from '../../../domain/json.ts'
import type { TargetColumn } from './target-table.ts'

export function identify(keys: readonly TargetColumn[], fields: JsonObject): string | null {
  const values = keys.map((column) =>
    normalise(column, Object.hasOwn(fields, column.name) ? (fields[column.name] ?? null) : null),
  )
  if (values.some((value) => value === null)) {
    return null
  }
  return values.length === 1 ? (values[0] ?? null) : JSON.stringify(values)
}

const WHOLE_NUMBER = /^\s*[+-]?\d+\s*$/
const WHOLE_TYPES: ReadonlySet<string> = new Set(['bigint', 'integer', 'smallint'])

function normalise({ type }: TargetColumn, value: JsonValue): string | null {
  if (value === null || (typeof value === 'object' && value !== null)) {
    return value === null ? null : JSON.stringify(value)
  }
  const text = String(value)
  if (WHOLE_TYPES.has(type) && WHOLE_NUMBER.test(text)) {
    return BigInt(text.trim().replace(/^\+/, '')).toString()
  }
  return type === 'uuid' ? text.trim().toLowerCase().replace(/[{}-]/g, '') : text
}
