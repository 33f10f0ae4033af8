/**
 * A shop that changes while it is read: rows are made and changed, several in one second, the search index learns of them
 * late, pages are read, read again and read by others, and changes fall between two queries of one page. Whatever comes,
 * the last content that each row had is the last that was delivered of it.
 */
import * as fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import type { ReadResult, SourceReader } from '../../src/connectors/source.ts'
import { openShop } from '../support/shopify/open-shop.ts'
import { customerFields } from '../support/shopify/shop-rows.ts'
import { FIRST_TOKEN } from '../support/shopify/shop-tokens.ts'
import {
  type ListeningShop,
  listenAsShop,
  type StandInShop,
} from '../support/shopify/stand-in-shop.ts'

const SCHEDULES = inject('isExhaustive') ? 300 : 30
/** So late may the index be, in seconds; the source leaves more. */
const MAX_INDEX_LAG = 20
const LAG_MS = 30_000

interface Change {
  readonly id: number
  readonly indexLag: number
}

type Step =
  | { readonly kind: 'change'; readonly change: Change }
  | { readonly kind: 'pass'; readonly seconds: number }
  /** A page; between its first and its second query the shop changes. */
  | { readonly kind: 'read'; readonly limit: number; readonly meanwhile: readonly Change[] }
  /** A page that was read before, once more. */
  | { readonly kind: 'readAgain'; readonly which: number }
  /** Another process reads on. */
  | { readonly kind: 'handOver' }

const change: fc.Arbitrary<Change> = fc.record({
  id: fc.integer({ min: 1, max: 9 }),
  indexLag: fc.integer({ min: 0, max: MAX_INDEX_LAG }),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('change'), change }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass'),
      seconds: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(40)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read'),
      limit: fc.integer({ min: 1, max: 4 }),
      meanwhile: fc.array(change, { maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('readAgain'), which: fc.nat({ max: 20 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('handOver') }) },
)

const schedule = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 40 }),
  rowsPerQuery: fc.constantFrom(2, 3, 100),
  tiesDescend: fc.boolean(),
  cursorsAreInclusive: fc.boolean(),
  olderRowsThatAppear: fc.nat({ max: 2 }),
})

type Schedule = typeof schedule extends fc.Arbitrary<infer Value> ? Value : never

/** What reads on from where it stood: the source, or one that is made wrong on purpose. */
interface Reading {
  /** False: nothing more for now. */
  next(limit: number): Promise<boolean>
  again(which: number): Promise<void>
  handOver(): Promise<void>
}

type Deliver = (identity: string, note: unknown) => void
type StartReading = (listening: ListeningShop, of: Schedule, deliver: Deliver) => Promise<Reading>

/** Ids whose last content is not the last that was delivered. */
async function findLost(of: Schedule, start: StartReading): Promise<readonly string[]> {
  const listening = await listenAsShop()
  try {
    const { shop } = listening
    Object.assign(shop.settings, {
      tiesDescend: of.tiesDescend,
      cursorsAreInclusive: of.cursorsAreInclusive,
      restoreRate: 100_000,
    })
    shop.settings.quirks.olderRowsThatAppear = of.olderRowsThatAppear
    const delivered = new Map<string, unknown>()
    const reading = await start(listening, of, (identity, note) => delivered.set(identity, note))
    let version = 0
    const apply = ({ id, indexLag }: Change) => {
      version += 1
      const fields = customerFields({ email: `c${id}@example.com`, note: `v${version}` })
      shop.rows.put('customers', String(id), fields, { indexLagMs: indexLag * 1000 })
    }
    for (const one of of.steps) {
      await take(one, { shop, reading, apply })
    }
    shop.advance(10 * LAG_MS)
    while (await reading.next(3)) {
      // Until nothing more comes.
    }
    return shop.rows
      .all('customers')
      .filter(({ id, fields }) => delivered.get(id) !== fields['note'])
      .map(({ id }) => id)
  } finally {
    await listening.close()
  }
}

async function take(
  one: Step,
  on: {
    readonly shop: StandInShop
    readonly reading: Reading
    apply(change: Change): void
  },
): Promise<void> {
  switch (one.kind) {
    case 'change':
      on.apply(one.change)
      return
    case 'pass':
      on.shop.advance(one.seconds * 1000)
      return
    case 'read': {
      let queries = 0
      on.shop.settings.beforeAnswer = () => {
        queries += 1
        if (queries === 2) {
          one.meanwhile.forEach(on.apply)
        }
      }
      await on.reading.next(one.limit)
      on.shop.settings.beforeAnswer = () => undefined
      return
    }
    case 'readAgain':
      await on.reading.again(one.which)
      return
    case 'handOver':
      await on.reading.handOver()
      return
  }
}

const sourceWith =
  (lagMs: number): StartReading =>
  async (listening, { rowsPerQuery }, deliver) => {
    const { signal } = new AbortController()
    const open = () => openShop(listening, { options: { rowsPerQuery, lagMs } })
    let reader: SourceReader = await open()
    let cursor: string | null = null
    const pages: Extract<ReadResult, { kind: 'page' }>[] = []
    const deliverPage = (result: ReadResult) => {
      for (const { identity, fields } of result.kind === 'page' ? result.records : []) {
        deliver(identity, fields?.['note'])
      }
    }
    return {
      next: async (limit) => {
        const result = await reader.readPage({ from: cursor, limit, to: null, signal })
        deliverPage(result)
        if (result.kind === 'page') {
          cursor = result.to
          pages.push(result)
        }
        return result.kind === 'page'
      },
      again: async (which) => {
        const page = pages[which % Math.max(pages.length, 1)]
        if (page) {
          const { from, to } = page
          deliverPage(await reader.readPage({ from, to, limit: 2, signal }))
        }
      },
      handOver: async () => {
        await reader.close()
        reader = await open()
      },
    }
  }

const STRICT_QUERY = `query Strict($first: Int!, $filter: String) {
  customers(first: $first, query: $filter, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt note }
  }
}`

/** Remembers the time of the last row and asks for what is later: nothing of the id, nothing of a lag. */
const strictWatermark: StartReading = ({ url, shop }, _, deliver) => {
  shop.settings.quirks.moreThanIsAtLeast = false
  let watermark = '1970-01-01T00:00:00Z'
  const next = async (first: number) => {
    const response = await fetch(`${url}/admin/api/2026-10/graphql.json`, {
      method: 'POST',
      headers: { 'x-shopify-access-token': FIRST_TOKEN },
      body: JSON.stringify({
        query: STRICT_QUERY,
        variables: { first, filter: `updated_at:>'${watermark}'` },
      }),
    })
    const { data } = (await response.json()) as {
      readonly data: { readonly customers: { readonly nodes: readonly Record<string, string>[] } }
    }
    const before = watermark
    for (const { legacyResourceId = '', updatedAt = '', note } of data.customers.nodes) {
      deliver(legacyResourceId, note)
      watermark = updatedAt > watermark ? updatedAt : watermark
    }
    return watermark !== before
  }
  return Promise.resolve({
    next,
    again: () => Promise.resolve(),
    handOver: () => Promise.resolve(),
  })
}

const losesNothing = (start: StartReading) =>
  fc.asyncProperty(schedule, async (of) => {
    expect(await findLost(of, start)).toEqual([])
  })

describe('a shop that changes while it is read', () => {
  it(
    'the last content of every row is delivered, and is the last that is',
    { timeout: 300_000 },
    () => fc.assert(losesNothing(sourceWith(LAG_MS)), { numRuns: SCHEDULES }),
  )

  it('control: a strict watermark without an id and a lag loses some', async () => {
    const result = await fc.check(losesNothing(strictWatermark), {
      numRuns: 300,
      endOnFailure: true,
    })
    expect(result.failed).toBe(true)
  })

  it('control: without a lag what the index learns late is lost', async () => {
    const result = await fc.check(losesNothing(sourceWith(0)), { numRuns: 300, endOnFailure: true })
    expect(result.failed).toBe(true)
  })
})
