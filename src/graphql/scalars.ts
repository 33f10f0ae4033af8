/** The scalars beside GraphQL's own. */
import { GraphQLError } from 'graphql'
import { isJsonObject, type JsonValue } from '../domain/json.ts'
import { parseInstant } from '../runtime/clock.ts'
import { builder } from './builder.ts'

builder.scalarType('DateTime', {
  description: 'A moment in UTC, as in RFC 3339: `2026-03-29T01:30:00.000Z`.',
  serialize: (value) => value.toISOString(),
  parseValue: (value) => {
    const moment = typeof value === 'string' ? parseInstant(value) : null
    if (moment === null) {
      throw new GraphQLError(
        'A moment as in RFC 3339 is needed here, such as 2026-03-29T01:30:00Z.',
      )
    }
    return moment
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
