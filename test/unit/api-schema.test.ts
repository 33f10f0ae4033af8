import { readFileSync } from 'node:fs'
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
  parse,
  validate,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { FAILURE_CODES } from '../../src/domain/failure.ts'
import { PUBLICATION_REQUEST_STATUSES } from '../../src/domain/publication-request.ts'
import { RUN_STATUSES } from '../../src/domain/run.ts'
import { SYNC_STATUSES } from '../../src/domain/sync.ts'
import { printApiSchema } from '../../src/graphql/print-schema.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'

interface Described {
  readonly name: string
  readonly description?: string | null | undefined
}

const types = Object.values(apiSchema.getTypeMap()).filter(
  (type) => !type.name.startsWith('__') && !isSpecifiedScalarType(type),
)

/** Every type, field, argument and enum value, by its place. */
function listElements(): (readonly [string, Described])[] {
  return types.flatMap((type) => [[type.name, type] as const, ...listMembers(type)])
}

function listMembers(type: GraphQLNamedType): (readonly [string, Described])[] {
  if (isEnumType(type)) {
    return type.getValues().map((value) => [`${type.name}.${value.name}`, value] as const)
  }
  if (isInputObjectType(type)) {
    return Object.values(type.getFields()).map(
      (field) => [`${type.name}.${field.name}`, field] as const,
    )
  }
  if (isObjectType(type) || isInterfaceType(type)) {
    return Object.values(type.getFields()).flatMap((field) => [
      [`${type.name}.${field.name}`, field] as const,
      ...field.args.map((arg) => [`${type.name}.${field.name}(${arg.name})`, arg] as const),
    ])
  }
  return []
}

function valuesOf(name: string): string[] {
  const type = apiSchema.getType(name)
  return isEnumType(type) ? type.getValues().map((value) => value.name) : []
}

describe('the schema', () => {
  it('has more than 200 elements, each with a description', () => {
    const elements = listElements()
    expect(elements.length).toBeGreaterThan(200)
    const silent = elements.filter(([, element]) => !element.description?.trim())
    expect(silent.map(([place]) => place)).toEqual([])
  })

  it('names enum values in capitals', () => {
    const values = types.flatMap((type) => (isEnumType(type) ? valuesOf(type.name) : []))
    expect(values.filter((name) => !/^[A-Z]+(_[A-Z]+)*$/.test(name))).toEqual([])
  })

  it('gives every mutation one input, and a result that can be a refusal', () => {
    const mutations = Object.values(apiSchema.getMutationType()?.getFields() ?? {})
    expect(mutations.map(({ name }) => name).sort()).toEqual([
      'acknowledgeAlert',
      'approvePublication',
      'cancelRun',
      'createConnection',
      'createSync',
      'createToken',
      'discardRecords',
      'disconnectConnection',
      'pauseSync',
      'publishSync',
      'reconnectConnection',
      'redriveRecords',
      'refusePublication',
      'requestPublication',
      'resetCursor',
      'resumeSync',
      'retryRun',
      'retryRuns',
      'revokeToken',
      'runSync',
      'setPublishingPolicy',
      'settleDelivery',
      'testConnection',
      'testSync',
      'updateSync',
      'withdrawPublicationRequest',
    ])
    for (const { name, args, type } of mutations) {
      const capitalised = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
      expect([name, args.map((arg) => String(arg.type)), String(type)]).toEqual([
        name,
        [`${capitalised}Input!`],
        `${capitalised}Result!`,
      ])
    }
  })

  it('has the statuses and failures of the product, neither more nor fewer', () => {
    const upper = (names: readonly string[]) => names.map((name) => name.toUpperCase()).sort()
    expect(valuesOf('FailureCode').sort()).toEqual(upper(FAILURE_CODES))
    expect(valuesOf('RunStatus').sort()).toEqual(upper(RUN_STATUSES))
    expect(valuesOf('PublicationRequestStatus').sort()).toEqual(upper(PUBLICATION_REQUEST_STATUSES))
    expect(valuesOf('SyncStatus').sort()).toEqual(upper(SYNC_STATUSES))
  })

  it('is what schema.graphql says', () => {
    const file = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')
    expect(printApiSchema()).toBe(file)
  })
})

describe('docs/api.md', () => {
  const text = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const examples = [...text.matchAll(/```graphql\n(.*?)```/gs)].map((match) => match[1] ?? '')

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(5)
  })

  it.each(examples)('shows an operation of the schema: %s', (example) => {
    expect(validate(apiSchema, parse(example))).toEqual([])
  })

  it('says the limits that hold', () => {
    expect(text).toContain(`at most ${DEFAULT_LIMITS.maxBodyBytes / 1024 / 1024} MiB`)
  })
})
