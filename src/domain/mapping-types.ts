/**
 * What may come out of a mapping, as far as its definition tells, held against the fields that a destination has.
 *
 * Invariant: only what is wrong for certain is a problem. What depends on the record (a path of the source) may be
 * anything, and a value that is right in one branch passes. The definition was compiled before: it is well formed and bounded.
 */
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import type { MappingProblem } from './mapping.ts'
import { quoteName, suggestName } from './mapping-names.ts'

/** What a field takes. */
export type ValueType = 'text' | 'number' | 'boolean' | 'date' | 'list' | 'object'

/** A field of the target, as a mapping names it: a dotted path. */
export interface TargetField {
  readonly name: string
  /** Null: anything. */
  readonly types: readonly ValueType[] | null
  readonly isRequired: boolean
}

/** Null: anything may come out. Empty: nothing but no value. */
type Outcome = ReadonlySet<ValueType> | null

/** A field that the mapping gives a value. */
interface Given {
  readonly name: string
  readonly definition: JsonValue
}

/** Every problem at once: unknown fields, values of the wrong type, required fields that are missing. */
export function findTargetProblems(
  mapping: JsonObject,
  fields: readonly TargetField[],
): MappingProblem[] {
  const given = listGiven(mapping, '')
  return [
    ...given.flatMap((one) => describeGiven(one, fields)),
    ...fields
      .filter(({ isRequired }) => isRequired)
      .flatMap(({ name }) => requireGiven(name, given)),
  ]
}

/** The problem of a field that has to have a value, where the mapping gives it none. */
export function findMissing(mapping: JsonObject, name: string, why: string): MappingProblem[] {
  return isGiven(name, listGiven(mapping, '')) ? [] : [{ field: name, reason: why }]
}

/** The fields with a directive or a list as their value; what lies in an object is named by its path. */
function listGiven(definition: JsonObject, path: string): readonly Given[] {
  return Object.entries(definition).flatMap(([name, value]) => {
    const field = path === '' ? name : `${path}.${name}`
    return isFields(value) ? listGiven(value, field) : [{ name: field, definition: value }]
  })
}

function isFields(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && !Object.keys(value).some((name) => name.startsWith('$'))
}

function requireGiven(name: string, given: readonly Given[]): MappingProblem[] {
  return isGiven(name, given)
    ? []
    : [
        {
          field: name,
          reason: 'The destination requires this field, and the mapping gives it none.',
        },
      ]
}

/** Also as a part of what is given, or by a part of it. */
function isGiven(name: string, given: readonly Given[]): boolean {
  return given.some((one) => one.name === name || isIn(one.name, name) || isIn(name, one.name))
}

/** `address.city` is in `address`. */
function isIn(name: string, outer: string): boolean {
  return name.startsWith(`${outer}.`)
}

function describeGiven(
  { name, definition }: Given,
  fields: readonly TargetField[],
): MappingProblem[] {
  const known = fields.find((field) => field.name === name)
  if (known) {
    return known.types === null ? [] : describeType(name, { types: known.types, definition })
  }
  if (fields.some((field) => isIn(field.name, name))) {
    return describeType(name, { types: ['object'], definition })
  }
  if (fields.some((field) => isIn(name, field.name) && takesAnyMember(field, fields))) {
    return []
  }
  const hint = suggestName(
    name,
    fields.map((field) => field.name),
  )
  return [{ field: name, reason: `The destination has no field ${quoteName(name)}${hint}.` }]
}

/** An object whose members are not told one by one. */
function takesAnyMember({ name, types }: TargetField, fields: readonly TargetField[]): boolean {
  const isOpen = types === null || types.includes('object')
  return isOpen && !fields.some((field) => isIn(field.name, name))
}

function describeType(
  name: string,
  { types, definition }: { readonly types: readonly ValueType[]; readonly definition: JsonValue },
): MappingProblem[] {
  const outcome = outcomeOf(definition)
  if (outcome === null || outcome.size === 0 || types.some((type) => outcome.has(type))) {
    return []
  }
  // Every text may be that of a date: to say so would tell nobody anything.
  const told = [...outcome].filter((type) => type !== 'date' || !outcome.has('text'))
  const [takes, gives] = [types, told].map(listTypes)
  return [
    { field: name, reason: `The destination takes ${takes} here, and the mapping gives ${gives}.` },
  ]
}

const WORDS = {
  text: 'a text',
  number: 'a number',
  boolean: 'a yes or no (boolean)',
  date: 'a date',
  list: 'a list',
  object: 'an object',
} as const satisfies Record<ValueType, string>

function listTypes(types: readonly ValueType[]): string {
  return types.map((type) => WORDS[type]).join(' or ')
}

const only = (...types: readonly ValueType[]): Outcome => new Set(types)

function unite(outcomes: readonly Outcome[]): Outcome {
  const known = outcomes.filter((outcome) => outcome !== null)
  return known.length === outcomes.length ? new Set(known.flatMap((one) => [...one])) : null
}

/** What a value of the definition may be. */
function outcomeOf(definition: JsonValue): Outcome {
  if (!isJsonObject(definition)) {
    return only('list')
  }
  const [entry] = Object.entries(definition)
  if (!entry?.[0].startsWith('$')) {
    return only('object')
  }
  const [directive, argument] = entry
  const members = isJsonObject(argument) ? argument : {}
  return (OUTCOMES[directive] ?? UNKNOWN)(argument, members)
}

type OutcomeOf = (argument: JsonValue, members: JsonObject) => Outcome

const UNKNOWN: OutcomeOf = () => null
/** A text may be the text of a date. */
const TEXT = only('text', 'date')

const OUTCOMES: Readonly<Record<string, OutcomeOf>> = {
  $const: (value) => typeOf(value),
  $template: () => TEXT,
  $join: () => TEXT,
  $case: (_, { value }) => changedText(value),
  $trim: (value) => changedText(value),
  // Seconds and milliseconds since 1970 are numbers; a destination may take them for dates.
  $date: (_, { to }) => (isEpoch(to) ? only('number', 'date') : TEXT),
  $number: () => only('number'),
  $boolean: () => only('boolean'),
  $split: () => only('list'),
  $default: (_, { value, fallback }) => unite([partOf(value), partOf(fallback)]),
  $coalesce: (values) => unite(listOf(values).map(partOf)),
  $if: (_, branches) =>
    unite([partOf(branches['then']), ...('else' in branches ? [partOf(branches['else'])] : [])]),
  $lookup: (_, { table, otherwise }) =>
    unite([
      ...Object.values(isJsonObject(table ?? null) ? (table as JsonObject) : {}).map(typeOf),
      ...(otherwise === undefined ? [] : [partOf(otherwise)]),
    ]),
}

function partOf(definition: JsonValue | undefined): Outcome {
  return definition === undefined ? only() : outcomeOf(definition)
}

function listOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** Numbers and booleans stay as they are; anything else than these and texts rejects the record. */
function changedText(definition: JsonValue | undefined): Outcome {
  const outcome = partOf(definition)
  const scalars: readonly ValueType[] = ['text', 'number', 'boolean', 'date']
  return outcome === null ? only(...scalars) : new Set(scalars.filter((type) => outcome.has(type)))
}

function isEpoch(format: JsonValue | undefined): boolean {
  return format === 'EPOCH_SECONDS' || format === 'EPOCH_MS'
}

/** As it begins where it is written as ISO 8601 has it. */
const DATE = /^\d{4}-\d{2}-\d{2}/

function typeOf(value: JsonValue): Outcome {
  if (value === null) {
    return only()
  }
  switch (typeof value) {
    case 'string':
      return DATE.test(value) || value.trim() === '' ? TEXT : only('text')
    case 'number':
      return only('number')
    case 'boolean':
      return only('boolean')
    default:
      return only(Array.isArray(value) ? 'list' : 'object')
  }
}
