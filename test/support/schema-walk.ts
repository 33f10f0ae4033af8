/**
 * Operations made from the schema itself, so that none of its fields can be forgotten: everything that a type
 * has is selected, and every place that takes an id is listed.
 */
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationTypeNode,
} from 'graphql'
import { apiSchema } from '../../src/graphql/schema.ts'

type Field = GraphQLField<unknown, unknown>

export interface RootField {
  readonly operation: `${OperationTypeNode}`
  readonly field: Field
}

/** A place that takes an id: the names that lead to it, from the argument on. */
export interface IdPlace extends RootField {
  readonly path: readonly string[]
  readonly isList: boolean
}

export type Example = (type: GraphQLNamedType, name: string, root: RootField) => unknown

export function listRootFields(): RootField[] {
  return (['query', 'mutation', 'subscription'] as const).flatMap((operation) =>
    Object.values(apiSchema.getRootType(operation as OperationTypeNode)?.getFields() ?? {}).map(
      (field) => ({ operation, field }),
    ),
  )
}

export function listIdPlaces(): IdPlace[] {
  return listRootFields().flatMap((root) =>
    root.field.args.flatMap(({ name, type }) =>
      findIds(type, [name]).map((found) => ({ ...root, ...found })),
    ),
  )
}

function findIds(
  type: GraphQLInputType,
  path: readonly string[],
): { readonly path: readonly string[]; readonly isList: boolean }[] {
  const named = getNamedType(type)
  if (isInputObjectType(named)) {
    return Object.values(named.getFields())
      .filter(({ name }) => !path.includes(name))
      .flatMap((field) => findIds(field.type, [...path, field.name]))
  }
  return named.name === 'ID' ? [{ path, isList: isList(type) }] : []
}

function isList(type: GraphQLInputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type)
}

/** What the field takes: all that it needs, and all on the way to `path`; leaves as `example` says. */
export function makeArguments(
  root: RootField,
  path: readonly string[],
  example: Example,
): Record<string, unknown> {
  const fill = (type: GraphQLInputType, name: string, rest: readonly string[]): unknown => {
    if (isNonNullType(type)) {
      return fill(type.ofType, name, rest)
    }
    if (isListType(type)) {
      return [fill(type.ofType, name, rest)]
    }
    return isInputObjectType(type)
      ? fillMembers(Object.values(type.getFields()), rest)
      : example(type, name, root)
  }
  const fillMembers = (
    members: readonly { readonly name: string; readonly type: GraphQLInputType }[],
    rest: readonly string[],
  ) =>
    Object.fromEntries(
      members
        .filter(({ name, type }) => isNonNullType(type) || name === rest[0])
        .map(({ name, type }) => [name, fill(type, name, rest[0] === name ? rest.slice(1) : [])]),
    )
  return fillMembers(root.field.args, path)
}

/** An operation that asks the field for everything, `levels` objects deep. Notes what it selects as `Type.field`. */
export function writeOperation(
  { operation, field }: RootField,
  levels: number,
  selected: Set<string> = new Set(),
): string {
  const variables = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ')
  const given = field.args.map(({ name }) => `${name}: $${name}`).join(', ')
  const root = apiSchema.getRootType(operation as OperationTypeNode)?.name ?? ''
  selected.add(`${root}.${field.name}`)
  const head = variables === '' ? operation : `${operation} (${variables})`
  return `${head} { ${field.name}${given === '' ? '' : `(${given})`} ${select(field.type, levels, selected)} }`
}

function select(type: GraphQLOutputType, levels: number, selected: Set<string>): string {
  const named = getNamedType(type)
  if (isLeafType(named)) {
    return ''
  }
  const types = isAbstractType(named) ? apiSchema.getPossibleTypes(named) : [named]
  const members = types.map((one) => {
    const fields = Object.values(one.getFields())
      .filter((field) => isSelectable(field, levels))
      .map((field) => {
        selected.add(`${one.name}.${field.name}`)
        // Members of one union may have fields of one name and different types.
        const alias = `${one.name}_${field.name}`
        const next = isWrapper(one) ? levels : levels - 1
        return `${alias}: ${field.name}${give(field)} ${select(field.type, next, selected)}`
      })
    return `... on ${one.name} { __typename ${fields.join(' ')} }`
  })
  return `{ ${members.join(' ')} }`
}

function isSelectable(field: Field, levels: number): boolean {
  return isLeafType(getNamedType(field.type)) || levels > 0
}

/** What the field needs, as any other value of its type. */
function give(field: Field): string {
  const needed = field.args.filter(({ type }) => isNonNullType(type))
  const given = needed.map(({ name, type }) => {
    const named = getNamedType(type)
    const value = plainExample(named)
    return `${name}: ${isEnumType(named) ? value : JSON.stringify(value)}`
  })
  return given.length === 0 ? '' : `(${given.join(', ')})`
}

/** Pages and their entries lead to an object, and are none. */
function isWrapper(type: GraphQLNamedType): boolean {
  return /Connection(Edge)?$/.test(type.name) && isObjectType(type) && !('id' in type.getFields())
}

/** Every field of every object type, as `Type.field`, but those of introspection. */
export function listAllFields(): string[] {
  return Object.values(apiSchema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__'))
    .flatMap((type) =>
      isObjectType(type) ? Object.keys(type.getFields()).map((name) => `${type.name}.${name}`) : [],
    )
}

/** A value of an enum or a scalar that is as good as any other. */
export function plainExample(type: GraphQLNamedType): unknown {
  if (isEnumType(type)) {
    return type.getValues()[0]?.name
  }
  const values: Readonly<Record<string, unknown>> = {
    String: 'x',
    Int: 1,
    Boolean: true,
    JSON: {},
    DateTime: '2026-01-01T00:00:00.000Z',
  }
  return values[type.name]
}
