/**
 * What a selection of fields asks of one object type, looked up once: which resolver, what it is given, and how its
 * value is written.
 */
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  TypeNameMetaFieldDef,
} from 'graphql'
import { collectFields, collectSubfields } from 'graphql/execution/collectFields.js'
import type { FieldPlan, ObjectPlan, PlanParts } from './shapes.ts'
import { makeWriter } from './writers.ts'

/** More fields than this are not kept for a query: it is interpreted then. */
const MAX_FIELDS = 5_000

/** Null: it asks for something that is not prepared. */
export function planOperation(parts: PlanParts, type: GraphQLObjectType): ObjectPlan | null {
  const { schema, fragments, conditions, operation } = parts
  const collected = collectFields(schema, fragments, conditions, type, operation.selectionSet)
  const isPrepared = [...collected.values()].every(([node]) => !isIntrospection(node))
  return isPrepared ? makePlan(parts, type, collected) : null
}

/** `__schema` and `__type`, which only the root has. */
function isIntrospection(node: FieldNode | undefined): boolean {
  const name = node?.name.value ?? ''
  return name.startsWith('__') && name !== TypeNameMetaFieldDef.name
}

/** Null: the query has become too large to be kept. */
function planField(
  parts: PlanParts,
  nodes: readonly FieldNode[],
  type: GraphQLObjectType,
): ObjectPlan | null {
  if (parts.size.fields > MAX_FIELDS) {
    return null
  }
  const { schema, fragments, conditions } = parts
  return makePlan(parts, type, collectSubfields(schema, fragments, conditions, type, nodes))
}

function makePlan(
  parts: PlanParts,
  type: GraphQLObjectType,
  collected: ReadonlyMap<string, readonly FieldNode[]>,
): ObjectPlan {
  const fields: FieldPlan[] = []
  for (const [responseName, nodes] of collected) {
    const field = makeField(parts, { type, responseName, nodes, isFirst: fields.length === 0 })
    if (field) {
      fields.push(field)
    }
  }
  // What is merged into one field is read each time a field below it is prepared.
  parts.kept.grow(
    parts.size,
    fields.reduce((places, { nodes }) => places + nodes.length, 0),
  )
  return { type, fields }
}

function makeField(
  parts: PlanParts,
  given: {
    readonly type: GraphQLObjectType
    readonly responseName: string
    readonly nodes: readonly FieldNode[]
    readonly isFirst: boolean
  },
): FieldPlan | null {
  const { type, responseName, nodes, isFirst } = given
  const name = nodes[0]?.name.value ?? ''
  const isTypeName = name === TypeNameMetaFieldDef.name
  const definition = isTypeName ? TypeNameMetaFieldDef : type.getFields()[name]
  if (!definition) {
    return null
  }
  const plans = new Map<GraphQLObjectType, ObjectPlan | null>()
  return {
    parts,
    parentType: type,
    prefix: `${isFirst ? '' : ','}${JSON.stringify(responseName)}:`,
    responseName,
    nodes,
    definition,
    returnType: definition.type,
    constant: isTypeName ? JSON.stringify(type.name) : null,
    hasArguments: definition.args.length > 0,
    wantsInfo: mayReadInfo(definition.resolve),
    write: makeWriter(definition.type),
    planFor: (concrete) => {
      let plan = plans.get(concrete)
      if (plan === undefined) {
        plan = planField(parts, nodes, concrete)
        plans.set(concrete, plan)
      }
      return plan
    },
  }
}

/** A function that names one to three parameters is given no fourth; one that names none may take them all. */
function mayReadInfo(resolve: GraphQLField<unknown, unknown>['resolve']): boolean {
  return resolve !== undefined && (resolve.length === 0 || resolve.length > 3)
}
