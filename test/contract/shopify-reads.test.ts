/** What Shopify does to whoever pages through it, each by its name, and that nothing is lost or doubled by it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  failureOf,
  identitiesOf,
  openShop,
  putCustomers,
  readRecords,
} from '../support/shopify/open-shop.ts'
import { customerFields } from '../support/shopify/shop-rows.ts'
import { type ListeningShop, listenAsShop, StandInShop } from '../support/shopify/stand-in-shop.ts'
import { readPage, readPages, readRange } from './source-suite.ts'

const MINUTE_MS = 60_000
const { signal } = new AbortController()

let listening: ListeningShop
let shop: StandInShop

beforeEach(async () => {
  listening = await listenAsShop()
  shop = listening.shop
})

afterEach(() => listening.close())

const ids = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))

const filters = () => shop.queries.map(({ variables }) => variables['filter'])

describe('the filter by the time of change', () => {
  it('a moment without quotation marks loses its time of day: ours are quoted', async () => {
    putCustomers(shop, 6)
    const reader = await openShop(listening)
    const pages = await readPages(reader, [2])
    expect(pages.map(({ records }) => identitiesOf(records))).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5', '6'],
    ])
    for (const filter of filters().slice(1)) {
      expect(filter).toMatch(/^updated_at:>='\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ'$/)
    }
    expect(shop.settings.quirks.unquotedLosesTime).toBe(true)
  })

  it('a moment with an offset finds nothing, without an error: ours are in UTC', async () => {
    putCustomers(shop, 3)
    const page = await readPage(await openShop(listening), null, 1)
    // The API may show moments with an offset; the position is the same.
    const parts = JSON.parse(page?.to ?? '') as { readonly changedAt: string }
    expect(parts.changedAt).toMatch(/^2026-11-01T11:00:01\.0+Z$/)
    expect(identitiesOf(await readRecords(await openShop(listening), 1, page?.to))).toEqual([
      '2',
      '3',
    ])
  })

  it('more than acts as at least: the row at the boundary is given once', async () => {
    putCustomers(shop, 5)
    const reader = await openShop(listening)
    expect(identitiesOf(await readRecords(reader, 1))).toEqual(ids(1, 5))
  })

  it('rows older than the filter appear: they are dropped', async () => {
    putCustomers(shop, 8)
    shop.settings.quirks.olderRowsThatAppear = 2
    const reader = await openShop(listening)
    expect(identitiesOf(await readRecords(reader, 3))).toEqual(ids(1, 8))
  })
})

describe('the pages', () => {
  it('an inclusive cursor gives its row again: it is given once', async () => {
    putCustomers(shop, 12)
    shop.settings.cursorsAreInclusive = true
    const reader = await openShop(listening, { options: { rowsPerQuery: 2 } })
    expect(identitiesOf(await readRecords(reader, 5))).toEqual(ids(1, 12))
  })

  it('a page loop announces more and gives the same again: the read fails', async () => {
    putCustomers(shop, 6)
    const first = await listFirst()
    shop.settings.beforeAnswer = () => {
      shop.script({ kind: 'answer', status: 200, headers: answerHeaders(), body: first })
    }
    const reader = await openShop(listening, { options: { rowsPerQuery: 2 } })
    const error = await failureOf(readPage(reader, null, 5))
    expect(error).toMatchObject({ code: 'provider_unavailable' })
    expect(error.message).toContain('gives the same again')
  })

  it('half of the data comes beside INTERNAL_SERVER_ERROR: it is no data', async () => {
    putCustomers(shop, 4)
    shop.script({ kind: 'partial' })
    const waits: number[] = []
    const reader = await openShop(listening, { waits })
    expect(identitiesOf(await readRecords(reader, 10))).toEqual(ids(1, 4))
    expect(waits).toEqual([1_000])
  })

  it('a cursor of a parent says nothing of its children: no query pages through two lists', async () => {
    putCustomers(shop, 2)
    const page = await readPage(await openShop(listening), null, 1)
    for (const { query } of shop.queries) {
      expect(query.match(/after: \$after/g)).toHaveLength(1)
    }
    const orders = await openShop(listening, { stream: 'orders' })
    const error = await failureOf(readPage(orders, page?.to ?? '', 1))
    expect(error).toMatchObject({ code: 'node_failed' })
    expect(error.message).toContain('is one of customers of stand-in.myshopify.com, not of orders')
  })

  it('a cursor expires in the middle of a read: it goes on from its own position', async () => {
    putCustomers(shop, 10)
    shop.settings.cursorLifeMs = 1_000
    shop.settings.beforeAnswer = (_, count) => {
      if (count === 3) {
        shop.advance(2_000)
      }
    }
    const reader = await openShop(listening, { options: { rowsPerQuery: 2 } })
    const page = await readPage(reader, null, 9)
    expect(identitiesOf(page?.records ?? [])).toEqual(ids(1, 9))
    expect(filters().filter((filter) => filter !== null)).not.toEqual([])
  })

  it('a row that changes while it is paged moves to the end: its last content is given', async () => {
    putCustomers(shop, 6)
    shop.settings.beforeAnswer = (_, count) => {
      if (count === 2) {
        shop.rows.put('customers', '3', customerFields({ email: 'moved@example.com' }))
        shop.advance(10 * MINUTE_MS)
      }
    }
    const reader = await openShop(listening)
    const records = await readRecords(reader, 2)
    expect(identitiesOf(records)).toEqual(['1', '2', '4', '5', '6', '3'])
    expect(records.at(-1)?.fields).toMatchObject({ email: 'moved@example.com' })
  })

  it('rows in another order than that of their changes are not read from', async () => {
    putCustomers(shop, 4)
    const body = JSON.parse(await listFirst())
    body.data.rows.nodes.reverse()
    shop.script({
      kind: 'answer',
      status: 200,
      headers: answerHeaders(),
      body: JSON.stringify(body),
    })
    const error = await failureOf(readPage(await openShop(listening), null, 5))
    expect(error).toMatchObject({ code: 'provider_unavailable' })
    expect(error.message).toContain('another order')
  })
})

describe('many rows of one moment', () => {
  beforeEach(() => {
    const updatedAtMs = shop.nowMs() - 60 * MINUTE_MS
    for (const id of ids(1, 230)) {
      shop.rows.put('customers', id, customerFields({ email: `c${id}@example.com` }), {
        updatedAtMs,
      })
    }
    shop.settings.restoreRate = 2_000
  })

  it('more than a page of them are read, in whatever order they come', async () => {
    shop.settings.tiesDescend = true
    const reader = await openShop(listening)
    expect(identitiesOf(await readRecords(reader, 50))).toEqual(ids(1, 230))
  })

  it('they are walked through once, not once a page', async () => {
    const reader = await openShop(listening)
    await readRecords(reader, 10)
    expect(shop.queries.length).toBeLessThan(20)
  })

  it('a new reader goes on in the middle of them', async () => {
    const page = await readPage(await openShop(listening), null, 100)
    const rest = await readRecords(await openShop(listening), 100, page?.to)
    expect(identitiesOf(rest)).toEqual(ids(101, 230))
  })

  it('a range within them is read again', async () => {
    const pages = await readPages(await openShop(listening), [60])
    const second = pages[1]
    expect(second).toBeDefined()
    const again = second && (await readRange(await openShop(listening), second))
    expect(again).toEqual(second)
  })
})

describe('the search index', () => {
  it('learns late of a change: nothing younger than the lag is taken as read', async () => {
    putCustomers(shop, 3)
    const late = { indexLagMs: 2 * MINUTE_MS }
    shop.rows.put('customers', '4', customerFields({ email: 'late@example.com' }), late)
    shop.advance(1_000)
    shop.rows.put('customers', '5', customerFields({ email: 'early@example.com' }))
    shop.advance(MINUTE_MS)
    const reader = await openShop(listening)
    const pages = await readPages(reader, [10])
    expect(pages.flatMap(({ records }) => identitiesOf(records))).toEqual(['1', '2', '3'])
    shop.advance(10 * MINUTE_MS)
    const rest = await readRecords(await openShop(listening), 10, pages.at(-1)?.to)
    expect(identitiesOf(rest)).toEqual(['4', '5'])
  })

  it('learns late of a change: without a lag the row is lost', async () => {
    putCustomers(shop, 3)
    const late = { indexLagMs: 2 * MINUTE_MS }
    shop.rows.put('customers', '4', customerFields({ email: 'late@example.com' }), late)
    shop.advance(1_000)
    shop.rows.put('customers', '5', customerFields({ email: 'early@example.com' }))
    shop.advance(MINUTE_MS)
    const options = { lagMs: 0 }
    const pages = await readPages(await openShop(listening, { options }), [10])
    shop.advance(10 * MINUTE_MS)
    const reader = await openShop(listening, { options })
    expect(identitiesOf(await readRecords(reader, 10, pages.at(-1)?.to))).toEqual([])
    expect(pages.flatMap(({ records }) => identitiesOf(records))).not.toContain('4')
  })

  it('is behind with a row that shows its new content: the position does not follow it', async () => {
    putCustomers(shop, 6)
    shop.rows.put('customers', '2', customerFields({ email: 'new@example.com' }), {
      indexLagMs: 2 * MINUTE_MS,
    })
    const reader = await openShop(listening, { options: { rowsPerQuery: 2 } })
    const pages = await readPages(reader, [2])
    expect(pages.flatMap(({ records }) => identitiesOf(records))).toEqual(['1', '3', '4', '5', '6'])
    shop.advance(10 * MINUTE_MS)
    const rest = await readRecords(reader, 2, pages.at(-1)?.to)
    expect(identitiesOf(rest)).toEqual(['2'])
  })

  it('is told from by the clock of Shopify, not by ours', async () => {
    const early = await listenAsShop(new StandInShop(() => Date.UTC(2020, 1, 1)))
    try {
      putCustomers(early.shop, 2)
      early.shop.rows.put('customers', '3', customerFields({ email: 'young@example.com' }))
      const reader = await openShop(early)
      expect(identitiesOf(await readRecords(reader, 10))).toEqual(['1', '2'])
    } finally {
      await early.close()
    }
  })
})

describe('a range that is read again', () => {
  it('holds what lies there now: rows that moved on are gone from it, and come again', async () => {
    putCustomers(shop, 4)
    const reader = await openShop(listening)
    const page = await readPage(reader, null, 3)
    shop.rows.put('customers', '2', customerFields({ email: 'moved@example.com' }))
    shop.rows.remove('customers', '3')
    const again = page && (await readRange(reader, page))
    expect(again).toMatchObject({ kind: 'page', from: page?.from, to: page?.to })
    expect(again?.kind === 'page' ? identitiesOf(again.records) : []).toEqual(['1'])
    shop.advance(10 * MINUTE_MS)
    expect(identitiesOf(await readRecords(reader, 3, page?.to))).toEqual(['4', '2'])
  })

  it('is complete also where all that follows has just changed', async () => {
    putCustomers(shop, 3)
    const reader = await openShop(listening, { options: { rowsPerQuery: 2 } })
    const page = await readPage(reader, null, 3)
    for (const id of ids(4, 12)) {
      shop.rows.put('customers', id, customerFields({ email: `c${id}@example.com` }))
    }
    expect(page && (await readRange(reader, page))).toEqual(page)
  })
})

/** The body of the first page of two, as the shop gives it. */
async function listFirst(): Promise<string> {
  const asked = await openShop(listening, { options: { rowsPerQuery: 2 } })
  await asked.readPage({ from: null, limit: 1, to: null, signal })
  const [first] = shop.queries
  const response = await fetch(`${listening.url}/admin/api/2026-10/graphql.json`, {
    method: 'POST',
    headers: { 'x-shopify-access-token': 'shpat_stand_in_0' },
    body: JSON.stringify({ query: first?.query, variables: first?.variables }),
  })
  return await response.text()
}

function answerHeaders(): Readonly<Record<string, string>> {
  return { 'x-shopify-api-version': '2026-10' }
}
