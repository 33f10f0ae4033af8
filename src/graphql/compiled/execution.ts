/** One execution of a compiled query: what is under way, and whether it has left the way. */
import { defaultFieldResolver, type GraphQLResolveInfo, getArgumentValues } from 'graphql'
import {
  type FieldPlan,
  type Hole,
  type ObjectPlan,
  OffTheWay,
  type Path,
  pathOf,
  type QueryArguments,
  type Run,
  type Text,
} from './shapes.ts'

export class Execution implements Run {
  readonly context: unknown
  readonly #plan: ObjectPlan
  readonly #rootValue: unknown
  readonly #signal: AbortSignal | undefined
  readonly #variableValues: Record<string, unknown>
  readonly #arguments = new Map<FieldPlan, Record<string, unknown>>()
  #pending = 0
  #settle: ((isWhole: boolean) => void) | null = null
  #isOver = false

  constructor(plan: ObjectPlan, args: QueryArguments, variableValues: Record<string, unknown>) {
    this.#plan = plan
    this.context = args.contextValue
    this.#rootValue = args.rootValue
    this.#signal = args.signal
    this.#variableValues = variableValues
  }

  /** The text, or null. Never throws or rejects. */
  start(): string | null | Promise<string | null> {
    let text: Text
    try {
      text = this.writeObject(this.#plan, this.#rootValue, undefined)
    } catch {
      this.#isOver = true
      return null
    }
    if (this.#pending === 0) {
      return fill(text)
    }
    return new Promise((resolve) => {
      this.#settle = (isWhole) => {
        this.#isOver = true
        resolve(isWhole ? fill(text) : null)
      }
    })
  }

  writeObject(plan: ObjectPlan, source: unknown, path: Path): Text {
    let text = '{'
    let parts: Text[] | null = null
    for (const field of plan.fields) {
      const value = field.constant ?? this.#writeField(field, source, path)
      if (typeof value === 'string') {
        text += field.prefix + value
      } else {
        parts ??= []
        parts.push(text + field.prefix, value)
        text = ''
      }
    }
    text += '}'
    if (parts === null) {
      return text
    }
    parts.push(text)
    return parts
  }

  when(value: unknown, write: (value: unknown) => Text): Text {
    if (!isPromise(value)) {
      return write(value)
    }
    const hole: Hole = { text: '' }
    this.#pending += 1
    value.then(
      (given) => this.#fillHole(hole, given, write),
      () => this.#leave(),
    )
    return hole
  }

  infoOf(field: FieldPlan, path: Path): GraphQLResolveInfo {
    const { parts } = field
    return {
      fieldName: field.definition.name,
      fieldNodes: field.nodes as GraphQLResolveInfo['fieldNodes'],
      returnType: field.returnType,
      parentType: field.parentType,
      path: pathOf(field, path),
      schema: parts.schema,
      fragments: parts.fragments,
      rootValue: this.#rootValue,
      operation: parts.operation,
      variableValues: this.#variableValues,
    }
  }

  #writeField(field: FieldPlan, source: unknown, path: Path): Text {
    const value = this.#resolve(field, source, path)
    return isPromise(value)
      ? this.when(value, (given) => field.write(this, field, given, path))
      : field.write(this, field, value, path)
  }

  #resolve(field: FieldPlan, source: unknown, path: Path): unknown {
    const { definition } = field
    const resolve = definition.resolve
    if (resolve) {
      const info = field.wantsInfo ? this.infoOf(field, path) : NO_INFO
      return resolve(source, this.#argumentsOf(field), this.context, info)
    }
    const value = isObject(source) ? source[definition.name] : undefined
    if (typeof value !== 'function') {
      return value
    }
    return defaultFieldResolver(
      source,
      this.#argumentsOf(field),
      this.context,
      this.infoOf(field, path),
    )
  }

  /** The same for every object at this place. */
  #argumentsOf(field: FieldPlan): Record<string, unknown> {
    if (!field.hasArguments) {
      return {}
    }
    let known = this.#arguments.get(field)
    if (known === undefined) {
      const [node] = field.nodes
      if (node === undefined) {
        throw new OffTheWay()
      }
      known = getArgumentValues(field.definition, node, this.#variableValues)
      this.#arguments.set(field, known)
    }
    return known
  }

  #fillHole(hole: Hole, given: unknown, write: (value: unknown) => Text): void {
    if (this.#isOver) {
      return
    }
    // What is resolved at once is not interrupted, so that here is where it can have come too late.
    if (this.#signal?.aborted) {
      this.#leave()
      return
    }
    try {
      hole.text = write(given)
    } catch {
      this.#leave()
      return
    }
    this.#pending -= 1
    if (this.#pending === 0) {
      this.#settle?.(true)
    }
  }

  #leave(): void {
    if (!this.#isOver) {
      this.#settle?.(false)
    }
    this.#isOver = true
  }
}

/** For resolvers that do not look at it. */
const NO_INFO = undefined as unknown as GraphQLResolveInfo

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

function fill(text: Text): string {
  if (typeof text === 'string') {
    return text
  }
  if ('text' in text) {
    return fill(text.text)
  }
  let filled = ''
  for (const part of text) {
    filled += fill(part)
  }
  return filled
}
