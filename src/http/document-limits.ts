/**
 * How large a document is, measured in one walk before it is validated.
 *
 * Validation comes after it, because some of GraphQL's own rules take long for a hostile document. Each fragment
 * is measured once, however often it is spread, so the walk takes as long as the document is, and the figures are
 * those of the document with its fragments written out. What is wrong with the document otherwise (a field that does
 * not exist, a fragment in itself) is for validation to say.
 *
 * The cost is the number of objects that the operation can make the API read: an object counts one, a page as
 * many as it asks for, a list without pages {@link LIST_SIZE}, and what is in it as many times.
 */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql'
import { DEFAULT_PAGE_SIZE } from '../graphql/paging.ts'

/** With fragments written out. */
export interface DocumentSize {
  readonly selections: number
  readonly depth: number
  readonly aliases: number
  readonly cost: number
}

export interface MeasuredDocument {
  /** That of its largest operation, in every figure. */
  readonly size: DocumentSize
  /** Whether it depends on the variables, which say how long pages are. */
  readonly needsVariables: boolean
}

export type Variables = Readonly<Record<string, unknown>>

/** For how many entries a list without pages counts. */
const LIST_SIZE = 10
/** Also for what has no bound: fragments that double each other. */
const MAX_FIGURE = Number.MAX_SAFE_INTEGER
const NOTHING: DocumentSize = { selections: 0, depth: 0, aliases: 0, cost: 0 }

export function measureDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Variables,
): MeasuredDocument {
  const fragments = new Map<string, FragmentDefinitionNode>()
  const operations: OperationDefinitionNode[] = []
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition)
    } else if (definition.kind === Kind.OPERATION_DEFINITION) {
      operations.push(definition)
    }
  }
  let size = NOTHING
  let needsVariables = false
  for (const operation of operations) {
    const walk = new Walk({ schema, fragments, operation, variables })
    const root = schema.getRootType(operation.operation) ?? undefined
    const found = walk.measure(operation.selectionSet, root)
    size = {
      selections: Math.max(size.selections, found.selections),
      depth: Math.max(size.depth, found.depth),
      aliases: Math.max(size.aliases, found.aliases),
      cost: Math.max(size.cost, found.cost),
    }
    needsVariables ||= walk.needsVariables
  }
  return { size, needsVariables }
}

type Field = GraphQLField<unknown, unknown>

/** What a selection set is read in. */
interface Surroundings {
  readonly schema: GraphQLSchema
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly operation: OperationDefinitionNode
  readonly variables: Variables
}

class Walk {
  needsVariables = false
  readonly #given: Surroundings
  readonly #measured = new Map<string, DocumentSize>()

  constructor(given: Surroundings) {
    this.#given = given
  }

  measure(set: SelectionSetNode, parent: GraphQLNamedType | undefined): DocumentSize {
    let { selections, depth, aliases, cost } = NOTHING
    for (const selection of set.selections) {
      const found = this.#measureSelection(selection, parent)
      selections = Math.min(MAX_FIGURE, selections + found.selections)
      depth = Math.max(depth, found.depth)
      aliases = Math.min(MAX_FIGURE, aliases + found.aliases)
      cost = Math.min(MAX_FIGURE, cost + found.cost)
    }
    return { selections, depth, aliases, cost }
  }

  #measureSelection(selection: SelectionNode, parent: GraphQLNamedType | undefined): DocumentSize {
    if (selection.kind === Kind.FIELD) {
      return this.#measureField(selection, parent)
    }
    const within =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? this.#measureFragment(selection.name.value)
        : this.measure(selection.selectionSet, this.#findType(selection.typeCondition, parent))
    return { ...within, selections: within.selections + 1 }
  }

  #measureFragment(name: string): DocumentSize {
    const known = this.#measured.get(name)
    const fragment = this.#given.fragments.get(name)
    if (known || !fragment) {
      return known ?? NOTHING
    }
    // For a fragment in itself, which validation refuses.
    this.#measured.set(name, NOTHING)
    const type = this.#findType(fragment.typeCondition, undefined)
    const found = this.measure(fragment.selectionSet, type)
    this.#measured.set(name, found)
    return found
  }

  #measureField(node: FieldNode, parent: GraphQLNamedType | undefined): DocumentSize {
    const field = this.#findField(node.name.value, parent)
    const type = field && getNamedType(field.type)
    const within = node.selectionSet ? this.measure(node.selectionSet, type) : NOTHING
    const isObject = isCompositeType(type) && !isWrapper(parent)
    const own = isObject || isPaged(field) ? 1 : 0
    return {
      selections: within.selections + 1,
      depth: within.depth + 1,
      aliases: within.aliases + (node.alias ? 1 : 0),
      cost: Math.min(MAX_FIGURE, this.#countTimes(node, field, parent) * (own + within.cost)),
    }
  }

  #countTimes(
    node: FieldNode,
    field: Field | undefined,
    parent: GraphQLNamedType | undefined,
  ): number {
    if (field && isPaged(field)) {
      return this.#readPageSize(node, field)
    }
    const isList = isListType(field && getNullableType(field.type))
    return isList && !isWrapper(parent) && isCompositeType(getNamedType(field?.type))
      ? LIST_SIZE
      : 1
  }

  /** As the resolver will read it; what it refuses counts as it stands. */
  #readPageSize(node: FieldNode, field: Field): number {
    const sizes = (node.arguments ?? [])
      .filter(({ name }) => isSizeName(name.value))
      .map(({ value }) => {
        if (value.kind === Kind.INT) {
          return Number(value.value)
        }
        return value.kind === Kind.VARIABLE ? this.#readVariable(value.name.value) : null
      })
      .filter((size) => typeof size === 'number')
    const otherwise = field.args.find(({ name }) => isSizeName(name))?.defaultValue
    return sizes.length > 0
      ? Math.min(MAX_FIGURE, Math.max(0, ...sizes))
      : typeof otherwise === 'number'
        ? otherwise
        : DEFAULT_PAGE_SIZE
  }

  #readVariable(name: string): number | null {
    this.needsVariables = true
    const given = this.#given.variables[name]
    if (given !== undefined) {
      return typeof given === 'number' ? given : null
    }
    const { variableDefinitions = [] } = this.#given.operation
    const value = variableDefinitions.find(({ variable }) => variable.name.value === name)
    return value?.defaultValue?.kind === Kind.INT ? Number(value.defaultValue.value) : null
  }

  #findType(
    condition: { readonly name: { readonly value: string } } | undefined,
    otherwise: GraphQLNamedType | undefined,
  ): GraphQLNamedType | undefined {
    return condition ? this.#given.schema.getType(condition.name.value) : otherwise
  }

  #findField(name: string, parent: GraphQLNamedType | undefined): Field | undefined {
    if (name === SchemaMetaFieldDef.name) {
      return SchemaMetaFieldDef
    }
    if (name === TypeMetaFieldDef.name) {
      return TypeMetaFieldDef
    }
    return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
  }
}

function isSizeName(name: string): boolean {
  return name === 'first' || name === 'last'
}

function isPaged(field: Field | undefined): boolean {
  return field?.args.some(({ name }) => isSizeName(name)) === true
}

/** A page and its entries are no objects of their own: the field that asks for the page counts them. */
function isWrapper(type: GraphQLNamedType | undefined): boolean {
  if (!isObjectType(type)) {
    return false
  }
  const fields = type.getFields()
  return 'pageInfo' in fields || ('cursor' in fields && 'node' in fields)
}
