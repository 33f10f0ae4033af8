import { describe, expect, it } from 'vitest'
import { canonicalJson, describeUnstorableText, MAX_JSON_DEPTH } from '../../src/domain/json.ts'

describe('canonical text', () => {
  it('sorts members by UTF-16 code unit at every level and leaves lists in their order', () => {
    expect(canonicalJson({ b: [2, 1, { d: null, c: true }], a: 'é', B: 1, '10': 1, '9': 1 })).toBe(
      '{"10":1,"9":1,"B":1,"a":"é","b":[2,1,{"c":true,"d":null}]}',
    )
  })

  it('takes what is nested just deeply enough, and throws RangeError past it', () => {
    const nest = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
    expect(canonicalJson(nest(MAX_JSON_DEPTH + 1))).toHaveLength(2 * (MAX_JSON_DEPTH + 1))
    expect(() => canonicalJson(nest(MAX_JSON_DEPTH + 2))).toThrow(RangeError)
  })
})

describe('a text that cannot be stored', () => {
  it.each([
    ['a\u0000b', 'contains a NUL character'],
    ['a\uD83Db', 'contains half of a surrogate pair'],
    ['\uDE00', 'contains half of a surrogate pair'],
    ['😀 and \uFFFF and é', null],
    ['', null],
  ])('%j: %s', (text, problem) => {
    expect(describeUnstorableText(text)).toBe(problem)
  })
})
