/** The conditions of `$if`: a closed set, each without a side effect. */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { quoteName, suggestName } from './mapping-names.ts'
import { isBlank, isPresent, type Scope, toPlain, Unmappable } from './mapping-scope.ts'

export type Condition = (record: JsonObject) => boolean

const NEVER: Condition = () => false

/** Items of one list in a directive or condition, at most. */
export const MAX_LIST_ITEMS = 500
/** Deepest nesting of `not`, `all` and `any`. */
const MAX_CONDITION_DEPTH = 16

export function compileCondition(scope: Scope, definition: JsonValue, depth = 0): Condition {
  const names = isJsonObject(definition) ? Object.keys(definition) : []
  const [name = ''] = names
  if (!isJsonObject(definition) || names.length !== 1) {
    const known = CONDITION_NAMES.map(quoteName).join(', ')
    scope.report(`A condition is an object with exactly one of ${known}.`)
    return NEVER
  }
  if (depth > MAX_CONDITION_DEPTH) {
    scope.report(`The condition is nested more than ${MAX_CONDITION_DEPTH} levels deep.`)
    return NEVER
  }
  const argument = definition[name] ?? null
  const compile = Object.hasOwn(CONDITIONS, name) ? CONDITIONS[name] : undefined
  if (!compile) {
    scope.report(`Unknown condition ${quoteName(name)}${suggestName(name, CONDITION_NAMES)}.`)
    return NEVER
  }
  return compile(scope, argument, depth)
}

type CompileCondition = (scope: Scope, argument: JsonValue, depth: number) => Condition

const CONDITIONS: Readonly<Record<string, CompileCondition>> = {
  exists: (scope, argument) => {
    const value = scope.compile(argument)
    return (record) => isPresent(value(record))
  },
  blank: (scope, argument) => {
    const value = scope.compile(argument)
    return (record) => isBlank(value(record))
  },
  equals: compileEquals,
  in: compileIn,
  not: (scope, argument, depth) => {
    const condition = compileCondition(scope, argument, depth + 1)
    return (record) => !condition(record)
  },
  all: (scope, argument, depth) => {
    const conditions = compileConditions(scope, 'all', argument, depth)
    return (record) => conditions.every((condition) => condition(record))
  },
  any: (scope, argument, depth) => {
    const conditions = compileConditions(scope, 'any', argument, depth)
    return (record) => conditions.some((condition) => condition(record))
  },
}
const CONDITION_NAMES = Object.keys(CONDITIONS)

/** Equal as JSON: a number is never equal to a text, and no value is equal to no value only. */
function compileEquals(scope: Scope, argument: JsonValue): Condition {
  const [a, b, ...rest] = Array.isArray(argument) ? (argument as readonly JsonValue[]) : []
  if (a === undefined || b === undefined || rest.length > 0) {
    scope.report('The condition "equals" takes a list of exactly two values.')
    return NEVER
  }
  const left = scope.compile(a)
  const right = scope.compile(b)
  const { field } = scope
  return (record) => comparable(left(record), field) === comparable(right(record), field)
}

/** The second is a list of constants, written as they are. */
function compileIn(scope: Scope, argument: JsonValue): Condition {
  const [of, among, ...rest] = Array.isArray(argument) ? (argument as readonly JsonValue[]) : []
  if (of === undefined || among === undefined || rest.length > 0 || !Array.isArray(among)) {
    scope.report('The condition "in" takes a list of a value and a list of constants.')
    return NEVER
  }
  const constants = readList(scope, 'in', among)
  const value = scope.compile(of)
  const { field } = scope
  try {
    const texts = new Set(constants.map((constant) => comparable(constant, field)))
    return (record) => texts.has(comparable(value(record), field))
  } catch (error) {
    scope.report(describeRefusal(error))
    return NEVER
  }
}

function compileConditions(
  scope: Scope,
  name: string,
  argument: JsonValue,
  depth: number,
): readonly Condition[] {
  const list = readList(scope, name, argument)
  return list.map((item) => compileCondition(scope, item, depth + 1))
}

/** A list of 1 to {@link MAX_LIST_ITEMS} items; empty: reported. */
export function readList(scope: Scope, name: string, argument: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(argument) || argument.length === 0 || argument.length > MAX_LIST_ITEMS) {
    scope.report(`${quoteName(name)} takes a list of 1 to ${MAX_LIST_ITEMS} items.`)
    return []
  }
  return argument
}

/** Scalars compare by type and text, lists and objects by their canonical text. */
function comparable(value: JsonValue | undefined, field: string): string {
  return value === undefined ? '' : canonicalJson(toPlain(value, field, 0))
}

/** The sentence of a refusal that came up while a definition was compiled. */
export function describeRefusal(error: unknown): string {
  if (error instanceof Unmappable) {
    return error.message
  }
  throw error
}
