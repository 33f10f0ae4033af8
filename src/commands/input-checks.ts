/** Checks of what people hand in. Each gives problems instead of throwing, so that all of them can be told at once. */
import type { z } from 'zod'
import {
  canonicalJson,
  describeUnstorableText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from '../domain/json.ts'
import type { InputProblem } from './refusals.ts'

export const MAX_NAME_LENGTH = 200
export const MAX_REASON_LENGTH = 1_000
/** Most records that one command names. */
const MAX_RECORDS = 1_000
/** Largest setting (configuration, options, mapping) in characters of JSON. */
const MAX_JSON_LENGTH = 200_000

/** A text that is to be stored: not empty, not too long, without what the database cannot hold. */
export function checkText(field: string, text: string, maxLength: number): InputProblem[] {
  if (text.trim() === '') {
    return [{ field, reason: 'It must not be empty.' }]
  }
  if (text.length > maxLength) {
    const reason = `It has ${text.length} characters, and at most ${maxLength} are allowed.`
    return [{ field, reason }]
  }
  const problem = describeUnstorableText(text)
  return problem ? [{ field, reason: `It ${problem}.` }] : []
}

/** Which records a command is about. */
export function checkRecordIds(recordIds: readonly string[]): InputProblem[] {
  const { length } = recordIds
  if (length >= 1 && length <= MAX_RECORDS) {
    return []
  }
  const reason = `It must name 1 to ${MAX_RECORDS} records, and ${length} were given.`
  return [{ field: 'recordIds', reason }]
}

export type ParsedObject =
  | { readonly value: JsonObject; readonly problems: readonly [] }
  | { readonly value: null; readonly problems: readonly InputProblem[] }

/** An object that a connector's schema describes. `field` names the object; its members are `field.member`. */
export function parseObject(
  field: string,
  value: JsonValue,
  schema: z.ZodType<JsonObject>,
): ParsedObject {
  const problem = describeUnfitJson(value)
  if (problem || !isJsonObject(value)) {
    const reason = problem ?? 'It must be an object.'
    return { value: null, problems: [{ field, reason }] }
  }
  const result = schema.safeParse(value)
  if (result.success) {
    return { value: result.data, problems: [] }
  }
  return { value: null, problems: result.error.issues.flatMap((issue) => toProblems(field, issue)) }
}

/** Why a JSON value cannot be stored, as one sentence, or null. */
export function describeUnfitJson(value: JsonValue): string | null {
  let text: string
  try {
    text = canonicalJson(value)
  } catch {
    return `It is nested more than ${MAX_JSON_DEPTH} levels deep.`
  }
  if (text.length > MAX_JSON_LENGTH) {
    return `It has ${text.length} characters of JSON, and at most ${MAX_JSON_LENGTH} are allowed.`
  }
  // As JSON text both stand escaped, and a literal backslash is doubled before them.
  const escaped = /(?:^|[^\\])(?:\\\\)*\\u(0000|d[89a-f][0-9a-f]{2})/.exec(text)
  if (escaped) {
    return escaped[1] === '0000'
      ? 'It contains a NUL character.'
      : 'It contains half of a surrogate pair.'
  }
  return null
}

/** Connectors word their messages as full sentences. A field that nobody knows is named by itself. */
function toProblems(field: string, issue: z.core.$ZodIssue): InputProblem[] {
  const path = [field, ...issue.path.map(String)].join('.')
  const fields =
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => `${path}.${key}`) : [path]
  return fields.map((name) => ({ field: name, reason: issue.message }))
}
