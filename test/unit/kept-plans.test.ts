/** What is kept of compiled queries is bounded as a whole. */
import { buildSchema, getOperationAST, parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { compileQuery } from '../../src/graphql/compiled/compiled-query.ts'
import { KeptPlans } from '../../src/graphql/compiled/kept-plans.ts'

const schema = buildSchema('type Query { a: String b: String more: Query }')
const ROOT = { a: 'a', b: 'b', more: { a: 'a', b: 'b', more: null } }

function compile(text: string, kept: KeptPlans) {
  const document = parse(text)
  const operation = getOperationAST(document)
  const compiled = operation && compileQuery(schema, document, operation, kept)
  return (variableValues: Record<string, unknown> = {}) =>
    compiled?.execute({ rootValue: ROOT, contextValue: null, variableValues })
}

describe('plans of compiled queries', () => {
  it('are dropped, the one that was used longest ago first, when all of them have too many fields', () => {
    const kept = new KeptPlans({ maxPlans: 10, maxFields: 5 })
    const [one, two, three] = ['{ a b }', '{ a b: a }', '{ b a: b }'].map((t) => compile(t, kept))
    one?.()
    two?.()
    one?.()
    expect(kept).toMatchObject({ plans: 2, fields: 4 })
    expect(three?.()).toBe('{"b":"b","a":"b"}')
    expect(kept).toMatchObject({ plans: 2, fields: 4 })
    const dropped = kept.made
    one?.()
    expect(kept.made).toBe(dropped)
    expect(two?.()).toBe('{"a":"a","b":"a"}')
    expect(kept.made).toBe(dropped + 1)
  })

  it('count every condition, every field that is reached, and each place that selects it', () => {
    const kept = new KeptPlans({ maxPlans: 10, maxFields: 100 })
    const query = compile(
      'query($x: Boolean!) { a ...F @include(if: $x) ...G } fragment F on Query { a more { a } } fragment G on Query { more { a b } }',
      kept,
    )
    query({ x: false })
    expect(kept).toMatchObject({ plans: 1, fields: 4 })
    query({ x: true })
    expect(kept).toMatchObject({ plans: 2, fields: 4 + 7 })
    query({ x: true })
    expect(kept).toMatchObject({ plans: 2, fields: 11 })
  })

  it('are answered from, but not kept, where one alone has too many fields', () => {
    const kept = new KeptPlans({ maxPlans: 10, maxFields: 3 })
    const query = compile('{ a b more { a b } }', kept)
    for (const _ of [1, 2]) {
      expect(query()).toBe('{"a":"a","b":"b","more":{"a":"a","b":"b"}}')
      expect(kept).toMatchObject({ plans: 0, fields: 0 })
    }
  })

  it('are not more than so many', () => {
    const kept = new KeptPlans({ maxPlans: 3, maxFields: 100 })
    for (let n = 0; n < 9; n += 1) {
      compile(`{ a${n}: a }`, kept)()
    }
    expect(kept).toMatchObject({ plans: 3, fields: 3 })
  })
})
