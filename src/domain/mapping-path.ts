/**
 * Paths into a source record, and templates made of them.
 *
 * Invariant: a path sees a record's own members and a list's items, and nothing else: `constructor`
 * and `__proto__` lead nowhere unless the record itself has such a member (`__proto__` never does).
 */
import {
  describeUnstorableText,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from './json.ts'
import { quoteName } from './mapping-names.ts'

/** Names from the record's top inwards; at least one. */
export type SourcePath = readonly string[]

const MAX_PATH_SEGMENTS = 16
const MAX_PATH_LENGTH = 500
const MAX_TEMPLATE_LENGTH = 1_000

export type Parsed<Value> =
  | { readonly kind: 'parsed'; readonly value: Value }
  | { readonly kind: 'refused'; readonly reason: string }

/** A dotted text (`address.city`, `tags.0`), or a list of names where a name itself has a dot. */
export function parsePath(definition: JsonValue): Parsed<SourcePath> {
  const segments = typeof definition === 'string' ? definition.split('.') : definition
  if (segments === null || typeof segments !== 'object' || !isJsonArray(segments)) {
    return refuse('takes the name of a source field, as a text or as a list of names')
  }
  if (segments.length === 0 || segments.length > MAX_PATH_SEGMENTS) {
    return refuse(`takes a path of 1 to ${MAX_PATH_SEGMENTS} names`)
  }
  const names: string[] = []
  let length = segments.length - 1
  for (const segment of segments) {
    if (typeof segment !== 'string' || segment === '') {
      return refuse('takes a path of which every name is a text that is not empty')
    }
    names.push(segment)
    length += segment.length
  }
  if (length > MAX_PATH_LENGTH) {
    return refuse(`takes a path of at most ${MAX_PATH_LENGTH} characters`)
  }
  return { kind: 'parsed', value: names }
}

/** Undefined: the record has no such member. */
export function readPath(record: JsonObject, path: SourcePath): JsonValue | undefined {
  let value: JsonValue | undefined = record
  for (const name of path) {
    value = readMember(value, name)
    if (value === undefined) {
      return undefined
    }
  }
  return value
}

/** One member of an object by its own name, or one item of a list by its number. */
export function readMember(value: JsonValue, name: string): JsonValue | undefined {
  if (isJsonObject(value)) {
    return Object.hasOwn(value, name) && name !== '__proto__' ? value[name] : undefined
  }
  if (value !== null && typeof value === 'object') {
    return LIST_INDEX.test(name) ? value[Number(name)] : undefined
  }
  return undefined
}

const LIST_INDEX = /^(0|[1-9]\d{0,8})$/

/** A template in parts: fixed texts, and paths whose values go between them. */
export type TemplatePart = string | SourcePath

/** Splits `{{first_name}} {{last_name}}`. A single brace is text. */
export function parseTemplate(definition: JsonValue): Parsed<readonly TemplatePart[]> {
  if (typeof definition !== 'string') {
    return refuse('takes a text')
  }
  if (definition.length > MAX_TEMPLATE_LENGTH) {
    return refuse(`takes a text of at most ${MAX_TEMPLATE_LENGTH} characters`)
  }
  const unstorable = describeUnstorableText(definition)
  if (unstorable) {
    return refuse(unstorable)
  }
  const [head = '', ...rest] = definition.split('{{')
  if (head.includes('}}')) {
    return refuse('has a "}}" without a "{{" before it')
  }
  const parts: TemplatePart[] = [head]
  for (const piece of rest) {
    const [name = '', text, ...extra] = piece.split('}}')
    if (text === undefined) {
      return refuse('has a "{{" without a "}}" after it')
    }
    if (extra.length > 0) {
      return refuse('has a "}}" without a "{{" before it')
    }
    const path = parsePath(name.trim())
    if (path.kind === 'refused') {
      return refuse(`has a placeholder ${quoteName(name.trim())} that is not a field path`)
    }
    parts.push(path.value, text)
  }
  return { kind: 'parsed', value: parts.filter((part) => part !== '') }
}

function refuse(reason: string): { kind: 'refused'; reason: string } {
  return { kind: 'refused', reason }
}
