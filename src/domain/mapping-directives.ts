/**
 * The directives of the mapping language: the closed set, each compiled to a closure.
 *
 * Invariants: undefined (no value) and null pass through a directive that changes a value, unless it
 * says otherwise. What a directive cannot do with a value rejects the record; it never guesses.
 */
import { describeUnstorableText, isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import {
  compileCondition,
  describeRefusal,
  MAX_LIST_ITEMS,
  readList,
} from './mapping-conditions.ts'
import { DATE_FORMATS, formatDate, parseDate, parseZone } from './mapping-dates.ts'
import { DECIMAL_MARKS, GROUP_MARKS, MAX_DECIMALS, numberParser } from './mapping-numbers.ts'
import { parsePath, parseTemplate, readMember, readPath } from './mapping-path.ts'
import {
  boundText,
  type Evaluate,
  isBlank,
  isPresent,
  MAX_SETTING_LENGTH,
  NOTHING,
  readChoice,
  readMembers,
  type Scope,
  scalarText,
  toPlain,
  Unmappable,
} from './mapping-scope.ts'

type CompileDirective = (argument: JsonValue, scope: Scope) => Evaluate

const DIRECTIVES: Readonly<Record<string, CompileDirective>> = {
  $path: compilePath,
  $const: compileConst,
  $template: compileTemplate,
  $default: compileDefault,
  $coalesce: compileCoalesce,
  $case: compileCase,
  $trim: compileTrim,
  $date: compileDate,
  $number: compileNumber,
  $boolean: compileBoolean,
  $if: compileIf,
  $lookup: compileLookup,
  $join: compileJoin,
  $split: compileSplit,
}
export const DIRECTIVE_NAMES: readonly string[] = Object.keys(DIRECTIVES)

export function findDirective(name: string): CompileDirective | null {
  return Object.hasOwn(DIRECTIVES, name) ? (DIRECTIVES[name] ?? null) : null
}

function compilePath(argument: JsonValue, scope: Scope): Evaluate {
  const parsed = parsePath(argument)
  if (parsed.kind === 'refused') {
    scope.report(`The directive "$path" ${parsed.reason}.`)
    return NOTHING
  }
  const path = parsed.value
  scope.use(path)
  const [name = '', second] = path
  return second === undefined
    ? (record) => readMember(record, name)
    : (record) => readPath(record, path)
}

function compileConst(argument: JsonValue, scope: Scope): Evaluate {
  try {
    const value = toPlain(argument, scope.field, 0)
    return () => value
  } catch (error) {
    scope.report(describeRefusal(error))
    return NOTHING
  }
}

/** No value for one placeholder is no value for the whole text: half a sentence helps nobody. */
function compileTemplate(argument: JsonValue, scope: Scope): Evaluate {
  const parsed = parseTemplate(argument)
  if (parsed.kind === 'refused') {
    scope.report(`The directive "$template" ${parsed.reason}.`)
    return NOTHING
  }
  const parts = parsed.value
  for (const part of parts) {
    if (typeof part !== 'string') {
      scope.use(part)
    }
  }
  const { field } = scope
  return (record) => {
    let text = ''
    for (const part of parts) {
      const value = typeof part === 'string' ? part : readPath(record, part)
      if (!isPresent(value)) {
        return undefined
      }
      text += scalarText(value, field)
    }
    return boundText(text, field)
  }
}

/** The fallback stands in for no value, null and blank text. */
function compileDefault(argument: JsonValue, scope: Scope): Evaluate {
  const shape = { required: ['value', 'fallback'], optional: [] } as const
  const members = readMembers(scope, '$default', argument, shape)
  if (!members) {
    return NOTHING
  }
  const value = scope.compile(members.value)
  const fallback = scope.compile(members.fallback)
  return (record) => {
    const given = value(record)
    return isBlank(given) ? fallback(record) : given
  }
}

/** The first that is neither undefined nor null; else null if one was null. */
function compileCoalesce(argument: JsonValue, scope: Scope): Evaluate {
  const values = readList(scope, '$coalesce', argument).map((item) => scope.compile(item))
  return (record) => {
    let last: JsonValue | undefined
    for (const value of values) {
      const given = value(record)
      if (isPresent(given)) {
        return given
      }
      last = given === null ? null : last
    }
    return last
  }
}

const CASES = ['UPPER', 'LOWER', 'CAPITALIZE'] as const

function compileCase(argument: JsonValue, scope: Scope): Evaluate {
  const members = readMembers(scope, '$case', argument, { required: ['value', 'to'], optional: [] })
  const to = members && readChoice(scope, '"to" of "$case"', members.to, CASES)
  if (!members || !to) {
    return NOTHING
  }
  const changes = { UPPER: toUpper, LOWER: toLower, CAPITALIZE: capitalize }
  return changeText(scope.compile(members.value), scope, changes[to])
}

// Not the toLocale… forms: `I` must not depend on the machine being Turkish.
const toUpper = (text: string) => text.toUpperCase()
const toLower = (text: string) => text.toLowerCase()
/** The first letter of every word; the rest of it stays (`McDonald`). */
const capitalize = (text: string) =>
  text.replaceAll(/(?<=^|[\s-])\p{L}/gu, (letter) => letter.toUpperCase())

function compileTrim(argument: JsonValue, scope: Scope): Evaluate {
  return changeText(scope.compile(argument), scope, (text) => text.trim())
}

/** Changes texts; numbers and booleans stay as they are. */
function changeText(value: Evaluate, { field }: Scope, change: (text: string) => string): Evaluate {
  return (record) => {
    const given = value(record)
    if (!isPresent(given)) {
      return given
    }
    const text = scalarText(given, field)
    return typeof given === 'string' ? change(text) : given
  }
}

function compileDate(argument: JsonValue, scope: Scope): Evaluate {
  const shape = { required: ['value', 'from', 'to'], optional: ['zone'] } as const
  const members = readMembers(scope, '$date', argument, shape)
  if (!members) {
    return NOTHING
  }
  const from = readChoice(scope, '"from" of "$date"', members.from, DATE_FORMATS)
  const to = readChoice(scope, '"to" of "$date"', members.to, DATE_FORMATS)
  const { zone = 'UTC' } = members
  const zoneSeconds = typeof zone === 'string' ? parseZone(zone) : null
  if (zoneSeconds === null) {
    scope.report('The setting "zone" of "$date" is "UTC" or a fixed offset such as "+02:00".')
  }
  const value = scope.compile(members.value)
  if (!from || !to || zoneSeconds === null) {
    return NOTHING
  }
  const { field } = scope
  const refusal = `The value is not a date that exists in the format ${from}.`
  return (record) => {
    const given = value(record)
    if (isBlank(given) || !isPresent(given)) {
      return given === null ? null : undefined
    }
    const instant = parseDate(scalarText(given, field).trim(), from, zoneSeconds)
    const formatted = instant && formatDate(instant, to, zoneSeconds)
    if (formatted === null) {
      throw new Unmappable(field, refusal)
    }
    return formatted
  }
}

function compileNumber(argument: JsonValue, scope: Scope): Evaluate {
  const shape = { required: ['value'], optional: ['decimal', 'group', 'decimals'] } as const
  const members = readMembers(scope, '$number', argument, shape)
  if (!members) {
    return NOTHING
  }
  const { decimal: mark = '.', group: groupMark = '', decimals = null } = members
  const decimal = readChoice(scope, '"decimal" of "$number"', mark, DECIMAL_MARKS)
  const group = readChoice(scope, '"group" of "$number"', groupMark, GROUP_MARKS)
  const places = typeof decimals === 'number' && Number.isInteger(decimals) ? decimals : null
  const isBounded = places === null || (places >= 0 && places <= MAX_DECIMALS)
  const isFit = 'decimals' in members ? places !== null && isBounded : true
  if (!isFit) {
    scope.report(`The setting "decimals" of "$number" is a whole number from 0 to ${MAX_DECIMALS}.`)
  }
  if (decimal !== null && decimal === group) {
    scope.report('The settings "decimal" and "group" of "$number" are the same character.')
  }
  const value = scope.compile(members.value)
  if (decimal === null || group === null) {
    return NOTHING
  }
  const parse = numberParser({ decimal, group, decimals: places })
  const { field } = scope
  return (record) => {
    const given = value(record)
    if (isBlank(given) || !isPresent(given)) {
      return given === null ? null : undefined
    }
    const parsed = parse(typeof given === 'number' ? given : scalarText(given, field))
    if (parsed.kind === 'refused') {
      throw new Unmappable(field, parsed.reason)
    }
    return parsed.value
  }
}

const TRUE_WORDS = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const FALSE_WORDS = new Set(['false', 'f', 'no', 'n', 'off', '0'])

function compileBoolean(argument: JsonValue, scope: Scope): Evaluate {
  const value = scope.compile(argument)
  const { field } = scope
  return (record) => {
    const given = value(record)
    if (isBlank(given) || !isPresent(given)) {
      return given === null ? null : undefined
    }
    const word = scalarText(given, field).trim().toLowerCase()
    if (!TRUE_WORDS.has(word) && !FALSE_WORDS.has(word)) {
      throw new Unmappable(field, 'The value is neither a yes nor a no.')
    }
    return TRUE_WORDS.has(word)
  }
}

function compileIf(argument: JsonValue, scope: Scope): Evaluate {
  const shape = { required: ['condition', 'then'], optional: ['else'] } as const
  const members = readMembers(scope, '$if', argument, shape)
  if (!members) {
    return NOTHING
  }
  const condition = compileCondition(scope, members.condition)
  const then = scope.compile(members.then)
  const otherwise = members.else === undefined ? NOTHING : scope.compile(members.else)
  return (record) => (condition(record) ? then(record) : otherwise(record))
}

/** Texts of the table are matched as they are written; without `otherwise`, what is not in it rejects the record. */
function compileLookup(argument: JsonValue, scope: Scope): Evaluate {
  const shape = { required: ['value', 'table'], optional: ['otherwise'] } as const
  const members = readMembers(scope, '$lookup', argument, shape)
  if (!members) {
    return NOTHING
  }
  const table = readTable(scope, members.table)
  const value = scope.compile(members.value)
  const otherwise = members.otherwise === undefined ? null : scope.compile(members.otherwise)
  const { field } = scope
  return (record) => {
    const given = value(record)
    if (!isPresent(given)) {
      return given
    }
    const found = table.get(scalarText(given, field))
    if (found !== undefined) {
      return found
    }
    if (!otherwise) {
      throw new Unmappable(field, 'The value is not in the table of "$lookup".')
    }
    return otherwise(record)
  }
}

function readTable(scope: Scope, definition: JsonValue): ReadonlyMap<string, JsonValue> {
  const entries = isJsonObject(definition) ? Object.entries(definition) : []
  if (entries.length === 0 || entries.length > MAX_LIST_ITEMS) {
    scope.report(
      `The setting "table" of "$lookup" is an object of 1 to ${MAX_LIST_ITEMS} constants.`,
    )
  }
  try {
    return new Map(entries.map(([name, value]) => [name, toPlain(value, scope.field, 0)]))
  } catch (error) {
    scope.report(describeRefusal(error))
    return new Map()
  }
}

/** Joins what is not blank; lists among the values are joined item by item. */
function compileJoin(argument: JsonValue, scope: Scope): Evaluate {
  const members = readMembers(scope, '$join', argument, {
    required: ['values', 'with'],
    optional: [],
  })
  if (!members) {
    return NOTHING
  }
  const between = readText(scope, '"with" of "$join"', members.with)
  const values = readList(scope, '"values" of "$join"', members.values)
  const parts = values.map((item) => scope.compile(item))
  const { field } = scope
  return (record) => {
    const texts = parts
      .flatMap((part) => part(record))
      .filter((value) => !isBlank(value))
      .map((value) => scalarText(value ?? '', field))
    return texts.length > 0 ? boundText(texts.join(between), field) : undefined
  }
}

/** Parts are trimmed, and blank ones left out. */
function compileSplit(argument: JsonValue, scope: Scope): Evaluate {
  const members = readMembers(scope, '$split', argument, {
    required: ['value', 'by'],
    optional: [],
  })
  if (!members) {
    return NOTHING
  }
  const by = readText(scope, '"by" of "$split"', members.by)
  if (by === '') {
    scope.report('The setting "by" of "$split" is empty.')
  }
  const value = scope.compile(members.value)
  const { field } = scope
  return (record: JsonObject) => {
    const given = value(record)
    if (!isPresent(given)) {
      return given
    }
    const parts = scalarText(given, field).split(by)
    const texts = parts.map((part) => part.trim()).filter((part) => part !== '')
    return texts.length > 0 ? texts : undefined
  }
}

function readText(scope: Scope, setting: string, given: JsonValue): string {
  if (typeof given !== 'string' || given.length > MAX_SETTING_LENGTH) {
    scope.report(`The setting ${setting} is a text of at most ${MAX_SETTING_LENGTH} characters.`)
    return ' '
  }
  const unstorable = describeUnstorableText(given)
  if (unstorable) {
    scope.report(`The setting ${setting} ${unstorable}.`)
  }
  return given
}
