/**
 * A query that has been prepared for being executed again and again: its selections are looked up once, and its answer
 * is written as JSON text while it is resolved.
 *
 * Invariant: it gives the answer that graphql-js gives, or none. It knows the way without errors only. Whatever else
 * happens (a value that is missing where none may be, an error that is thrown, a type that does not resolve) ends it
 * with null, and the query is interpreted from its beginning; so all errors are graphql-js' own. That is for queries
 * alone: they change nothing, so they can be begun again.
 *
 * Nothing here makes code from text. Selections are collected by graphql-js, and only those that are reached, each
 * once: a small document whose fragments unfold into a vast one costs no more than its execution does.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql'
import { Execution } from './execution.ts'
import { planOperation } from './plan.ts'
import type { ObjectPlan, PlanParts, QueryArguments } from './shapes.ts'

/** Different answers to the conditions of one query (`@include`, `@skip`) that are prepared. */
const MAX_VARIANTS = 8
/** As graphql-js has it by itself. */
const MAX_COERCION_ERRORS = 50

export class CompiledQuery {
  readonly #schema: GraphQLSchema
  readonly #operation: OperationDefinitionNode
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>
  readonly #conditions: readonly string[]
  readonly #variants = new Map<string, ObjectPlan>()

  constructor(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    fragments: Readonly<Record<string, FragmentDefinitionNode>>,
  ) {
    this.#schema = schema
    this.#operation = operation
    this.#fragments = fragments
    this.#conditions = listConditions([operation, ...Object.values(fragments)])
  }

  /** The JSON text of `data`; null: only an interpreter can answer. Never throws or rejects. */
  execute(args: QueryArguments): Promise<string | null> | string | null {
    const { coerced } = getVariableValues(
      this.#schema,
      this.#operation.variableDefinitions ?? [],
      args.variableValues ?? {},
      { maxErrors: MAX_COERCION_ERRORS },
    )
    const plan = coerced ? this.#planFor(coerced) : null
    return plan && coerced ? new Execution(plan, args, coerced).start() : null
  }

  #planFor(variableValues: Record<string, unknown>): ObjectPlan | null {
    const variant = this.#conditions.map((name) => String(variableValues[name])).join()
    const known = this.#variants.get(variant)
    if (known || this.#variants.size >= MAX_VARIANTS) {
      return known ?? null
    }
    const queryType = this.#schema.getQueryType()
    const parts: PlanParts = {
      schema: this.#schema,
      operation: this.#operation,
      fragments: this.#fragments,
      conditions: variableValues,
      budget: { fields: 0 },
    }
    const made = queryType ? planOperation(parts, queryType) : null
    if (made) {
      this.#variants.set(variant, made)
    }
    return made
  }
}

/** Null: it is no query, or none of that name is there. The document must be valid. */
export function compileQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): CompiledQuery | null {
  const operations: OperationDefinitionNode[] = []
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null)
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      operations.push(definition)
    } else if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments[definition.name.value] = definition
    }
  }
  const fitting = operations.filter(
    ({ name }) => (operationName ?? null) === null || name?.value === operationName,
  )
  const [operation, ...others] = fitting
  const isQuery = operation?.operation === 'query' && others.length === 0
  return isQuery ? new CompiledQuery(schema, operation, fragments) : null
}

/** The variables by which `@include` and `@skip` go. */
function listConditions(
  nodes: readonly (OperationDefinitionNode | FragmentDefinitionNode)[],
): readonly string[] {
  const names = new Set<string>()
  for (const node of nodes) {
    visit(node, {
      Directive: (directive) => {
        for (const { value } of directive.arguments ?? []) {
          if (value.kind === Kind.VARIABLE) {
            names.add(value.name.value)
          }
        }
      },
    })
  }
  return [...names]
}
