/** Random valid queries over a schema: every kind of field, argument, variable, fragment and condition that it has. */
import fc from 'fast-check'
import {
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql'

export interface RandomQuery {
  readonly text: string
  readonly variables: Readonly<Record<string, unknown>>
}

export interface RandomOptions {
  /** Values for scalars, by the name of their type. */
  readonly scalars: Readonly<Record<string, readonly unknown[]>>
  /** Fields of the query that are not asked for. */
  readonly without?: readonly string[]
}

const MAX_DEPTH = 5
const MAX_SELECTIONS = 5
const MAX_PARTS = 40

export function randomQueries(
  schema: GraphQLSchema,
  options: RandomOptions,
): fc.Arbitrary<RandomQuery> {
  return fc.gen().map((chance) => new QueryWriter(schema, options, chance).write())
}

class QueryWriter {
  readonly #declared: string[] = []
  readonly #variables: Record<string, unknown> = {}
  readonly #fragments: string[] = []
  #names = 0
  #parts = 0

  readonly #schema: GraphQLSchema
  readonly #options: RandomOptions
  readonly #chance: fc.GeneratorValue

  constructor(schema: GraphQLSchema, options: RandomOptions, chance: fc.GeneratorValue) {
    this.#schema = schema
    this.#options = options
    this.#chance = chance
  }

  write(): RandomQuery {
    const root = this.#schema.getQueryType()
    if (!root) {
      throw new Error('The schema has no queries.')
    }
    const selection = this.#selection(root, 0)
    const declared = this.#declared.length === 0 ? '' : `(${this.#declared.join(', ')})`
    const text = [`query Random${declared} ${selection}`, ...this.#fragments].join('\n')
    return { text, variables: this.#variables }
  }

  #upTo(max: number): number {
    return this.#chance(fc.nat, { max })
  }

  #oneOf<T>(values: readonly T[]): T {
    const value = values[this.#upTo(values.length - 1)]
    if (value === undefined) {
      throw new Error('There is nothing to choose from.')
    }
    return value
  }

  #happens(percent: number): boolean {
    return this.#upTo(99) < percent
  }

  #name(): string {
    this.#names += 1
    return `n${this.#names}`
  }

  #selection(type: GraphQLCompositeType, depth: number): string {
    const count = 1 + this.#upTo(MAX_SELECTIONS - 1)
    const parts = Array.from({ length: count }, () => this.#part(type, depth))
    return `{ ${parts.join(' ')} }`
  }

  #part(type: GraphQLCompositeType, depth: number): string {
    this.#parts += 1
    if (this.#parts > MAX_PARTS || depth > MAX_DEPTH) {
      return '__typename'
    }
    if (isUnionType(type) || (isAbstractType(type) && this.#happens(70))) {
      return this.#happens(15)
        ? '__typename'
        : this.#fragment(this.#oneOf(this.#schema.getPossibleTypes(type)), depth)
    }
    if (isObjectType(type) && this.#happens(15)) {
      return this.#fragment(this.#oneOf([type, ...type.getInterfaces()]), depth)
    }
    return this.#field(type, depth)
  }

  #fragment(type: GraphQLCompositeType, depth: number): string {
    if (this.#happens(50)) {
      return `... on ${type.name}${this.#condition()} ${this.#selection(type, depth + 1)}`
    }
    const name = this.#name()
    this.#fragments.push(`fragment ${name} on ${type.name} ${this.#selection(type, depth + 1)}`)
    return `...${name}${this.#condition()}`
  }

  #field(type: Exclude<GraphQLCompositeType, { getTypes(): unknown }>, depth: number): string {
    const without = type === this.#schema.getQueryType() ? (this.#options.without ?? []) : []
    const fields: GraphQLField<unknown, unknown>[] = Object.values(type.getFields()).filter(
      (field) =>
        !without.includes(field.name) &&
        (depth < MAX_DEPTH || !isCompositeType(getNamedType(field.type))),
    )
    if (fields.length === 0 || this.#happens(8)) {
      return '__typename'
    }
    const field = this.#oneOf(fields)
    const named = getNamedType(field.type)
    const alias = field.args.length > 0 || this.#happens(60) ? `${this.#name()}: ` : ''
    const below = isCompositeType(named) ? ` ${this.#selection(named, depth + 1)}` : ''
    return `${alias}${field.name}${this.#arguments(field.args)}${this.#condition()}${below}`
  }

  #condition(): string {
    if (!this.#happens(20)) {
      return ''
    }
    const directive = this.#oneOf(['include', 'skip'])
    const value = this.#happens(50)
    return ` @${directive}(if: ${this.#happens(60) ? this.#variable('Boolean!', value) : value})`
  }

  #arguments(args: readonly GraphQLArgument[]): string {
    const given = args
      .filter(({ type }) => isNonNullType(type) || this.#happens(40))
      .map(({ name, type }) => `${name}: ${this.#argument(type)}`)
    return given.length === 0 ? '' : `(${given.join(', ')})`
  }

  #argument(type: GraphQLInputType): string {
    const value = this.#value(type, 0)
    return this.#happens(60) ? this.#variable(String(type), value) : this.#literal(type, value)
  }

  #variable(type: string, value: unknown): string {
    const name = this.#name()
    this.#declared.push(`$${name}: ${type}`)
    if (value !== undefined) {
      this.#variables[name] = value
    }
    return `$${name}`
  }

  #value(type: GraphQLInputType, depth: number): unknown {
    if (isNonNullType(type)) {
      return this.#value(type.ofType, depth)
    }
    if (depth > 0 && this.#happens(10)) {
      return null
    }
    if (isListType(type)) {
      const entry = isNonNullType(type.ofType) ? type.ofType.ofType : type.ofType
      return Array.from({ length: this.#upTo(2) }, () => this.#value(entry, 0))
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        (field) => isNonNullType(field.type) || this.#happens(30),
      )
      return Object.fromEntries(
        fields.map((field) => [field.name, this.#value(field.type, depth + 1)]),
      )
    }
    if (isEnumType(type)) {
      return this.#oneOf(type.getValues()).name
    }
    return this.#oneOf(this.#options.scalars[type.name] ?? [])
  }

  #literal(type: GraphQLInputType, value: unknown): string {
    if (isNonNullType(type)) {
      return this.#literal(type.ofType, value)
    }
    if (value === null || value === undefined) {
      return 'null'
    }
    if (isListType(type)) {
      const entries = (value as readonly unknown[]).map((entry) =>
        this.#literal(type.ofType, entry),
      )
      return `[${entries.join(', ')}]`
    }
    if (isInputObjectType(type)) {
      const fields = Object.entries(value).map(([name, member]) => {
        const field = type.getFields()[name]
        return field ? `${name}: ${this.#literal(field.type, member)}` : ''
      })
      return `{ ${fields.join(', ')} }`
    }
    return isEnumType(type) ? String(value) : JSON.stringify(value)
  }
}
