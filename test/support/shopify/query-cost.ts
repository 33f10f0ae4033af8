/** What a query costs by Shopify's published rule: an object 1, a scalar nothing, a connection as often as it asks for rows. */
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql'

interface Measured {
  readonly schema: GraphQLSchema
  readonly variables: Readonly<Record<string, unknown>>
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

export function measureCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition)
    }
  }
  const root = schema.getQueryType()
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)
  return root && operation
    ? measure({ schema, variables, fragments }, operation.selectionSet, root)
    : 0
}

function measure(of: Measured, selections: SelectionSetNode, parent: GraphQLObjectType): number {
  let cost = 0
  for (const selection of selections.selections) {
    if (selection.kind === Kind.FIELD) {
      cost += measureField(of, selection, parent)
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      cost += measure(of, selection.selectionSet, parent)
    } else {
      const fragment = of.fragments.get(selection.name.value)
      cost += fragment ? measure(of, fragment.selectionSet, parent) : 0
    }
  }
  return cost
}

function measureField(of: Measured, field: FieldNode, parent: GraphQLObjectType): number {
  const definition = parent.getFields()[field.name.value]
  const type = definition && getNamedType(definition.type)
  if (!isObjectType(type) || !field.selectionSet || type.name === 'PageInfo') {
    return 0
  }
  const inner = measure(of, field.selectionSet, type)
  return type.name.endsWith('Connection') ? 1 + rowsAsked(of, field) * inner : 1 + inner
}

function rowsAsked(of: Measured, field: FieldNode): number {
  const value = field.arguments?.find(({ name }) => name.value === 'first')?.value
  if (value?.kind === Kind.INT) {
    return Number(value.value)
  }
  return value?.kind === Kind.VARIABLE ? Number(of.variables[value.name.value]) : 0
}
