/** How a value of each type of the schema is written as JSON. Throws {@link OffTheWay} for whatever is not plainly one. */
import {
  defaultTypeResolver,
  type GraphQLAbstractType,
  GraphQLBoolean,
  type GraphQLEnumType,
  GraphQLFloat,
  GraphQLID,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLString,
  isAbstractType,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import {
  type FieldPlan,
  OffTheWay,
  type Path,
  pathOf,
  type Run,
  type Text,
  type Writer,
} from './shapes.ts'

/** For the value of a field of this type. */
export function makeWriter(type: GraphQLOutputType): Writer {
  return make(type, (field, path) => pathOf(field, path))
}

/** Where the value stands, given where its field's object or its list stands. */
type Place = (field: FieldPlan, path: Path) => Path

const known = new WeakMap<GraphQLLeafType, (value: unknown) => string>()

function make(type: GraphQLOutputType, place: Place): Writer {
  if (isNonNullType(type)) {
    const write = makeNullable(type.ofType, place)
    return (run, field, value, path) => {
      if (value === null || value === undefined) {
        throw new OffTheWay()
      }
      return write(run, field, value, path)
    }
  }
  const write = makeNullable(type, place)
  return (run, field, value, path) =>
    value === null || value === undefined ? 'null' : write(run, field, value, path)
}

/** For a value that is there. */
function makeNullable(type: GraphQLOutputType, place: Place): Writer {
  if (isLeafType(type)) {
    const write = known.get(type) ?? makeLeaf(type)
    known.set(type, write)
    return (_run, _field, value) => write(value)
  }
  if (isListType(type)) {
    return makeList(type.ofType, place)
  }
  if (isAbstractType(type)) {
    return makeAbstract(type, place)
  }
  if (isObjectType(type)) {
    return (run, field, value, path) =>
      writeObjectOf(run, { field, type, value, path: place(field, path) })
  }
  throw new OffTheWay()
}

function makeList(entryType: GraphQLOutputType, place: Place): Writer {
  // An entry's path is made before it is written.
  const write = make(entryType, (_field, path) => path)
  return (run, field, value, path) => {
    if (!Array.isArray(value)) {
      throw new OffTheWay()
    }
    const prev = place(field, path)
    let text = '['
    let parts: Text[] | null = null
    for (let n = 0; n < value.length; n += 1) {
      const entryPath = { prev, key: n, typename: undefined }
      const entry = run.when(value[n], (given) => write(run, field, given, entryPath))
      if (n > 0) {
        text += ','
      }
      if (typeof entry === 'string') {
        text += entry
      } else {
        parts ??= []
        parts.push(text, entry)
        text = ''
      }
    }
    text += ']'
    return parts === null ? text : [...parts, text]
  }
}

function makeAbstract(type: GraphQLAbstractType, place: Place): Writer {
  const resolveType = type.resolveType ?? defaultTypeResolver
  return (run, field, value, path) => {
    refuseError(value)
    const here = place(field, path)
    const name = resolveType(value, run.context, run.infoOf(field, path), type)
    return run.when(name, (given) => {
      const { schema } = field.parts
      const concrete = typeof given === 'string' ? schema.getType(given) : undefined
      if (!isObjectType(concrete) || !schema.isSubType(type, concrete)) {
        throw new OffTheWay()
      }
      return writeObjectOf(run, { field, type: concrete, value, path: here })
    })
  }
}

function writeObjectOf(
  run: Run,
  given: {
    readonly field: FieldPlan
    readonly type: GraphQLObjectType
    readonly value: unknown
    readonly path: Path
  },
): Text {
  const { field, type, value, path } = given
  refuseError(value)
  const plan = field.planFor(type)
  if (plan === null) {
    throw new OffTheWay()
  }
  if (!type.isTypeOf) {
    return run.writeObject(plan, value, path)
  }
  const answer = type.isTypeOf(value, run.context, run.infoOf(field, path?.prev))
  return run.when(answer, (isOfType) => {
    if (!isOfType) {
      throw new OffTheWay()
    }
    return run.writeObject(plan, value, path)
  })
}

/** An error that is returned is as good as one that is thrown. */
function refuseError(value: unknown): void {
  if (value instanceof Error) {
    throw new OffTheWay()
  }
}

function makeLeaf(type: GraphQLLeafType): (value: unknown) => string {
  if (isEnumType(type)) {
    return makeEnum(type)
  }
  const serialize = (value: unknown): string => {
    refuseError(value)
    const text: string | undefined = JSON.stringify(type.serialize(value))
    if (text === undefined || text === 'null') {
      throw new OffTheWay()
    }
    return text
  }
  switch (type) {
    case GraphQLString:
    case GraphQLID:
      return (value) => (typeof value === 'string' ? quote(value) : serialize(value))
    case GraphQLBoolean:
      return (value) => (typeof value === 'boolean' ? String(value) : serialize(value))
    case GraphQLFloat:
      return (value) =>
        typeof value === 'number' && Number.isFinite(value) ? String(value) : serialize(value)
    default:
      return serialize
  }
}

function makeEnum(type: GraphQLEnumType): (value: unknown) => string {
  const texts = new Map<unknown, string>(
    type.getValues().map(({ name, value }) => [value, JSON.stringify(name)]),
  )
  return (value) => {
    const text = texts.get(value)
    if (text === undefined) {
      throw new OffTheWay()
    }
    return text
  }
}

/** What JSON writes otherwise than it stands: quotes, backslashes, control characters, halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that JSON escapes.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/

function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`
}
