/**
 * What every directive of a mapping works with: where it stands, how it reports a problem of the
 * definition, how it rejects a record, and what may come out of it.
 */
import {
  describeUnstorableText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from './json.ts'
import { quoteName, suggestName } from './mapping-names.ts'
import type { SourcePath } from './mapping-path.ts'

/** Undefined: there is no value, and the field is left out. Throws {@link Unmappable}. */
export type Evaluate = (record: JsonObject) => JsonValue | undefined

/** Stands for a value that could not be compiled; never runs, as the mapping is refused. */
export const NOTHING: Evaluate = () => undefined

/** Longest text that a directive puts together from others, in characters. */
const MAX_BUILT_TEXT = 65_536
/** Longest target name, and longest text among a directive's own settings, in characters. */
export const MAX_SETTING_LENGTH = 200

/** A record that cannot be mapped. Leaves the domain as a value, never as an exception. */
export class Unmappable extends Error {
  override readonly name = 'Unmappable'
  readonly field: string

  /** `reason`: one full sentence that repeats no value of the record. */
  constructor(field: string, reason: string) {
    super(reason)
    this.field = field
  }
}

/** Where a directive stands while it is compiled. */
export interface Scope {
  /** The target field as a dotted path. */
  readonly field: string
  report(reason: string): void
  /** Notes that the field reads this path of the source. */
  use(path: SourcePath): void
  /** Compiles a value inside the directive. */
  compile(definition: JsonValue): Evaluate
}

export function isPresent(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null
}

/** Undefined, null, or a text of nothing but white space. */
export function isBlank(value: JsonValue | undefined): boolean {
  return !isPresent(value) || (typeof value === 'string' && value.trim() === '')
}

/** A text, number or boolean as text; rejects the record for a list or an object. */
export function scalarText(value: JsonValue, field: string): string {
  if (value !== null && typeof value === 'object') {
    throw new Unmappable(field, 'The value is a list or an object where a text is needed.')
  }
  return String(value)
}

/** Rejects the record when a text put together from its values has become too long. */
export function boundText(text: string, field: string): string {
  if (text.length > MAX_BUILT_TEXT) {
    throw new Unmappable(field, `The text is longer than ${MAX_BUILT_TEXT} characters.`)
  }
  return text
}

/**
 * A value fit for the output: its texts can be stored, its depth is bounded, its members are sorted.
 * Scalars come back as they are; objects and lists are copied. `depth`: levels above the value.
 */
export function toPlain(value: JsonValue, field: string, depth: number): JsonValue {
  if (typeof value === 'string') {
    return checkText(value, field)
  }
  if (value === null || typeof value !== 'object') {
    return value
  }
  if (depth >= MAX_JSON_DEPTH) {
    throw new Unmappable(field, `The value is nested more than ${MAX_JSON_DEPTH} levels deep.`)
  }
  if (!isJsonObject(value)) {
    return value.map((item) => toPlain(item, field, depth + 1))
  }
  const sorted: Record<string, JsonValue> = {}
  for (const name of Object.keys(value).sort()) {
    if (name === '__proto__') {
      throw new Unmappable(field, 'The value has a member named "__proto__", which is refused.')
    }
    sorted[checkText(name, field)] = toPlain(value[name] ?? null, field, depth + 1)
  }
  return sorted
}

function checkText(text: string, field: string): string {
  const problem = describeUnstorableText(text)
  if (problem) {
    throw new Unmappable(field, `The value ${problem}.`)
  }
  return text
}

const REFUSED_NAMES = new Set(['__proto__', 'constructor', 'prototype'])

/** Why a target field cannot have that name, as one sentence, or null. */
export function describeRefusedName(name: string): string | null {
  if (name === '') {
    return 'A target field has an empty name.'
  }
  if (REFUSED_NAMES.has(name)) {
    return `A target field cannot be named ${quoteName(name)}.`
  }
  if (name.length > MAX_SETTING_LENGTH) {
    return `The name of a target field is longer than ${MAX_SETTING_LENGTH} characters.`
  }
  const problem = describeUnstorableText(name)
  return problem ? `The name of a target field ${problem}.` : null
}

/** The members of a directive's argument: all of `required`, none but these and `optional`. Null: reported. */
export function readMembers<Required extends string, Optional extends string>(
  scope: Scope,
  directive: string,
  argument: JsonValue,
  shape: { readonly required: readonly Required[]; readonly optional: readonly Optional[] },
): ({ readonly [N in Required]: JsonValue } & { readonly [N in Optional]?: JsonValue }) | null {
  const names: readonly string[] = [...shape.required, ...shape.optional]
  if (!isJsonObject(argument)) {
    const wanted = names.map(quoteName).join(', ')
    scope.report(`The directive ${quoteName(directive)} takes an object with ${wanted}.`)
    return null
  }
  const given = Object.keys(argument)
  const missing = shape.required.filter((name) => !given.includes(name))
  const unknown = given.filter((name) => !names.includes(name))
  for (const name of missing) {
    scope.report(`The directive ${quoteName(directive)} lacks its member ${quoteName(name)}.`)
  }
  for (const name of unknown) {
    const hint = suggestName(name, names)
    scope.report(`The directive ${quoteName(directive)} has no member ${quoteName(name)}${hint}.`)
  }
  const isWhole = missing.length === 0 && unknown.length === 0
  return isWhole
    ? (argument as { readonly [N in Required]: JsonValue } & {
        readonly [N in Optional]?: JsonValue
      })
    : null
}

/** One of a closed set of names, or null: reported. */
export function readChoice<Choice extends string>(
  scope: Scope,
  setting: string,
  given: JsonValue,
  choices: readonly Choice[],
): Choice | null {
  const choice = choices.find((name) => name === given)
  if (choice === undefined) {
    const shown = typeof given === 'string' ? `, and ${quoteName(given)} is none of them` : ''
    scope.report(`The setting ${setting} is one of ${choices.map(quoteName).join(', ')}${shown}.`)
    return null
  }
  return choice
}
