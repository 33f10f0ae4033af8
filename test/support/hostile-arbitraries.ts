/** Requests that nobody sends who means well, made over the schema: odd values, odd selections, and what breaks on its way. */
import fc from 'fast-check'
import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql'
import { apiSchema } from '../../src/graphql/schema.ts'

import { ask, type HostileRequest } from './hostile-requests.ts'

const odd = fc.constantFrom(
  '\u0000',
  '\ud800',
  '\udfff',
  '\u202e',
  '\ufffe',
  "'",
  '"',
  '\\',
  '--',
  '$1',
  '${',
  '{',
  '}',
  '[',
  '@',
  '%s',
  '\n',
  '😀',
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc
    .array(fc.oneof(odd, fc.string({ maxLength: 5 })), { maxLength: 8 })
    .map((parts) => parts.join('')),
)
const int = fc.oneof(fc.integer({ min: -3, max: 300 }), fc.integer(), fc.maxSafeInteger())

/** A value for an input: mostly of its type, sometimes of another. */
function inputOf(
  type: GraphQLInputType,
  ids: readonly string[],
  levels: number,
): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) {
    return fc.oneof(
      { weight: 9, arbitrary: inputOf(type.ofType, ids, levels) },
      { weight: 1, arbitrary: fc.constant(null) },
    )
  }
  if (isListType(type)) {
    return fc.array(inputOf(type.ofType, ids, levels), { maxLength: 4 })
  }
  const right = rightInputOf(type, ids, levels)
  return fc.oneof(
    { weight: 8, arbitrary: right },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  )
}

function rightInputOf(
  type: GraphQLInputType,
  ids: readonly string[],
  levels: number,
): fc.Arbitrary<unknown> {
  if (isInputObjectType(type)) {
    return levels === 0
      ? fc.constant({})
      : fc.record(
          Object.fromEntries(
            Object.values(type.getFields()).map((field) => [
              field.name,
              inputOf(field.type, ids, levels - 1),
            ]),
          ),
          {
            requiredKeys: Object.values(type.getFields())
              .filter((field) => isNonNullType(field.type))
              .map(({ name }) => name),
          },
        )
  }
  if (isEnumType(type)) {
    return fc.constantFrom(...type.getValues().map(({ name }) => name), 'NOTHING')
  }
  const leaves: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    ID: fc.oneof(
      fc.constantFrom(...ids),
      text,
      fc.uuid().map((uuid) => `sync_${uuid}`),
    ),
    String: text,
    Int: int,
    Boolean: fc.boolean(),
    DateTime: fc.oneof(
      fc.constantFrom(
        '2026-01-01T00:00:00Z',
        '0001-01-01T00:00:00Z',
        '9999-12-31T23:59:59Z',
        'now',
      ),
      text,
    ),
    JSON: fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }),
  }
  return leaves['name' in type ? type.name : ''] ?? text
}

/** Some of what a type has, some of it misspelt. */
function selectionOf(type: unknown, levels: number): fc.Arbitrary<string> {
  const named = getNamedType(type as Parameters<typeof getNamedType>[0])
  if (isLeafType(named)) {
    return fc.constant('')
  }
  const types = isUnionType(named)
    ? named.getTypes()
    : isObjectType(named)
      ? [named]
      : [...apiSchema.getPossibleTypes(named as never)]
  const fields = types.flatMap((one) =>
    Object.values(one.getFields()).map((field) => ({ one, field })),
  )
  const pick = fc.constantFrom(...fields).chain(({ one, field }) => {
    const within = levels > 0 ? selectionOf(field.type, levels - 1) : fc.constant('')
    return within.map((inner) => `... on ${one.name} { ${field.name} ${inner} }`)
  })
  return fc
    .array(
      fc.oneof(
        { weight: 12, arbitrary: pick },
        { weight: 1, arbitrary: fc.constantFrom('__typename', '...F', 'nothing', '@skip', '') },
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => `{ ${parts.join(' ')} }`)
}

function operationOf(
  operation: string,
  field: GraphQLField<unknown, unknown>,
  ids: readonly string[],
): fc.Arbitrary<HostileRequest> {
  const variables = fc.record(
    Object.fromEntries(field.args.map((arg) => [arg.name, inputOf(arg.type, ids, 3)])),
    {
      requiredKeys: field.args.filter(({ type }) => isNonNullType(type)).map(({ name }) => name),
    },
  )
  const head = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ')
  const given = field.args.map(({ name }) => `${name}: $${name}`).join(', ')
  const [declared, passed] = head === '' ? ['', ''] : [`(${head})`, `(${given})`]
  return fc.tuple(variables, selectionOf(field.type, 3)).map(([values, selection]) =>
    ask(`${operation} ${declared} { ${field.name}${passed} ${selection} }`, {
      variables: values,
    }),
  )
}

/** Operations of the schema with values that are odd, some of them broken on their way. */
export function hostileRequest(ids: readonly string[]): fc.Arbitrary<HostileRequest> {
  const fields = (['query', 'mutation', 'subscription'] as const).flatMap((operation) =>
    Object.values(apiSchema.getRootType(operation as never)?.getFields() ?? {}).map((field) =>
      operationOf(operation, field, ids),
    ),
  )
  const operation = fc.oneof(...fields)
  const broken = fc.tuple(operation, fc.nat(), fc.nat({ max: 255 })).map(([request, at, byte]) => {
    const body = Buffer.from(request.body ?? [])
    body[at % Math.max(1, body.length)] = byte
    return { ...request, body }
  })
  const cut = fc.tuple(operation, fc.nat()).map(([request, at]) => ({
    ...request,
    body: request.body?.subarray(0, at % Math.max(1, request.body.length)) ?? null,
  }))
  const words = fc
    .array(
      fc.oneof(
        odd,
        fc.constantFrom(
          'query',
          'mutation',
          '{',
          '}',
          '(',
          ')',
          '...',
          'on',
          '$',
          ':',
          '=',
          '@',
          '"',
          '#',
          'viewer',
          'runs',
          'id',
          '1',
          '-',
          '"""',
        ),
      ),
      { maxLength: 30 },
    )
    .map((parts) => ask(parts.join(' ')))
  return fc.oneof(
    { weight: 7, arbitrary: operation },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: cut },
    { weight: 1, arbitrary: words },
  )
}
