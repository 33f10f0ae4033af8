/** The scalars beside GraphQL's own. */
import { GraphQLError } from 'graphql'
import { isJsonObject, type JsonValue } from '../domain/json.ts'
import { builder } from './builder.ts'

builder.scalarType('DateTime', {
  description: 'A moment in UTC, as in RFC 3339: `2026-03-29T01:30:00.000Z`.',
  serialize: (value) => value.toISOString(),
  parseValue: () => {
    throw new GraphQLError('No argument of this API takes a moment.')
  },
})

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (!isJson(value)) {
      throw new GraphQLError('A JSON value is needed here.')
    }
    return value
  },
})

function isJson(value: unknown): value is JsonValue {
  return (
    value === null ||
    Array.isArray(value) ||
    isJsonObject(value) ||
    ['string', 'number', 'boolean'].includes(typeof value)
  )
}
