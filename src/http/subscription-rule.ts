/** A rule of documents that GraphQL's own rules lack, and without which one of them throws. */
import {
  type DocumentNode,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'

const CONDITIONS: readonly string[] = ['skip', 'include']

/**
 * The root of a subscription has no `@skip` and no `@include`: with them it might subscribe to nothing, which nobody
 * can be answered. Throws where it has.
 */
export function checkSubscriptions({ definitions }: DocumentNode): void {
  const fragments = new Map<string, SelectionSetNode>()
  for (const definition of definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition.selectionSet)
    }
  }
  for (const definition of definitions) {
    if (
      definition.kind === Kind.OPERATION_DEFINITION &&
      definition.operation === OperationTypeNode.SUBSCRIPTION
    ) {
      // What is looked into is taken out, so that a fragment in itself ends.
      checkRoot(definition.selectionSet.selections, new Map(fragments))
    }
  }
}

function checkRoot(
  selections: readonly SelectionNode[],
  fragments: Map<string, SelectionSetNode>,
): void {
  for (const selection of selections) {
    const nodes = selection.directives?.filter(({ name }) => CONDITIONS.includes(name.value)) ?? []
    if (nodes.length > 0) {
      throw new GraphQLError('The root of a subscription cannot have "@skip" or "@include".', {
        nodes,
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } },
      })
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      checkRoot(selection.selectionSet.selections, fragments)
    } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
      const found = fragments.get(selection.name.value)
      fragments.delete(selection.name.value)
      checkRoot(found?.selections ?? [], fragments)
    }
  }
}
