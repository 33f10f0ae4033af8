import { describe, expect, it } from 'vitest'
import { DocumentCache } from '../../src/http/document-cache.ts'

describe('the parser’s memory', () => {
  it('keeps a thousand documents, those that were asked for last', () => {
    const cache = new DocumentCache<number>()
    cache.set('first', 1)
    cache.set('second', 2)
    for (let n = 0; n < 998; n += 1) {
      cache.set(`other ${n}`, n)
    }
    expect(cache.get('first')).toBe(1)
    cache.set('one more', 3)
    expect([cache.get('first'), cache.get('second'), cache.get('one more')]).toEqual([
      ...[1, undefined, 3],
    ])
  })

  it('does not keep a long one', () => {
    const cache = new DocumentCache<number>()
    cache.set('x'.repeat(16_001), 1)
    cache.set('x'.repeat(16_000), 2)
    expect(cache.get('x'.repeat(16_001))).toBeUndefined()
    expect(cache.get('x'.repeat(16_000))).toBe(2)
  })
})
