/**
 * JSON values and their canonical text.
 *
 * Invariant: two values that are equal as JSON have the same canonical text, whatever the order in
 * which their members were written. Version digests and delivery keys are hashes of this text.
 */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [member: string]: JsonValue
}

/** Deepest nesting that canonical text is made of; deeper input is a mistake or an attack. */
export const MAX_JSON_DEPTH = 64

/** Canonical text: members sorted by UTF-16 code unit, no white space. Throws RangeError past {@link MAX_JSON_DEPTH}. */
export function canonicalJson(value: JsonValue, depth = 0): string {
  if (depth > MAX_JSON_DEPTH) {
    throw new RangeError(`A value is nested more than ${MAX_JSON_DEPTH} levels deep.`)
  }
  if (value === null || typeof value !== 'object') {
    return JSON.stringify(value)
  }
  if (isJsonArray(value)) {
    return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`
  }
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null, depth + 1)}`)
  return `{${members.join(',')}}`
}

export function isJsonArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Names what makes a text unfit for PostgreSQL and for UTF-8 (a NUL, a lone surrogate), or null.
 * Such a record is rejected by itself: inside a page it would fail the whole statement.
 */
export function describeUnstorableText(text: string): string | null {
  if (text.includes('\u0000')) {
    return 'contains a NUL character'
  }
  return text.isWellFormed() ? null : 'contains half of a surrogate pair'
}
