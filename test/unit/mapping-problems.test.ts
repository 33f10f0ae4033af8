import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/domain/json.ts'
import { compileMapping, MAX_MAPPING_DEPTH, MAX_MAPPING_FIELDS } from '../../src/domain/mapping.ts'

function problemsOf(definition: JsonValue): readonly string[] {
  const result = compileMapping(definition)
  return result.kind === 'invalid' ? result.problems.map((p) => `${p.field}: ${p.reason}`) : []
}

const path = (name: string) => ({ $path: name })

/** A `$if`. (An object written with a member named `then` looks like a promise to the linter.) */
const when = (condition: JsonValue, then: JsonValue) => ({
  $if: Object.fromEntries([
    ['condition', condition],
    ['then', then],
  ]),
})

describe('what is refused when a mapping is saved', () => {
  const bare =
    'The value is a bare constant: write { "$path": … } for a source field or { "$const": … } for a fixed value.'
  it.each<[string, JsonValue, readonly string[]]>([
    [
      'no object',
      [],
      ['(mapping): A mapping is an object that names each target field and its value.'],
    ],
    [
      'null',
      null,
      ['(mapping): A mapping is an object that names each target field and its value.'],
    ],
    ['an empty mapping', {}, ['(mapping): The mapping is empty: it names no target field.']],
    [
      'a directive at the top',
      { $path: 'email' },
      ['(mapping): A mapping names target fields at its top, where "$path" stands.'],
    ],
    ['bare constants', { a: 1, b: null, c: true }, [`a: ${bare}`, `b: ${bare}`, `c: ${bare}`]],
    ['an unknown directive', { a: { $eval: '1' } }, ['a: Unknown directive "$eval".']],
    [
      'a misspelt directive in a list',
      { a: [{ $path: 'b' }, { b: { $temlate: 'x' } }] },
      ['a.1.b: Unknown directive "$temlate"; the nearest name is "$template".'],
    ],
    [
      'a directive with a neighbour',
      { a: { $path: 'b', fallback: 1 } },
      ['a: The directive "$path" stands alone in its object; "fallback" cannot stand beside it.'],
    ],
    [
      'an inherited name as directive',
      { a: { $constructor: 1 } },
      ['a: Unknown directive "$constructor".'],
    ],
    [
      'an empty object and an empty list',
      { a: {}, b: [] },
      [
        'a: The object names no field: write { "$const": {} } for an empty object.',
        'b: The list is empty: write { "$const": [] } for an empty list.',
      ],
    ],
    [
      'refused target names',
      JSON.parse(
        '{"":{"$const":1},"__proto__":{"$const":1},"constructor":{"$const":1},"a\\u0000":{"$const":1}}',
      ),
      [
        ': A target field has an empty name.',
        '__proto__: A target field cannot be named "__proto__".',
        'a\uFFFD: The name of a target field contains a NUL character.',
        'constructor: A target field cannot be named "constructor".',
      ],
    ],
    [
      'a wrong path',
      { a: { $path: 7 }, b: { $path: 'x..y' }, c: { $path: [] } },
      [
        'a: The directive "$path" takes the name of a source field, as a text or as a list of names.',
        'b: The directive "$path" takes a path of which every name is a text that is not empty.',
        'c: The directive "$path" takes a path of 1 to 16 names.',
      ],
    ],
    [
      'unbalanced templates',
      { a: { $template: 'x}} {{y}}' }, b: { $template: '{{x' }, c: { $template: '{{ }}' } },
      [
        'a: The directive "$template" has a "}}" without a "{{" before it.',
        'b: The directive "$template" has a "{{" without a "}}" after it.',
        'c: The directive "$template" has a placeholder "" that is not a field path.',
      ],
    ],
    [
      'a template over the limit',
      { a: { $template: 'x'.repeat(1_001) } },
      ['a: The directive "$template" takes a text of at most 1000 characters.'],
    ],
    [
      'missing and unknown members',
      { a: { $default: { value: path('b'), falback: path('c') } } },
      [
        'a: The directive "$default" lacks its member "fallback".',
        'a: The directive "$default" has no member "falback"; the nearest name is "fallback".',
      ],
    ],
    [
      'an argument that is no object',
      { a: { $case: 'UPPER' } },
      ['a: The directive "$case" takes an object with "value", "to".'],
    ],
    [
      'unknown settings',
      {
        a: { $case: { value: path('b'), to: 'upper' } },
        b: { $number: { value: path('b'), decimal: ',', group: ',', decimals: 1.5 } },
        c: { $date: { value: path('b'), from: 'ISO', to: 'ISO', zone: 'Europe/Amsterdam' } },
      },
      [
        'a: The setting "to" of "$case" is one of "UPPER", "LOWER", "CAPITALIZE", and "upper" is none of them.',
        'b: The setting "decimals" of "$number" is a whole number from 0 to 15.',
        'b: The settings "decimal" and "group" of "$number" are the same character.',
        'c: The setting "zone" of "$date" is "UTC" or a fixed offset such as "+02:00".',
      ],
    ],
    [
      'wrong conditions',
      {
        a: when({ exist: path('b') }, path('b')),
        b: when({ equals: [path('b')] }, path('b')),
        c: when({ blank: path('b'), exists: path('b') }, path('b')),
        d: when({ any: [] }, path('b')),
      },
      [
        'a: Unknown condition "exist"; the nearest name is "exists".',
        'b: The condition "equals" takes a list of exactly two values.',
        'c: A condition is an object with exactly one of "exists", "blank", "equals", "in", "not", "all", "any".',
        'd: "any" takes a list of 1 to 500 items.',
      ],
    ],
    [
      'an empty table, separator and list',
      {
        a: { $lookup: { value: path('b'), table: {} } },
        b: { $split: { value: path('b'), by: '' } },
        c: { $coalesce: [] },
      },
      [
        'a: The setting "table" of "$lookup" is an object of 1 to 500 constants.',
        'b: The setting "by" of "$split" is empty.',
        'c: "$coalesce" takes a list of 1 to 500 items.',
      ],
    ],
    [
      'a constant that cannot be stored',
      { a: { $const: ['\uD800'] } },
      ['a: The value contains half of a surrogate pair.'],
    ],
  ])('%s', (_name, definition, problems) => {
    expect(problemsOf(definition)).toEqual(problems)
  })

  it('a mapping that is nested too deeply, and none that is just deep enough', () => {
    const nest = (levels: number) => {
      let value: JsonValue = path('a')
      for (let level = 1; level < levels; level += 1) {
        value = { $trim: value }
      }
      return { x: value }
    }
    expect(problemsOf(nest(MAX_MAPPING_DEPTH))).toEqual([])
    expect(problemsOf(nest(MAX_MAPPING_DEPTH + 1))).toEqual([
      'x: The mapping is nested more than 16 levels deep here.',
    ])
  })

  it('a mapping with too many fields, and none with just as many as allowed', () => {
    const many = (count: number) => Array.from({ length: count }, () => path('a'))
    expect(problemsOf({ list: many(MAX_MAPPING_FIELDS - 1) })).toEqual([])
    expect(problemsOf({ list: many(MAX_MAPPING_FIELDS + 100) })).toEqual([
      '(mapping): The mapping has more than 500 target fields.',
    ])
  })

  it('a definition that is nested a hundred thousand levels deep, without a stack overflow', () => {
    const text = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(problemsOf({ a: JSON.parse(text), b: { $const: JSON.parse(text) } })).toHaveLength(2)
  })
})
