/** What the settings of an http source accept, and how each bad one is named. */

import { afterAll, describe, expect, it } from 'vitest'
import { createHttpSource } from '../../src/connectors/sources/http/http-source.ts'
import { createLocalClient } from '../support/local-client.ts'

const client = createLocalClient()
const source = createHttpSource({ client })
afterAll(() => client.close())

const tokens = {
  ...{ paging: 'CURSOR', nextPath: 'next', cursorParameter: 'after', identityField: 'id' },
}
const numbers = { paging: 'PAGE', pageParameter: 'page', identityField: 'id' }
const links = { paging: 'LINK', identityField: 'id' }

describe('the settings of an http source', () => {
  const messagesOf = (options: unknown) =>
    source.streamOptions.safeParse(options).error?.issues.map(({ message }) => message)

  it.each([
    { ...tokens, recordsPath: 'data.items', hasMorePath: 'more', sizeParameter: 'limit', size: 50 },
    { ...numbers, counting: 'RECORDS', firstPage: 0, query: { status: 'active' } },
    { ...links, nextPath: 'links.next', watermarkField: 'at', watermarkParameter: 'since' },
  ])('take %j', (options) => {
    expect(source.streamOptions.parse(options)).toMatchObject(options)
  })

  it.each<[object, string]>([
    [{ paging: 'LINK' }, 'identityField must be a text of 1 to 200 characters.'],
    [{ identityField: 'id' }, 'paging must be one of "CURSOR", "PAGE", "LINK".'],
    [{ ...links, identityField: 'a..b' }, 'identityField must be a path such as "data.items".'],
    [{ ...tokens, nextPath: undefined }, 'nextPath must be given with the paging CURSOR.'],
    [
      { ...tokens, cursorParameter: undefined },
      'cursorParameter must be given with the paging CURSOR.',
    ],
    [{ ...numbers, nextPath: 'x' }, 'nextPath must only be given with the paging CURSOR or LINK.'],
    [{ ...numbers, pageParameter: undefined }, 'pageParameter must be given with the paging PAGE.'],
    [{ ...links, firstPage: 1 }, 'firstPage must only be given with the paging PAGE.'],
    [
      { ...links, watermarkField: 'at' },
      'watermarkField and watermarkParameter must be given together.',
    ],
    [{ ...numbers, query: { page: '7' } }, 'The parameter "page" must only be named once.'],
    [{ ...numbers, sizeParameter: 'page' }, 'The parameter "page" must only be named once.'],
    [{ ...links, query: { a: 7 } }, 'query must be an object of at most 50 texts.'],
    [{ ...links, query: ['a'] }, 'query must be an object of at most 50 texts.'],
    [{ ...links, maxPages: 0 }, 'maxPages must be a whole number from 1 to 100000.'],
  ])('refuse %j', (options, message) => {
    expect(messagesOf(options)).toEqual([message])
  })

  it.each(['people', '//example.com', '/a/../b', '/a?b=1'])(
    'refuse the stream %s',
    async (stream) => {
      expect(await source.describeStreamProblem(stream, links)).toMatch(/^The stream must .+\.$/)
    },
  )

  it('take a stream that is a path', async () => {
    expect(await source.describeStreamProblem('/v1/people', links)).toBeNull()
  })
})
