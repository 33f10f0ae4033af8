import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/domain/json.ts'
import {
  type CompiledMapping,
  compileMapping,
  findUnknownFields,
} from '../../src/domain/mapping.ts'

function compiled(definition: JsonValue): CompiledMapping {
  const result = compileMapping(definition)
  if (result.kind === 'invalid') {
    throw new Error(`The mapping was refused: ${JSON.stringify(result.problems)}`)
  }
  return result.mapping
}

/** The outcome of one field `x`; `(left out)` where it has no value. */
function mapOne(value: JsonValue, record: JsonObject): JsonValue {
  const result = compiled({ x: value, always: { $const: true } }).map(record)
  if (result.kind === 'rejected') {
    return `rejected: ${result.field}: ${result.reason}`
  }
  return result.fields['x'] ?? ('x' in result.fields ? null : '(left out)')
}

const path = (name: string) => ({ $path: name })

/** A `$if`. (An object written with a member named `then` looks like a promise to the linter.) */
const when = (condition: JsonValue, then: JsonValue) => ({
  $if: Object.fromEntries([
    ['condition', condition],
    ['then', then],
  ]),
})

describe('the source fields of a mapping', () => {
  const mapping = compiled({
    name: { $template: '{{first_name}} {{lastname}}' },
    address: { city: path('address.city'), zip: { $coalesce: [path('zip'), path('lastname')] } },
  })

  it('are its top-level names, sorted, each once', () => {
    expect(mapping.sourceFields).toEqual(['address', 'first_name', 'lastname', 'zip'])
  })

  it('are reported where the source does not have them, with the nearest name', () => {
    expect(findUnknownFields(mapping, ['address', 'first_name', 'last_name', 'postcode'])).toEqual([
      { field: 'address.zip', reason: 'The source has no field "zip".' },
      {
        field: 'address.zip',
        reason: 'The source has no field "lastname"; the nearest name is "last_name".',
      },
      {
        field: 'name',
        reason: 'The source has no field "lastname"; the nearest name is "last_name".',
      },
    ])
    expect(findUnknownFields(mapping, ['zip', 'lastname', 'first_name', 'address'])).toEqual([])
  })
})

describe('values', () => {
  it('tells no value from null', () => {
    const directives: JsonValue[] = [
      path('a'),
      { $trim: path('a') },
      { $case: { value: path('a'), to: 'UPPER' } },
      { $number: { value: path('a') } },
      { $boolean: path('a') },
      { $date: { value: path('a'), from: 'ISO', to: 'ISO' } },
      { $lookup: { value: path('a'), table: { b: 1 } } },
      { $split: { value: path('a'), by: ',' } },
      { $coalesce: [path('b'), path('a')] },
    ]
    for (const directive of directives) {
      expect(mapOne(directive, {})).toBe('(left out)')
      expect(mapOne(directive, { a: null })).toBe(null)
    }
  })

  it('leaves out objects and lists of which nothing is left', () => {
    expect(mapOne({ city: path('city'), more: [path('zip')] }, {})).toBe('(left out)')
  })

  it('reads nothing but a record’s own members', () => {
    const record = JSON.parse('{"__proto__":{"x":1},"text":"abc","list":[1]}')
    for (const name of ['__proto__', '__proto__.x', 'constructor', 'toString', 'text.length']) {
      expect(mapOne(path(name), record)).toBe('(left out)')
    }
    for (const name of [
      'list.length',
      'list.-1',
      'list.00',
      'list. 0',
      'list.map',
      'list.1',
      'text.0',
    ]) {
      expect(mapOne(path(name), record)).toBe('(left out)')
    }
    expect(mapOne(path('constructor'), { constructor: 'Ferrari' })).toBe('Ferrari')
  })

  it('rejects a record whose value holds a member named __proto__', () => {
    expect(mapOne(path('a'), { a: JSON.parse('{"__proto__":{"isAdmin":true}}') })).toBe(
      'rejected: x: The value has a member named "__proto__", which is refused.',
    )
  })

  it.each([
    ['a NUL', 'contains a NUL character', 'ab\u0000c'],
    ['a lone surrogate', 'contains half of a surrogate pair', 'ab\uD83Dc'],
  ])('rejects %s in a text, wherever in a value it is', (_name, problem, text) => {
    const rejection = `rejected: x: The value ${problem}.`
    expect(mapOne(path('a'), { a: text })).toBe(rejection)
    expect(mapOne(path('a'), { a: { list: [text] } })).toBe(rejection)
    expect(mapOne(path('a'), { a: { [text]: 1 } })).toBe(rejection)
    expect(mapOne({ $trim: { $template: '{{a}}!' } }, { a: text })).toBe(rejection)
    expect(
      mapOne({ $default: { value: path('b'), fallback: { y: path('a') } } }, { a: text }),
    ).toBe(rejection)
  })

  it('rejects a value that is nested too deeply to be hashed', () => {
    const deep = JSON.parse(`${'['.repeat(80)}1${']'.repeat(80)}`)
    expect(mapOne(path('a'), { a: deep })).toBe(
      'rejected: x: The value is nested more than 64 levels deep.',
    )
  })

  it('sorts members at every level', () => {
    const { map } = compiled({ b: path('b'), a: { $const: { z: 1, y: 2 } } })
    expect(JSON.stringify(map({ b: { d: 1, c: [{ f: 1, e: 2 }] } }))).toBe(
      '{"kind":"mapped","fields":{"a":{"y":2,"z":1},"b":{"c":[{"e":2,"f":1}],"d":1}}}',
    )
  })

  it('rejects a list where a text is needed', () => {
    const rejection = 'rejected: x: The value is a list or an object where a text is needed.'
    expect(mapOne({ $template: 'a {{a}}' }, { a: [] })).toBe(rejection)
    expect(mapOne({ $trim: path('a') }, { a: {} })).toBe(rejection)
    expect(mapOne({ $join: { values: [path('a')], with: ',' } }, { a: [[1]] })).toBe(rejection)
  })

  it('bounds what a template builds', () => {
    expect(mapOne({ $template: '{{a}}{{a}}' }, { a: 'x'.repeat(40_000) })).toBe(
      'rejected: x: The text is longer than 65536 characters.',
    )
  })

  it('cases texts the same whatever the locale', () => {
    expect(mapOne({ $case: { value: path('a'), to: 'UPPER' } }, { a: 'izmir ß' })).toBe('IZMIR SS')
    expect(mapOne({ $case: { value: path('a'), to: 'LOWER' } }, { a: 'ISPARTA' })).toBe('isparta')
    expect(mapOne({ $case: { value: path('a'), to: 'CAPITALIZE' } }, { a: 'élodie éa' })).toBe(
      'Élodie Éa',
    )
    expect(mapOne({ $case: { value: path('a'), to: 'UPPER' } }, { a: 7 })).toBe(7)
  })

  it.each<[JsonValue, JsonValue]>([
    [true, true],
    [0, false],
    [1, true],
    [' NO ', false],
    ['', '(left out)'],
    ['ja', 'rejected: x: The value is neither a yes nor a no.'],
    [2, 'rejected: x: The value is neither a yes nor a no.'],
  ])('reads %j as the boolean %j', (given, expected) => {
    expect(mapOne({ $boolean: path('a') }, { a: given })).toBe(expected)
  })

  it('compares by type and value', () => {
    const equals = (a: JsonValue, b: JsonValue) =>
      mapOne(when({ equals: [path('a'), path('b')] }, { $const: 'same' }), { a, b })
    expect(equals(1, '1')).toBe('(left out)')
    expect(equals({ x: 1, y: [2] }, { y: [2], x: 1 })).toBe('same')
    expect(equals(null, 'null')).toBe('(left out)')
  })

  it('takes no value for equal to no value only', () => {
    const condition = { equals: [path('a'), path('b')] }
    expect(mapOne(when(condition, { $const: 'same' }), {})).toBe('same')
    expect(mapOne(when(condition, { $const: 'same' }), { a: null })).toBe('(left out)')
  })

  it('coalesces to null where one value was null and none was there', () => {
    expect(mapOne({ $coalesce: [path('a'), path('b')] }, { a: null })).toBe(null)
    expect(mapOne({ $coalesce: [path('a'), path('b')] }, { a: null, b: '' })).toBe('')
  })

  it('looks up own names of the table only', () => {
    const lookup = { $lookup: { value: path('a'), table: { b: 'found' } } }
    expect(mapOne(lookup, { a: 'b' })).toBe('found')
    expect(mapOne(lookup, { a: 'constructor' })).toBe(
      'rejected: x: The value is not in the table of "$lookup".',
    )
  })

  it('says of a rejected record the fields that could be mapped, and the first that could not', () => {
    const number = (name: string) => ({ $number: { value: path(name) } })
    const mapping = compiled({ b: number('b'), a: path('a'), c: number('c'), d: number('d') })
    expect(mapping.map({ a: 'x', b: 'no', c: 'no', d: '4' })).toMatchObject({
      kind: 'rejected',
      field: 'b',
      mappable: { a: 'x', d: 4 },
    })
  })

  it('never repeats a value in a rejection', () => {
    const secret = 'ada.lovelace@example.com'
    for (const value of [
      { $number: { value: path('a') } },
      { $boolean: path('a') },
      { $date: { value: path('a'), from: 'ISO', to: 'ISO' } },
      { $lookup: { value: path('a'), table: { b: 1 } } },
    ]) {
      const outcome = mapOne(value, { a: secret })
      expect(outcome).toMatch(/^rejected: x: The value is .+\.$/)
      expect(outcome).not.toContain(secret)
    }
  })
})
