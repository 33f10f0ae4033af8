/** The http source keeps the contract of sources, whichever way the API pages. */

import * as fc from 'fast-check'
import { afterAll } from 'vitest'
import { createHttpSource } from '../../src/connectors/sources/http/http-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import { type PagedApiOptions, startPagedApi } from '../support/paged-api.ts'
import { describeSource } from './source-suite.ts'

const client = createLocalClient()
/** No moment passes between two readings that are compared. */
const source = createHttpSource({ client, clock: createHandClock() })
afterAll(() => client.close())

const listed = { recordsPath: 'items', identityField: 'key' }
const counted = { ...listed, paging: 'PAGE', pageParameter: 'page' }
const byToken = { paging: 'CURSOR', nextPath: 'paging.next', cursorParameter: 'cursor' }

const WAYS: readonly (readonly [string, PagedApiOptions, JsonObject])[] = [
  ['CURSOR', { by: 'TOKEN' }, { ...listed, ...byToken }],
  ['PAGE', { by: 'NUMBER' }, counted],
  [
    'LINK',
    { by: 'LINK' },
    { identityField: 'key', paging: 'LINK', sizeParameter: 'size', size: 2 },
  ],
  [
    'CURSOR with a watermark',
    { by: 'TOKEN', isTokenOnLastPage: true },
    { ...listed, ...byToken, watermarkField: 'at', watermarkParameter: 'since' },
  ],
]

const rows = fc
  .array(
    fc.record({
      name: fc.string({ maxLength: 4 }),
      /** Now and then it is no record. */
      key: fc.option(fc.constantFrom('a', 'b'), { freq: 6 }),
      minute: fc.integer({ min: 10, max: 50 }),
    }),
    { maxLength: 7 },
  )
  .map((all) =>
    all.map(({ name, key, minute }, id) => {
      return { id, name, key: key && key + id, at: `2026-01-01T00:${minute}:00.000001Z` }
    }),
  )

for (const [name, api, options] of WAYS) {
  describeSource({
    name: `http (${name})`,
    content: rows,
    count: (all) => all.length,
    create: async (all) => {
      const standIn = await startPagedApi(api)
      standIn.rows = [...all]
      return {
        open: () =>
          source.open({
            ...openConnection({ config: { baseUrl: standIn.baseUrl } }),
            stream: '/people',
            options: source.streamOptions.parse(options),
          }),
        dispose: () => standIn.close(),
      }
    },
  })
}
