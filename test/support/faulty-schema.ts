/**
 * A schema with everything that a type can be, whose resolvers give, by a seed, what is right, what is wrong, and
 * either at once or later. The same field of the same object gives the same each time it is asked.
 */
import { createHash } from 'node:crypto'
import { buildSchema, type GraphQLObjectType, type GraphQLSchema, isObjectType } from 'graphql'

const TYPES = /* GraphQL */ `
  scalar Odd
  enum Colour { RED GREEN }
  input Inner { id: ID! n: Int = 5 colours: [Colour!] }
  interface Named { name: String! self: Named }
  union Either = Cat | Dog
  type Query {
    cat: Cat
    sureCat: Cat!
    named(inner: Inner, names: [String] = ["a"]): Named
    either(n: Int! = 3): Either
    cats: [Cat!]
    sureCats: [Cat]!
    mixed: [Either!]!
    matrix: [[Int]!]
    text(of: String, odd: Odd): String
  }
  type Cat implements Named {
    name: String! self: Named id: ID! lives: Int weight: Float! isBlack: Boolean
    colour: Colour colours: [Colour!]! odd: Odd friends: [Either] mother: Cat
    echo(text: String! = "none", inner: Inner): String!
  }
  type Dog implements Named {
    name: String! self: Named owner: Cat! age: Int! odd: Odd! kittens: [[Cat!]!]
  }
`

export function makeFaultySchema(options: {
  readonly seed: number
  /** How many of a hundred values are wrong. */
  readonly faultsPercent: number
}): GraphQLSchema {
  const schema = buildSchema(TYPES)
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) && !type.name.startsWith('__')) {
      resolveFields(type, options)
    }
  }
  const cat = schema.getType('Cat') as GraphQLObjectType
  // One kind of object says itself what it is, the other is told by the abstract type.
  cat.isTypeOf = (value) => (value as Thing).kind === 'Cat'
  const dog = schema.getType('Dog') as GraphQLObjectType
  dog.isTypeOf = (value) => Promise.resolve((value as Thing).kind === 'Dog')
  return schema
}

interface Thing {
  readonly kind: string
  readonly path: string
}

function resolveFields(
  type: GraphQLObjectType,
  { seed, faultsPercent }: { readonly seed: number; readonly faultsPercent: number },
): void {
  for (const field of Object.values(type.getFields())) {
    field.resolve = (source, args) => {
      const path = `${(source as Thing | undefined)?.path ?? ''}.${field.name}${JSON.stringify(args)}`
      const chance = (of: string, max: number) => pick(`${seed}${path}${of}`, max)
      const value =
        chance('fault', 100) < faultsPercent
          ? FAULTS[chance('kind', FAULTS.length)]?.()
          : valueFor(String(field.type), path, chance)
      if (value instanceof Thrown) {
        throw value.error
      }
      return chance('later', 3) === 0 ? later(value) : value
    }
  }
}

class Thrown {
  readonly error = new Error('It was thrown.')
}

const FAULTS: readonly (() => unknown)[] = [
  () => null,
  () => undefined,
  () => new Error('It was given.'),
  () => new Thrown(),
  () => rejected(),
  () => ({ kind: 'Mouse', path: 'mouse' }),
  () => Number.NaN,
  () => 2 ** 40,
  () => [null, rejected()],
  () => 'text',
  () => Symbol('neither'),
]

/** Known to be, also where nobody comes to look. */
function rejected(): Promise<never> {
  const promise = Promise.reject(new Error('It was rejected.'))
  promise.catch(() => undefined)
  return promise
}

async function later<T>(value: T): Promise<T> {
  await Promise.resolve()
  return value
}

type Chance = (of: string, max: number) => number

function valueFor(type: string, path: string, chance: Chance): unknown {
  if (type.endsWith('!')) {
    return valueFor(type.slice(0, -1), path, chance)
  }
  if (chance('null', 12) === 0 && !path.includes('sure')) {
    return TEXTS_OF_NULL.has(type) ? null : plainValue(type, path, chance)
  }
  return plainValue(type, path, chance)
}

const TEXTS_OF_NULL = new Set(['Colour', 'Odd', 'Boolean'])

function plainValue(type: string, path: string, chance: Chance): unknown {
  if (type.startsWith('[')) {
    const entries = Array.from({ length: chance('length', 4) }, (_, n) =>
      valueFor(type.slice(1, -1), `${path}.${n}`, (of, max) => chance(`${of}${n}`, max)),
    )
    return entries.map((entry, n) => (chance(`entry${n}`, 4) === 0 ? later(entry) : entry))
  }
  switch (type) {
    case 'Cat':
    case 'Dog':
      return { kind: type, path }
    case 'Named':
    case 'Either':
      return { kind: chance('kind', 2) === 0 ? 'Cat' : 'Dog', path }
    case 'Colour':
      return chance('colour', 2) === 0 ? 'RED' : 'GREEN'
    case 'Int':
      return chance('int', 1_000) - 500
    case 'Float':
      return chance('float', 1_000) / 7
    case 'Boolean':
      return chance('boolean', 2) === 0
    case 'Odd':
      return [{ deep: ['"', null, 1.5] }, 'text', 0, true][chance('odd', 4)]
    default:
      return ['plain', 'quoted "so"', 'back\\slash', 'line\nfeed', 'half \ud800', 'ünï 😀', ''][
        chance('text', 7)
      ]
  }
}

function pick(of: string, max: number): number {
  return createHash('sha256').update(of).digest().readUInt32BE(0) % max
}
