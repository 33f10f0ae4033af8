/**
 * The field mapping: data-only JSON that says, for each field of the target, where its value comes
 * from. Checked and compiled to closures once, when it is saved; run for every record.
 *
 * Invariants: no text of a mapping is ever run as code, and nothing but a record's own members can be
 * read. The same definition and record give the same fields: no clock, no chance, no locale. Compiling
 * and mapping never throw, whatever JSON comes in. What a mapping reports never repeats a value of the
 * record. The language is described in docs/mapping.md, whose examples are tests.
 */
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { DIRECTIVE_NAMES, findDirective } from './mapping-directives.ts'
import { quoteName, shorten, suggestName } from './mapping-names.ts'
import type { SourcePath } from './mapping-path.ts'
import {
  describeRefusedName,
  type Evaluate,
  isPresent,
  NOTHING,
  type Scope,
  toPlain,
  Unmappable,
} from './mapping-scope.ts'

/** Deepest nesting of a definition: target objects, lists and directives together. */
export const MAX_MAPPING_DEPTH = 16
/** Target fields of one mapping, those of nested objects and list items included. */
export const MAX_MAPPING_FIELDS = 500

/** Stands for the field where a problem is about the mapping as a whole. */
const WHOLE_MAPPING = '(mapping)'
/** Stands for the field where a rejection is about the record as a whole. */
const WHOLE_RECORD = '(record)'

/** `field`: the target field as a dotted path (`address.city`). `reason`: one full sentence. */
export interface MappingProblem {
  readonly field: string
  readonly reason: string
}

export type MapResult =
  | { readonly kind: 'mapped'; readonly fields: JsonObject }
  | {
      readonly kind: 'rejected'
      readonly field: string
      /** Both as in {@link MappingProblem}, with no value of the record. */
      readonly reason: string
      /** The top-level fields that could be mapped: by these the destination may know the record. */
      readonly mappable: JsonObject
    }

/** One use of a top-level source field by a target field. */
interface SourceFieldUse {
  readonly field: string
  readonly sourceField: string
}

export interface CompiledMapping {
  /** The top-level source fields that the mapping reads, sorted, each once. */
  readonly sourceFields: readonly string[]
  readonly sourceFieldUses: readonly SourceFieldUse[]
  /**
   * Members come out sorted by name at every level, so that equal records serialise equally whatever
   * the order of the source's members. (JavaScript puts names that are whole numbers first.)
   */
  map(record: JsonObject): MapResult
}

export type CompileResult =
  | { readonly kind: 'compiled'; readonly mapping: CompiledMapping }
  /** Every problem at once, by target field. */
  | { readonly kind: 'invalid'; readonly problems: readonly MappingProblem[] }

/** Checks a definition and makes it ready to run. */
export function compileMapping(definition: JsonValue): CompileResult {
  const compilation: Compilation = { problems: [], uses: [], fieldCount: 0 }
  const members = compileRoot(compilation, definition)
  if (compilation.problems.length > 0) {
    return { kind: 'invalid', problems: compilation.problems }
  }
  const sourceFieldUses = compilation.uses
  const sourceFields = [...new Set(sourceFieldUses.map((use) => use.sourceField))].sort()
  return {
    kind: 'compiled',
    mapping: { sourceFields, sourceFieldUses, map: (record) => mapRecord(members, record) },
  }
}

/** What a mapping reads although the source does not have it: one problem for each use. */
export function findUnknownFields(
  mapping: CompiledMapping,
  knownFields: readonly string[],
): MappingProblem[] {
  const known = new Set(knownFields)
  return mapping.sourceFieldUses
    .filter(({ sourceField }) => !known.has(sourceField))
    .map(({ field, sourceField }) => {
      const hint = suggestName(sourceField, knownFields)
      return { field, reason: `The source has no field ${JSON.stringify(sourceField)}${hint}.` }
    })
}

function mapRecord(members: readonly Member[], record: JsonObject): MapResult {
  const fields: Record<string, JsonValue> = {}
  let refusal: Unmappable | null = null
  for (const { name, evaluate } of members) {
    try {
      const value = evaluate(record)
      if (value !== undefined) {
        fields[name] = value
      }
    } catch (error) {
      if (!(error instanceof Unmappable)) {
        throw error
      }
      refusal ??= error
    }
  }
  if (refusal) {
    const { field, message: reason } = refusal
    return { kind: 'rejected', field, reason, mappable: fields }
  }
  if (Object.keys(fields).length === 0) {
    const reason = 'None of the mapped fields has a value in this record.'
    return { kind: 'rejected', field: WHOLE_RECORD, reason, mappable: fields }
  }
  return { kind: 'mapped', fields }
}

/** What one compilation collects. */
interface Compilation {
  readonly problems: MappingProblem[]
  readonly uses: SourceFieldUse[]
  fieldCount: number
}

/** Where in the definition a value stands. */
interface Place {
  readonly field: string
  /** Levels of the definition above it. */
  readonly depth: number
  /** Levels of the target above it. */
  readonly targetDepth: number
  /** Whether it is part of a directive, whose outcome is checked as a whole. */
  readonly isInside: boolean
}

const ROOT: Place = { field: '', depth: 0, targetDepth: 0, isInside: false }

/** One field of an object, ready to run. */
interface Member {
  readonly name: string
  readonly evaluate: Evaluate
}

function compileRoot(compilation: Compilation, definition: JsonValue): readonly Member[] {
  const { problems } = compilation
  const report = (reason: string) => problems.push({ field: WHOLE_MAPPING, reason })
  if (!isJsonObject(definition)) {
    report('A mapping is an object that names each target field and its value.')
    return []
  }
  const names = Object.keys(definition)
  const directive = names.find((name) => name.startsWith('$'))
  if (names.length === 0) {
    report('The mapping is empty: it names no target field.')
  } else if (directive !== undefined) {
    report(`A mapping names target fields at its top, where ${quoteName(directive)} stands.`)
  } else {
    return compileMembers(compilation, definition, ROOT)
  }
  return []
}

function compileValue(compilation: Compilation, definition: JsonValue, place: Place): Evaluate {
  const report = reporter(compilation, place)
  if (place.depth > MAX_MAPPING_DEPTH) {
    report(`The mapping is nested more than ${MAX_MAPPING_DEPTH} levels deep here.`)
    return NOTHING
  }
  if (isJsonObject(definition)) {
    const directives = Object.keys(definition).filter((name) => name.startsWith('$'))
    return directives.length > 0
      ? compileDirective(compilation, definition, directives, place)
      : compileFields(compilation, definition, place)
  }
  if (definition !== null && typeof definition === 'object') {
    return compileList(compilation, definition, place)
  }
  report(
    'The value is a bare constant: write { "$path": … } for a source field or { "$const": … } for a fixed value.',
  )
  return NOTHING
}

function compileFields(compilation: Compilation, definition: JsonObject, place: Place): Evaluate {
  const members = compileMembers(compilation, definition, place)
  return (record) => {
    const fields: Record<string, JsonValue> = {}
    let isEmpty = true
    for (const { name, evaluate } of members) {
      const value = evaluate(record)
      if (value !== undefined) {
        fields[name] = value
        isEmpty = false
      }
    }
    return isEmpty ? undefined : fields
  }
}

function compileMembers(
  compilation: Compilation,
  definition: JsonObject,
  place: Place,
): readonly Member[] {
  const report = reporter(compilation, place)
  const names = Object.keys(definition).sort()
  if (names.length === 0) {
    report('The object names no field: write { "$const": {} } for an empty object.')
  }
  const members: Member[] = []
  for (const name of names) {
    const refusal = describeRefusedName(name)
    const inner = placeBelow(place, refusal ? shorten(name) : name)
    if (refusal) {
      reporter(compilation, inner)(refusal)
    } else if (countField(compilation)) {
      const evaluate = compileValue(compilation, definition[name] ?? null, inner)
      members.push({ name, evaluate })
    }
  }
  return members
}

function compileList(
  compilation: Compilation,
  definition: readonly JsonValue[],
  place: Place,
): Evaluate {
  const items: Evaluate[] = []
  for (const [index, item] of definition.entries()) {
    const inner = placeBelow(place, String(index))
    if (countField(compilation)) {
      items.push(compileValue(compilation, item, inner))
    }
  }
  if (items.length === 0 && definition.length === 0) {
    reporter(compilation, place)('The list is empty: write { "$const": [] } for an empty list.')
  }
  return (record) => {
    const values = items.map((item) => item(record)).filter((value) => value !== undefined)
    return values.length > 0 ? values : undefined
  }
}

function compileDirective(
  compilation: Compilation,
  definition: JsonObject,
  directives: readonly string[],
  place: Place,
): Evaluate {
  const report = reporter(compilation, place)
  const [name = '', second] = directives
  const other = second ?? Object.keys(definition).find((member) => member !== name)
  if (other !== undefined) {
    report(
      second === undefined
        ? `The directive ${quoteName(name)} stands alone in its object; ${quoteName(other)} cannot stand beside it.`
        : `Two directives in one object: ${quoteName(name)} and ${quoteName(second)}.`,
    )
    return NOTHING
  }
  const compile = findDirective(name)
  if (!compile) {
    report(`Unknown directive ${quoteName(name)}${suggestName(name, DIRECTIVE_NAMES)}.`)
    return NOTHING
  }
  const evaluate = compile(definition[name] ?? null, scopeOf(compilation, place))
  if (place.isInside) {
    return evaluate
  }
  const { field, targetDepth } = place
  return (record) => {
    const value = evaluate(record)
    return isPresent(value) ? toPlain(value, field, targetDepth) : value
  }
}

function scopeOf(compilation: Compilation, place: Place): Scope {
  const { field } = place
  return {
    field,
    report: reporter(compilation, place),
    use: (path: SourcePath) => {
      const [sourceField = ''] = path
      compilation.uses.push({ field, sourceField })
    },
    compile: (definition) =>
      compileValue(compilation, definition, { ...place, depth: place.depth + 1, isInside: true }),
  }
}

function placeBelow(place: Place, name: string): Place {
  return {
    ...place,
    field: place.field === '' ? name : `${place.field}.${name}`,
    depth: place.depth + 1,
    targetDepth: place.targetDepth + 1,
  }
}

/** False once there are too many; reported once. */
function countField(compilation: Compilation): boolean {
  compilation.fieldCount += 1
  if (compilation.fieldCount === MAX_MAPPING_FIELDS + 1) {
    const reason = `The mapping has more than ${MAX_MAPPING_FIELDS} target fields.`
    compilation.problems.push({ field: WHOLE_MAPPING, reason })
  }
  return compilation.fieldCount <= MAX_MAPPING_FIELDS
}

function reporter({ problems }: Compilation, { field }: Place): (reason: string) => void {
  return (reason) => {
    problems.push({ field, reason })
  }
}
