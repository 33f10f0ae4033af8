/** Everything that is known to go wrong with Shopify is a test by its name; what has none is named here. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** Behaviour of Shopify, and words of the test's name that attacks it. */
const BEHAVIOURS: readonly (readonly [behaviour: string, test: string])[] = [
  [
    'unquoted moments lose their time',
    'without quotation marks loses its time of day: ours are quoted',
  ],
  [
    'other offsets than Z find nothing',
    'with an offset finds nothing, without an error: ours are in UTC',
  ],
  ['> acts as >=', 'more than acts as at least: the row at the boundary is given once'],
  ['older rows than the filter says', 'rows older than the filter appear: they are dropped'],
  ['inclusive cursors', 'an inclusive cursor gives its row again: it is given once'],
  ['page loops', 'a page loop announces more and gives the same again'],
  ['partial data beside an error', 'half of the data comes beside INTERNAL_SERVER_ERROR'],
  ['cursors of parents and children', 'a cursor of a parent says nothing of its children'],
  ['aliases of shops', 'a shop alias leads to another host'],
  ['intermittent internal errors', 'one query in so many ends in INTERNAL_SERVER_ERROR'],
  ['THROTTLED with 200', 'THROTTLED comes with HTTP 200: the read waits as long as'],
  ['cursors that expire', 'a cursor expires in the middle of a read'],
  ['an index that lags', 'learns late of a change: nothing younger than the lag is taken as read'],
  ['an index that shows new content', 'is behind with a row that shows its new content'],
  ['rows that move while paged', 'a row that changes while it is paged moves to the end'],
  ['ties over a page', 'more than a page of them are read, in whatever order they come'],
  ['Retry-After in parts of seconds', 'asks to slow down, in parts of seconds'],
  ['MAX_COST_EXCEEDED', 'a query costs more than one may'],
  ['a frozen shop', '402: the shop is frozen'],
  ['a locked shop', '423: the shop is locked'],
  ['an inactive shop', 'SHOP_INACTIVE'],
  ['a version that falls forward', 'a version that has run out is answered by another one'],
  ['a version that is deprecated', 'a version that is about to run out is told in the log'],
  ['ACCESS_DENIED', 'ACCESS_DENIED beside half of the data ends the read'],
  ['redacted without an error', 'that is redacted without a word is noticed'],
  ['no e-mail or no permission', 'e-mail of a shop where nobody has one is left out, not null'],
  ['tokens that end in mid-run', 'ends in the middle of a run: the read goes on, and both tokens'],
  ['refresh tokens that rotate', 'is renewed by two at once: what is stored stands for both'],
  ['fields of one version only', 'of 2026-10 are not valid in 2026-07'],
]

const contract = new URL('../contract/', import.meta.url)
const tests = readdirSync(contract)
  .filter((file) => file.startsWith('shopify-'))
  .map((file) => readFileSync(new URL(file, contract), 'utf8'))
  .join('\n')

describe('what goes wrong with Shopify', () => {
  it.each(BEHAVIOURS)('%s is a test by its name', (_, name) => {
    expect(tests).toContain(name)
  })

  it('reads by pages only: bulk operations, which are cut without a word, are not used', () => {
    const sources = new URL('../../src/connectors/sources/shopify/', import.meta.url)
    for (const file of readdirSync(sources)) {
      expect(readFileSync(new URL(file, sources), 'utf8')).not.toMatch(/bulkOperation/)
    }
  })
})
