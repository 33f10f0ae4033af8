/** What may come out of a mapping, held against what a destination takes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/domain/json.ts'
import { compileMapping } from '../../src/domain/mapping.ts'
import { findTargetProblems, type ValueType } from '../../src/domain/mapping-types.ts'

const PATH = { $path: 'anything' }
/** With entries, as an object with a member `then` looks like a promise. */
const ifPresent = (given: JsonValue, otherwise?: JsonValue): JsonObject => ({
  $if: Object.fromEntries([
    ['condition', { exists: PATH }],
    ['then', given],
    ...(otherwise === undefined ? [] : [['else', otherwise] as const]),
  ]),
})
const field = (name: string, types: readonly ValueType[] | null, isRequired = false) => ({
  ...{ name, types, isRequired },
})
const problemsOf = (definition: JsonValue, types: readonly ValueType[]) =>
  findTargetProblems({ x: definition }, [field('x', types)])

/** Each with the types that it fits, of all. */
const VALUES: readonly (readonly [JsonValue, readonly ValueType[]])[] = [
  [PATH, ['text', 'number', 'boolean', 'date', 'list', 'object']],
  [{ $const: null }, ['text', 'number', 'boolean', 'date', 'list', 'object']],
  [{ $const: 'abc' }, ['text']],
  [{ $const: '2026-12-01' }, ['text', 'date']],
  [{ $const: 5 }, ['number']],
  [{ $const: false }, ['boolean']],
  [{ $const: [1] }, ['list']],
  [{ $const: { a: 1 } }, ['object']],
  [[PATH], ['list']],
  [{ $template: '{{ a }}' }, ['text', 'date']],
  [{ $join: { values: [PATH], with: ' ' } }, ['text', 'date']],
  [{ $split: { value: PATH, by: ',' } }, ['list']],
  [{ $number: { value: PATH } }, ['number']],
  [{ $boolean: PATH }, ['boolean']],
  [{ $date: { value: PATH, from: 'ISO', to: 'YYYY-MM-DD' } }, ['text', 'date']],
  [{ $date: { value: PATH, from: 'ISO', to: 'EPOCH_MS' } }, ['number', 'date']],
  [{ $trim: PATH }, ['text', 'number', 'boolean', 'date']],
  [{ $trim: { $number: { value: PATH } } }, ['number']],
  [{ $case: { value: { $const: 'abc' }, to: 'UPPER' } }, ['text']],
  [{ $default: { value: { $number: { value: PATH } }, fallback: { $const: 0 } } }, ['number']],
  [
    { $default: { value: PATH, fallback: { $const: 0 } } },
    ['text', 'number', 'boolean', 'date', 'list', 'object'],
  ],
  [{ $coalesce: [{ $boolean: PATH }, { $const: 'none' }] }, ['boolean', 'text']],
  [ifPresent({ $const: 1 }), ['number']],
  [ifPresent({ $const: 1 }, { $const: 'abc' }), ['number', 'text']],
  [{ $lookup: { value: PATH, table: { a: 1, b: true } } }, ['number', 'boolean']],
  [{ $lookup: { value: PATH, table: { a: 1 }, otherwise: { $const: [] } } }, ['number', 'list']],
]

describe('the type of a value', () => {
  it.each(
    VALUES.map(([definition, fits]) => ({ definition, fits, name: JSON.stringify(definition) })),
  )('of $name is refused exactly where it cannot fit', ({ definition, fits }) => {
    const all: readonly ValueType[] = ['text', 'number', 'boolean', 'date', 'list', 'object']
    for (const type of all) {
      const expected = fits.includes(type) ? [] : [{ field: 'x', reason: expect.any(String) }]
      expect([type, problemsOf(definition, [type])]).toEqual([type, expected])
    }
  })

  it('never says that of a constant which the mapping gives as it stands', () => {
    const typeOf = (value: JsonValue): ValueType =>
      Array.isArray(value)
        ? 'list'
        : ({ string: 'text', number: 'number', boolean: 'boolean', object: 'object' } as const)[
            typeof value as 'string'
          ]
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), (value) => {
        const definition = { $const: value as JsonValue }
        fc.pre(compileMapping({ x: definition }).kind === 'compiled' && value !== null)
        expect(problemsOf(definition, [typeOf(value as JsonValue)])).toEqual([])
      }),
    )
  })
})

describe('the fields of a destination', () => {
  const find = (mapping: JsonObject, ...fields: readonly ReturnType<typeof field>[]) =>
    findTargetProblems(mapping, fields).map((problem) => [problem.field, problem.reason])

  it('are named with the nearest where one is not known', () => {
    expect(find({ FIRSTNAM: PATH }, field('FIRSTNAME', null))).toEqual([
      ['FIRSTNAM', 'The destination has no field "FIRSTNAM"; the nearest name is "FIRSTNAME".'],
    ])
  })

  it('are paths: members of objects are known each by itself', () => {
    const city = field('address.city', ['text'])
    expect(find({ address: { city: PATH } }, city)).toEqual([])
    expect(find({ address: PATH }, city)).toEqual([])
    expect(find({ address: { town: PATH } }, city)).toEqual([
      ['address.town', expect.stringContaining('has no field "address.town"')],
    ])
    expect(find({ address: { $const: 5 } }, city)).toEqual([
      ['address', 'The destination takes an object here, and the mapping gives a number.'],
    ])
  })

  it('take any member in an object of which none is told', () => {
    expect(find({ extra: { a: { b: PATH } } }, field('extra', ['object']))).toEqual([])
    expect(find({ extra: { a: PATH } }, field('extra', null))).toEqual([])
    expect(find({ extra: { a: PATH } }, field('extra', ['text']))).toHaveLength(1)
  })

  it('that are required are missed where nothing gives them, and only there', () => {
    const fields = [field('id', null, true), field('address.city', null, true)]
    expect(find({ id: PATH, address: { city: PATH } }, ...fields)).toEqual([])
    expect(find({ id: PATH, address: PATH }, ...fields)).toEqual([])
    expect(find({ other: PATH }, field('other', null), ...fields).map(([name]) => name)).toEqual([
      'id',
      'address.city',
    ])
  })
})
