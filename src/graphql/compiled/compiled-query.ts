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
  OperationTypeNode,
  visit,
} from 'graphql'
import { Execution } from './execution.ts'
import type { KeptPlans, PlanSize } from './kept-plans.ts'
import { planOperation } from './plan.ts'
import type { ObjectPlan, PlanParts, QueryArguments } from './shapes.ts'

/** Different answers to the conditions of one query (`@include`, `@skip`) that are prepared. */
const MAX_VARIANTS = 8
/** As graphql-js has it by itself. */
const MAX_COERCION_ERRORS = 50

export class CompiledQuery {
  readonly #schema: GraphQLSchema
  readonly #operation: OperationDefinitionNode
  readonly #shared: Shared
  readonly #kept: KeptPlans
  readonly #variants = new Map<string, { readonly plan: ObjectPlan; readonly size: PlanSize }>()

  constructor(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    shared: Shared,
    kept: KeptPlans,
  ) {
    this.#kept = kept
    this.#schema = schema
    this.#operation = operation
    this.#shared = shared
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
    const conditions = pick(variableValues, this.#shared.conditions)
    const variant = JSON.stringify(conditions)
    const known = this.#variants.get(variant)
    if (known) {
      this.#kept.use(known.size)
      return known.plan
    }
    const queryType = this.#schema.getQueryType()
    if (!queryType || this.#variants.size >= MAX_VARIANTS) {
      return null
    }
    const size: PlanSize = { fields: 0 }
    const parts: PlanParts = {
      schema: this.#schema,
      operation: this.#operation,
      fragments: this.#shared.fragments,
      conditions,
      kept: this.#kept,
      size,
    }
    const plan = planOperation(parts, queryType)
    if (plan) {
      this.#variants.set(variant, { plan, size })
      this.#kept.keep(size, () => this.#variants.delete(variant))
    }
    return plan
  }
}

function pick(
  variableValues: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => name in variableValues).map((name) => [name, variableValues[name]]),
  )
}

/** Null: it is no query. The document must be valid, and the operation one of it. */
export function compileQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  kept: KeptPlans,
): CompiledQuery | null {
  if (operation.operation !== OperationTypeNode.QUERY) {
    return null
  }
  const shared = known.get(document) ?? readShared(document)
  known.set(document, shared)
  return new CompiledQuery(schema, operation, shared, kept)
}

/** What the operations of a document have in common, so that many of them take no more than it does. */
interface Shared {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** The variables by which `@include` and `@skip` go, in whichever operation. */
  readonly conditions: readonly string[]
}

const known = new WeakMap<DocumentNode, Shared>()

function readShared(document: DocumentNode): Shared {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null)
  const conditions = new Set<string>()
  visit(document, {
    FragmentDefinition: (definition) => {
      fragments[definition.name.value] = definition
    },
    Directive: (directive) => {
      for (const { value } of directive.arguments ?? []) {
        if (value.kind === Kind.VARIABLE) {
          conditions.add(value.name.value)
        }
      }
    },
  })
  return { fragments, conditions: [...conditions] }
}
