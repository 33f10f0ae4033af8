/** What the parts of a compiled query are to each other. */
import type {
  FieldNode,
  FragmentDefinitionNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLOutputType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
  ResponsePath,
} from 'graphql'
import type { KeptPlans, PlanSize } from './kept-plans.ts'

/** What an execution takes, as graphql-js names it. */
export interface QueryArguments {
  readonly rootValue?: unknown
  readonly contextValue: unknown
  readonly variableValues: Readonly<Record<string, unknown>> | null | undefined
  /** Once it is aborted nothing more is resolved, and there is no answer. */
  readonly signal?: AbortSignal | undefined
}

export interface PlanParts {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** The variables by which fields are included, and no others: they are kept as long as the plan. */
  readonly conditions: Record<string, unknown>
  readonly kept: KeptPlans
  readonly size: PlanSize
}

/** What is asked of an object of one type. */
export interface ObjectPlan {
  readonly type: GraphQLObjectType
  readonly fields: readonly FieldPlan[]
}

export interface FieldPlan {
  readonly parts: PlanParts
  readonly parentType: GraphQLObjectType
  /** `"name":`, with a comma unless it is the first. */
  readonly prefix: string
  readonly responseName: string
  readonly nodes: readonly FieldNode[]
  readonly definition: GraphQLField<unknown, unknown>
  readonly returnType: GraphQLOutputType
  /** What it always is; null: it is resolved. */
  readonly constant: string | null
  readonly hasArguments: boolean
  /** Whether its resolver may look at the fourth argument. */
  readonly wantsInfo: boolean
  readonly write: Writer
  /** What is asked of an object of this concrete type; null: the query has become too large to be kept. */
  readonly planFor: (type: GraphQLObjectType) => ObjectPlan | null
}

/** JSON text, with holes while something is under way. */
export type Text = string | Hole | readonly Text[]

/** The text of what a promise will give. */
export interface Hole {
  text: Text
}

/** Where in the answer an object or a list's entry stands. */
export type Path = ResponsePath | undefined

/** Writes a value that was resolved. `path`: of the object whose field it is. Throws {@link OffTheWay}. */
export type Writer = (run: Run, field: FieldPlan, value: unknown, path: Path) => Text

/** An execution, as those see it that write values. */
export interface Run {
  readonly context: unknown
  writeObject(plan: ObjectPlan, source: unknown, path: Path): Text
  /** What `write` makes of the value, at once or when it is there. */
  when(value: unknown, write: (value: unknown) => Text): Text
  infoOf(field: FieldPlan, path: Path): GraphQLResolveInfo
}

/** Thrown where only an interpreter can go on. */
export class OffTheWay extends Error {}

/** Where the field of an object stands that stands there. */
export function pathOf(field: FieldPlan, prev: Path): ResponsePath {
  return { prev, key: field.responseName, typename: field.parentType.name }
}
