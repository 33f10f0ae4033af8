/** Every example of docs/mapping.md is run as it is written, and every directive has one. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/domain/json.ts'
import { compileMapping, type MappingProblem } from '../../src/domain/mapping.ts'
import { DIRECTIVE_NAMES } from '../../src/domain/mapping-directives.ts'

interface Example {
  readonly mapping: JsonObject
  readonly record?: JsonObject
  readonly fields?: JsonObject
  readonly rejected?: MappingProblem
  readonly problems?: readonly MappingProblem[]
}

const text = readFileSync(new URL('../../docs/mapping.md', import.meta.url), 'utf8')
const examples = [...text.matchAll(/^## (.+)$|^```json\n([\s\S]*?)^```$/gm)].reduce(
  (found, [, heading, block]) => {
    if (heading !== undefined) {
      found.heading = heading
    } else if (block !== undefined) {
      found.list.push({ heading: found.heading, example: JSON.parse(block) as Example })
    }
    return found
  },
  { heading: '', list: [] as { heading: string; example: Example }[] },
).list

describe('docs/mapping.md', () => {
  it.each(examples)('$heading', ({ example }) => {
    const compiled = compileMapping(example.mapping)
    if (compiled.kind === 'invalid') {
      expect({ problems: compiled.problems }).toEqual({ problems: example.problems })
      return
    }
    const result = compiled.mapping.map(example.record ?? {})
    const expected = example.fields
      ? { kind: 'mapped', fields: example.fields }
      : { kind: 'rejected', ...example.rejected, mappable: expect.any(Object) }
    expect(result).toStrictEqual(expected)
  })

  it('has a section with an example for every directive, and for no other', () => {
    const shown = examples
      .map(({ heading }) => /^`(\$\w+)`/.exec(heading)?.[1])
      .filter((name) => name !== undefined)
    expect(new Set(shown)).toEqual(new Set(DIRECTIVE_NAMES))
  })
})
