/** How large a document is found to be. That what is too large is refused: test/e2e/api-document-limits.test.ts. */
import { readFileSync } from 'node:fs'
import { getIntrospectionQuery, getNamedType, isObjectType, parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import * as client from '../../src/client/gql/graphql.ts'
import { apiSchema } from '../../src/graphql/schema.ts'
import { measureDocument } from '../../src/http/document-limits.ts'
import { DEFAULT_LIMITS } from '../../src/http/limits.ts'

function measure(text: string, variables = {}) {
  return measureDocument(apiSchema, parse(text), variables).size
}

const costOf = (text: string, variables = {}) => measure(text, variables).cost
const runs = (args: string, within: string) => `{ runs${args} { edges { node { ${within} } } } }`

describe('the cost of a query', () => {
  it.each([
    ['an object', '{ viewer { tokenName workspaceName } }', 1],
    ['a page that asks for 3', runs('(first: 3)', 'id status'), 3],
    ['a page from the end', runs('(last: 4)', 'id'), 4],
    ['a page without a size', runs('', 'id'), 50],
    ['an object in each entry', runs('(first: 3)', 'sync { name }'), 6],
    [
      'a page in each entry',
      runs('(first: 200)', 'rejectedRecords(first: 200) { edges { cursor } }'),
      40_200,
    ],
    ['a list without pages in each entry', runs('(first: 3)', 'attempts { number }'), 33],
    ['what a page says of itself', '{ runs(first: 7) { pageInfo { hasNextPage } } }', 7],
    ['a list of times that has a size', '{ sync(id: "x") { nextFires(first: 20) } }', 21],
    ['the same with the size that it has else', '{ sync(id: "x") { nextFires } }', 6],
    [
      'two aliases of a page',
      '{ a: runs(first: 5) { edges { cursor } } b: runs(first: 6) { edges { cursor } } }',
      11,
    ],
    [
      'a fragment, each time it is spread',
      '{ ...F ...F } fragment F on Query { runs(first: 5) { edges { cursor } } }',
      10,
    ],
    ['an inline fragment', '{ ... on Query { ... { runs(first: 5) { edges { cursor } } } } }', 5],
    ['an empty page', runs('(first: 0)', 'rejectedRecords(first: 200) { edges { cursor } }'), 0],
    ['a size with 400 digits', runs(`(first: ${'9'.repeat(400)})`, 'id'), Number.MAX_SAFE_INTEGER],
  ])('counts %s', (_, text, cost) => {
    expect(costOf(text)).toBe(cost)
  })

  it('goes by the variables, or by what they are where none is given', () => {
    const text = `query ($n: Int = 7) ${runs('(first: $n)', 'id')}`
    expect(costOf(text, { n: 150 })).toBe(150)
    expect(costOf(text)).toBe(7)
    expect(costOf(text, { n: null })).toBe(50)
    expect(costOf(text, { n: 'nonsense' })).toBe(50)
    expect(costOf(`query ($n: Int) ${runs('(first: $n)', 'id')}`)).toBe(50)
  })

  it('is that of the operation that costs most', () => {
    expect(costOf(`query A ${runs('(first: 2)', 'id')} query B ${runs('(first: 9)', 'id')}`)).toBe(
      9,
    )
  })
})

describe('a page', () => {
  it('is asked for with first or last everywhere, by which its cost goes', () => {
    const fields = Object.values(apiSchema.getTypeMap())
      .filter((type) => isObjectType(type))
      .flatMap((type) => Object.values(type.getFields()))
      .filter(({ type }) => {
        const named = getNamedType(type)
        return isObjectType(named) && 'pageInfo' in named.getFields()
      })
    expect(fields.length).toBeGreaterThan(10)
    const others = fields.filter(({ args }) => !args.some(({ name }) => name === 'first'))
    expect(others.map(({ name }) => name)).toEqual([])
  })
})

describe('depth, aliases and selections', () => {
  it('are those of the document with its fragments written out', () => {
    const text = `
      { a: viewer { ...V } ...Q ... on Query { viewer { ...V } } }
      fragment Q on Query { b: viewer { c: tokenName ...V } }
      fragment V on Viewer { d: workspaceName }`
    expect(measure(text)).toMatchObject({ depth: 2, aliases: 6, selections: 12 })
  })

  it('end with fragments that are in themselves', () => {
    const text =
      '{ ...A } fragment A on Query { ...B } fragment B on Query { viewer { tokenName } ...A }'
    expect(measure(text)).toMatchObject({ depth: 2 })
  })

  it('are known at once of 60 fragments each of which spreads the next one twice', () => {
    const fragments = Array.from({ length: 60 }, (_, i) => {
      const next = i === 59 ? '__typename' : `...F${i + 1} ...F${i + 1}`
      return `fragment F${i} on Query { ${next} }`
    })
    // Written out there would be 2^60 of them: a walk that writes them out does not come back.
    expect(measure(`{ ...F0 } ${fragments.join('\n')}`).selections).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('the limits', () => {
  const docs = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const examples = [...docs.matchAll(/```graphql\n(.*?)```/gs)].map(([, text = '']) => text)
  const operations = Object.entries(client)
    .filter(([name]) => name.endsWith('Document'))
    .map(([, document]) => String(document))
  const introspection = getIntrospectionQuery({
    schemaDescription: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    inputValueDeprecation: true,
    oneOf: true,
  })

  it('leave room for GraphiQL’s introspection and for every document of the docs, the tests and the demo', () => {
    const documents = [introspection, ...examples, ...operations]
    expect(documents.length).toBeGreaterThan(40)
    for (const text of documents) {
      const { selections, depth, aliases, cost } = measure(text)
      expect(parse(text, { maxTokens: DEFAULT_LIMITS.maxTokens }).kind).toBe('Document')
      expect([text, selections <= DEFAULT_LIMITS.maxTokens]).toEqual([text, true])
      expect([text, depth <= DEFAULT_LIMITS.maxDepth]).toEqual([text, true])
      expect([text, aliases <= DEFAULT_LIMITS.maxAliases]).toEqual([text, true])
      expect([text, cost <= DEFAULT_LIMITS.maxCost]).toEqual([text, true])
    }
  })
})
