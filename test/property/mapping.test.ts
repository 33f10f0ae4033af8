/** What must hold for every mapping that may be saved and every record that may come in. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalJson,
  describeUnstorableText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '../../src/domain/json.ts'
import { compileMapping } from '../../src/domain/mapping.ts'
import { DATE_FORMATS } from '../../src/domain/mapping-dates.ts'
import { DIRECTIVE_NAMES } from '../../src/domain/mapping-directives.ts'

/** Names that records and paths share, so that paths often lead somewhere; and names that lead nowhere good. */
const NAMES = ['a', 'b', 'email', '0', '1', 'length', '__proto__', 'constructor', 'toString']
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'binary', maxLength: 5 }))

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '2025-02-30',
    '2024-02-29',
    '1.234,5',
    '12',
    'yes',
    '\uD800',
    'a\u0000b',
  ),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
/** Any JSON, with members that may be called `__proto__`, as JSON.parse makes them. */
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 5 }).map(makeObject),
  ),
}))
const record = fc.array(fc.tuple(name, json), { maxLength: 8 }).map(makeObject)

/** Objects whose members are directives more often than not, right and wrong ones. */
const { almost } = fc.letrec<{ almost: JsonValue }>((tie) => ({
  almost: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.record({ $path: fc.oneof(fc.constantFrom(...NAMES), fc.array(name, { maxLength: 3 })) }),
    fc.array(tie('almost'), { maxLength: 3 }),
    fc.tuple(fc.constantFrom(...DIRECTIVE_NAMES, '$nothing'), tie('almost')).map(makeMember),
    fc
      .array(
        fc.tuple(
          fc.constantFrom('value', 'to', 'from', 'fallback', 'condition', 'then', 'table', 'x'),
          tie('almost'),
        ),
        { maxLength: 4 },
      )
      .map(makeObject),
  ),
}))

/** Values that are right by construction. */
const { right } = fc.letrec<{ right: JsonValue }>((tie) => {
  const value = tie('right')
  const member = (directive: string, argument: fc.Arbitrary<JsonValue>) =>
    argument.map((given): JsonValue => ({ [directive]: given }))
  const format = fc.constantFrom(...DATE_FORMATS)
  const condition: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.record({ exists: value }),
    fc.record({ blank: value }),
    fc.record({ equals: fc.tuple(value, value) }),
    fc.record({ not: fc.record({ in: fc.tuple(value, fc.constant(['a', 1, null])) }) }),
  )
  return {
    right: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      member(
        '$path',
        fc.array(
          name.filter((text) => text !== ''),
          { minLength: 1, maxLength: 3 },
        ),
      ),
      member('$const', fc.constantFrom<JsonValue>(null, 'text', 7, { deep: [true] })),
      member('$template', fc.constantFrom('{{a}} {{b}}', 'plain', '{{ email }}', '{{a.0}}')),
      member('$coalesce', fc.array(value, { minLength: 1, maxLength: 3 })),
      member('$default', fc.record({ value, fallback: value })),
      member('$case', fc.record({ value, to: fc.constantFrom('UPPER', 'LOWER', 'CAPITALIZE') })),
      member('$trim', value),
      member('$date', fc.record({ value, from: format, to: format })),
      member('$number', fc.record({ value, decimals: fc.integer({ min: 0, max: 15 }) })),
      member('$boolean', value),
      member(
        '$if',
        fc.tuple(condition, value).map(([given, then]) =>
          makeObject([
            ['condition', given],
            ['then', then],
          ]),
        ),
      ),
      member('$lookup', fc.record({ value, table: fc.constant({ a: 1 }), otherwise: value })),
      member('$join', fc.record({ values: fc.tuple(value, value), with: fc.constant(', ') })),
      member('$split', fc.record({ value, by: fc.constant(',') })),
      fc.record({ x: value, y: value }),
      fc.array(value, { minLength: 1, maxLength: 3 }),
    ),
  }
})
const rightMapping = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), right, { minKeys: 1 })

describe('any mapping', () => {
  it('compiles or is refused with fields and reasons, and maps any record, without throwing', () => {
    const definition = fc.oneof(json, almost, fc.dictionary(fc.constantFrom('a', 'b'), almost))
    fc.assert(
      fc.property(definition, record, (given, from) => {
        const result = compileMapping(given)
        if (result.kind === 'compiled') {
          expectFit(result.mapping.map(from))
        } else {
          expect(result.problems.length).toBeGreaterThan(0)
          expect(result.problems.every(({ reason }) => /^["A-Z].*\.$/su.test(reason))).toBe(true)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('that is right by construction compiles', () => {
    fc.assert(
      fc.property(rightMapping, (definition) => {
        expect(compileMapping(definition)).toMatchObject({ kind: 'compiled' })
      }),
    )
  })

  it('maps equal records to equal texts, whenever and in whatever order of members', () => {
    fc.assert(
      fc.property(rightMapping, record, (definition, from) => {
        const [once, again] = [compiled(definition), compiled(definition)]
        const reversed = makeObject(Object.entries(from).reverse())
        const expected = JSON.stringify(once.map(from))
        expect(JSON.stringify(once.map(from))).toBe(expected)
        expect(JSON.stringify(again.map(reversed))).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })

  it('gives plain JSON that can be stored, sorted as its canonical text is', () => {
    fc.assert(
      fc.property(rightMapping, record, (definition, from) => {
        expectFit(compiled(definition).map(from))
      }),
      { numRuns: 1_000 },
    )
  })

  it('leaves the record and the definition as they were', () => {
    fc.assert(
      fc.property(rightMapping, record, (definition, from) => {
        const before = JSON.stringify([definition, from])
        compiled(definition).map(from)
        expect(JSON.stringify([definition, from])).toBe(before)
      }),
    )
  })

  it('reaches nothing but the record: with no members there is no value, whatever the path', () => {
    const anyPath = fc.oneof(
      fc.constantFrom('__proto__.constructor', 'constructor.prototype', 'toString.length'),
      fc.array(
        name.filter((text) => text !== ''),
        { minLength: 1, maxLength: 4 },
      ),
    )
    fc.assert(
      fc.property(anyPath, (path) => {
        const { map } = compiled({ x: { $path: path }, always: { $const: 1 } })
        expect(map({})).toStrictEqual({ kind: 'mapped', fields: { always: 1 } })
      }),
    )
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('reads no source field but those it names', () => {
    fc.assert(
      fc.property(rightMapping, record, (definition, from) => {
        const mapping = compiled(definition)
        const named = new Set(mapping.sourceFields)
        const rest = makeObject(Object.entries(from).filter(([field]) => named.has(field)))
        expect(JSON.stringify(mapping.map(rest))).toBe(JSON.stringify(mapping.map(from)))
      }),
    )
  })
})

function compiled(definition: JsonValue) {
  const result = compileMapping(definition)
  if (result.kind === 'invalid') {
    throw new Error(`The mapping was refused: ${JSON.stringify(result.problems)}`)
  }
  return result.mapping
}

/** What may come out of a mapping: a rejection in a sentence, or plain JSON. */
function expectFit(result: ReturnType<ReturnType<typeof compiled>['map']>): void {
  if (result.kind === 'rejected') {
    expect(result.field).not.toBe('')
    expect(result.reason).toMatch(/^[A-Z].*\.$/)
    return
  }
  const text = JSON.stringify(result.fields)
  expect(Object.keys(result.fields).length).toBeGreaterThan(0)
  expect(JSON.stringify(JSON.parse(text))).toBe(text)
  expect(describeUnstorableText(text)).toBeNull()
  expect(text.includes('\\u0000')).toBe(false)
  expect(isPlain(result.fields)).toBe(true)
  if (!hasNumberedName(result.fields)) {
    expect(text).toBe(canonicalJson(result.fields))
  }
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) {
    return value.every(isPlain)
  }
  if (isJsonObject(value)) {
    return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isPlain)
  }
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** JavaScript keeps such members in front, whatever the order they were made in. */
function hasNumberedName(value: JsonValue): boolean {
  if (value === null || typeof value !== 'object') {
    return false
  }
  const isNumbered = isJsonObject(value) && Object.keys(value).some((key) => /^\d+$/.test(key))
  return isNumbered || Object.values(value).some(hasNumberedName)
}

/** As JSON.parse does it: `__proto__` becomes a member like any other. */
function makeObject(members: readonly (readonly [string, JsonValue])[]): JsonObject {
  return JSON.parse(
    `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`,
  )
}

function makeMember(member: readonly [string, JsonValue]): JsonObject {
  return makeObject([member])
}
