/** What Shopify answers when it does not simply answer, and what becomes of the read. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Bucket, CallGate, Toll } from '../../src/connectors/call-gate.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import type { Protected } from '../support/shopify/admin-resolvers.ts'
import {
  failureOf,
  identitiesOf,
  openShop,
  putCustomers,
  readRecords,
  shopConnection,
  shopSource,
} from '../support/shopify/open-shop.ts'
import { customerFields, orderFields } from '../support/shopify/shop-rows.ts'
import {
  type ListeningShop,
  listenAsShop,
  type ShopReaction,
  type StandInShop,
} from '../support/shopify/stand-in-shop.ts'
import { readPage } from './source-suite.ts'

let listening: ListeningShop
let shop: StandInShop

beforeEach(async () => {
  listening = await listenAsShop()
  shop = listening.shop
})

afterEach(() => listening.close())

const status = (code: number, body = '{}', headers: Readonly<Record<string, string>> = {}) =>
  ({ kind: 'answer', status: code, body, headers }) satisfies ShopReaction

async function readAfter(...reactions: readonly ShopReaction[]) {
  putCustomers(shop, 3)
  shop.script(...reactions)
  const waits: number[] = []
  const reader = await openShop(listening, { waits })
  return { waits, read: readPage(reader, null, 3) }
}

describe('the leaky bucket', () => {
  it('THROTTLED comes with HTTP 200: the read waits as long as the bucket needs', async () => {
    putCustomers(shop, 3)
    shop.drain(0)
    const waits: number[] = []
    const reader = await openShop(listening, { waits })
    expect(identitiesOf(await readRecords(reader, 3))).toEqual(['1', '2', '3'])
    // 4 rows of 7 points and 34 beside them, 100 points a second.
    expect(waits[0]).toBe(620)
  })

  it('THROTTLED for too long ends the attempt with the wait that is missing', async () => {
    putCustomers(shop, 3)
    shop.settings.restoreRate = 0.5
    shop.drain(0)
    const error = await failureOf(readPage(await openShop(listening), null, 3))
    expect(error).toMatchObject({ code: 'provider_rate_limited', retryAfterMs: 124_000 })
  })

  it('a query costs more than one may: fewer rows are asked for', async () => {
    putCustomers(shop, 200)
    const reader = await openShop(listening, { options: { rowsPerQuery: 250 } })
    const page = await readPage(reader, null, 200)
    expect(page?.records).toHaveLength(200)
    const asked = shop.queries.map(({ variables }) => variables['first'])
    expect(asked.slice(0, 2)).toEqual([201, 100])
  })

  it('the gate is asked for what a query costs, and told what is left', async () => {
    putCustomers(shop, 3)
    const tolls: Toll[] = []
    const told: [Bucket, number][] = []
    const gate: CallGate = {
      take: () => Promise.resolve({ kind: 'go' }),
      enter: (taken) => Promise.resolve(void tolls.push(...taken)),
      correct: (bucket, left) => Promise.resolve(void told.push([bucket, left])),
      block: () => Promise.resolve(),
      note: () => Promise.resolve(),
    }
    const reader = await openShop(listening, { openGate: () => gate })
    await readPage(reader, null, 3)
    expect(tolls.map(({ tokens }) => tokens)).toEqual([62])
    const bucket = { name: 'admin-graphql', capacity: 2_000, refillPerSecond: 100 }
    expect(told).toEqual([[bucket, 1_938]])
  })

  it.each([429, 430])('%i asks to slow down, in parts of seconds', async (code) => {
    const { waits, read } = await readAfter(status(code, '{}', { 'retry-after': '2.5' }))
    expect((await read)?.records).toHaveLength(3)
    expect(waits).toEqual([2_500])
  })

  it('429 for a long time ends the attempt with that wait', async () => {
    const { read } = await readAfter(status(429, '{}', { 'retry-after': '300' }))
    const error = await failureOf(read)
    expect(error).toMatchObject({ code: 'provider_rate_limited', retryAfterMs: 300_000 })
  })
})

describe('what passes', () => {
  it('one query in so many ends in INTERNAL_SERVER_ERROR: it is asked again', async () => {
    putCustomers(shop, 30)
    shop.settings.internalErrorEvery = 3
    const reader = await openShop(listening)
    expect(await readRecords(reader, 2)).toHaveLength(30)
  })

  it.each<[string, ShopReaction]>([
    ['a web page', status(200, '<html>Just a moment…</html>', { 'content-type': 'text/html' })],
    ['502', status(502, 'bad gateway')],
    ['a reset', { kind: 'reset' }],
    ['half a body', status(200, '{"data":{"rows"')],
    ['200 without data', status(200, '{}')],
    ['INTERNAL_SERVER_ERROR', { kind: 'error', code: 'INTERNAL_SERVER_ERROR' }],
  ])('%s is asked again, four times in all', async (_, reaction) => {
    const { waits, read } = await readAfter(reaction, reaction, reaction)
    expect((await read)?.records).toHaveLength(3)
    expect(waits).toEqual([1_000, 2_000, 4_000])
    shop.script(reaction, reaction, reaction, reaction)
    const error = await failureOf(readPage(await openShop(listening), null, 3))
    expect(error).toMatchObject({ code: 'provider_unavailable' })
    expect(shop.queries).toHaveLength(8)
  })
})

describe('what somebody has to mend', () => {
  it.each<[string, ShopReaction, string, string]>([
    ['402: the shop is frozen', status(402), 'node_failed', 'frozen until its owner has paid'],
    ['423: the shop is locked', status(423), 'node_failed', 'its owner has to ask Shopify why'],
    [
      'SHOP_INACTIVE',
      { kind: 'error', code: 'SHOP_INACTIVE' },
      'node_failed',
      'has to open it again',
    ],
    ['404: no such shop', status(404), 'node_failed', 'check shop and apiVersion'],
    ['403', status(403, '{"errors":"no"}'), 'connection_unauthorized', 'answered 403: no'],
    ['an unknown refusal', { kind: 'error', code: 'BAD_REQUEST' }, 'node_failed', 'BAD_REQUEST'],
  ])('%s ends the read at once', async (_, reaction, code, words) => {
    const { waits, read } = await readAfter(reaction)
    const error = await failureOf(read)
    expect(error.code).toBe(code)
    expect(error.message).toContain(words)
    expect(waits).toEqual([])
    expect(shop.queries).toHaveLength(1)
  })

  it('a shop alias leads to another host: it is named, and the token is not sent there', async () => {
    putCustomers(shop, 1)
    shop.settings.redirectTo = 'real-name.myshopify.com'
    const error = await failureOf(readPage(await openShop(listening), null, 1))
    expect(error.code).toBe('node_failed')
    expect(error.message).toContain('real-name.myshopify.com; connect that domain')
  })

  it('a version that has run out is answered by another one: nothing of it is read', async () => {
    putCustomers(shop, 1)
    shop.settings.supported = ['2026-10']
    const reader = await openShop(listening, { config: { apiVersion: '2026-07' } })
    const error = await failureOf(readPage(reader, null, 1))
    expect(error.code).toBe('node_failed')
    expect(error.message).toContain('version 2026-07 of its API and answered with version 2026-10')
  })

  it('a version that is about to run out is told in the log, once', async () => {
    putCustomers(shop, 4)
    shop.settings.deprecatedReason = 'https://shopify.dev/api/usage/versioning'
    const logger = createRecordingLogger()
    await readRecords(await openShop(listening, { logger }), 2)
    expect(logger.events.filter(({ event }) => event === 'source.deprecated')).toHaveLength(1)
  })

  it('testConnection asks for the name of the shop, and says what is wrong', async () => {
    const source = shopSource(listening)
    await source.testConnection(shopConnection())
    expect(shop.queries.map(({ query }) => query)).toEqual([
      'query TestConnection { shop { name } }',
    ])
    const credentials = { accessToken: 'shpat_wrong' }
    const error = await failureOf(source.testConnection(shopConnection({ credentials })))
    expect(error.code).toBe('connection_unauthorized')
  })
})

describe('protected data', () => {
  const read = async (stream: 'customers' | 'orders' = 'customers') =>
    (await readRecords(await openShop(listening, { stream }), 10)).map(({ fields }) => fields ?? {})

  /** Two with everything, one without anything. */
  function putAll(): void {
    const updatedAtMs = shop.nowMs() - 3_600_000
    const look = { email: 'a@example.com', phone: '+4930123456', firstName: 'Ada', city: 'Berlin' }
    for (const id of ['1', '2']) {
      shop.rows.put('customers', id, customerFields(look), { updatedAtMs })
    }
    shop.rows.put('customers', '3', customerFields(), { updatedAtMs })
    shop.rows.put('orders', '7', orderFields({ customerId: '1' }), { updatedAtMs })
  }

  it('null is given where there is nothing, and where it is known that there is nothing', async () => {
    putAll()
    const [full, , bare] = await read()
    expect(full).toMatchObject({ email: 'a@example.com', phone: '+4930123456', firstName: 'Ada' })
    expect(bare).toMatchObject({
      email: null,
      emailMarketingState: null,
      phone: null,
      smsMarketingState: null,
      firstName: null,
      address: null,
    })
  })

  it.each<[Protected, string]>([
    ['email', 'e-mail addresses'],
    ['phone', 'telephone numbers'],
  ])('%s that is redacted without a word is noticed, and nothing is given', async (data, words) => {
    putAll()
    shop.settings.redacted.add(data)
    for (const stream of ['customers', 'orders'] as const) {
      const error = await failureOf(read(stream))
      expect(error.code).toBe('connection_unauthorized')
      expect(error.message).toContain(`hides the ${words}`)
      expect(error.message).toContain('protected customer data')
    }
  })

  it('what is redacted in the middle of a run is noticed, too', async () => {
    putCustomers(shop, 6)
    const reader = await openShop(listening)
    const page = await readPage(reader, null, 2)
    shop.settings.redacted.add('email')
    const error = await failureOf(readPage(reader, page?.to ?? '', 2))
    expect(error.code).toBe('connection_unauthorized')
  })

  it.each<[Protected, readonly string[]]>([
    ['name', ['firstName', 'lastName']],
    ['address', ['address']],
    ['addressLines', ['address']],
  ])(
    '%s of which nobody can tell whether it is hidden is left out, not null',
    async (data, names) => {
      putAll()
      shop.settings.redacted.add(data)
      for (const fields of await read()) {
        expect(Object.keys(fields).filter((name) => names.includes(name))).toEqual([])
      }
    },
  )

  it('e-mail of a shop where nobody has one is left out, not null', async () => {
    const updatedAtMs = shop.nowMs() - 3_600_000
    shop.rows.put('customers', '1', customerFields({ firstName: 'Ada' }), { updatedAtMs })
    const [fields] = await read()
    expect(Object.keys(fields ?? {}).filter((name) => /^(?:email|phone|sms)/.test(name))).toEqual(
      [],
    )
  })

  it('ACCESS_DENIED beside half of the data ends the read and says what to ask for', async () => {
    putAll()
    shop.settings.denied.add('email')
    const error = await failureOf(read())
    expect(error.code).toBe('connection_unauthorized')
    expect(error.message).toContain('to defaultEmailAddress (ACCESS_DENIED)')
    expect(error.message).toContain('ask in Shopify')
  })

  it('customers who may not be seen at all end the read, of orders, too', async () => {
    putAll()
    shop.settings.deniesCustomers = true
    for (const stream of ['customers', 'orders'] as const) {
      expect((await failureOf(read(stream))).code).toBe('connection_unauthorized')
    }
  })

  it('no reason names a person or a secret', async () => {
    putAll()
    const errors = [{ message: 'ada@example.com shpat_0123456789abcdef', extensions: {} }]
    shop.script(status(200, JSON.stringify({ errors })))
    const { message } = await failureOf(read())
    expect(message).not.toMatch(/ada@|shpat_0/)
  })
})

describe('the records', () => {
  it.each(['2026-07', '2026-10'])('are the same whatever the version: %s', async (apiVersion) => {
    const updatedAtMs = shop.nowMs() - 3_600_000
    const look = { email: 'a@example.com', phone: '+4930123456', firstName: 'Ada', city: 'Berlin' }
    shop.rows.put('customers', '9007199254740993', customerFields(look), { updatedAtMs })
    const reader = await openShop(listening, { config: { apiVersion } })
    const [record] = await readRecords(reader, 1)
    expect(record?.identity).toBe('9007199254740993')
    expect(record?.fields).toEqual(ADA)
    expect(Object.keys(record?.fields ?? {})).toEqual(await reader.listFields())
  })

  it('of orders name their customer, and give money as decimal text', async () => {
    const updatedAtMs = shop.nowMs() - 3_600_000
    shop.rows.put('customers', '1', customerFields({ email: 'a@example.com', city: 'Berlin' }), {
      updatedAtMs,
    })
    const look = { customerId: '1', email: 'a@example.com', total: '0.10' }
    shop.rows.put('orders', '7', orderFields(look), { updatedAtMs })
    const reader = await openShop(listening, { stream: 'orders' })
    const [record] = await readRecords(reader, 1)
    expect(record?.fields).toMatchObject({
      id: '7',
      customerId: '1',
      email: 'a@example.com',
      currentTotalPrice: '0.10',
      shippingAddress: null,
    })
    const names = await reader.listFields()
    expect(Object.keys(record?.fields ?? {})).toEqual(names?.filter((name) => name !== 'phone'))
  })
})

const CONSENT = {
  OptInLevel: 'CONFIRMED_OPT_IN',
  UpdatedAt: '2026-01-05T08:00:00Z',
  CollectedFrom: 'SHOPIFY',
}

const ADA: JsonObject = {
  id: '9007199254740993',
  createdAt: '2026-11-01T11:00:00Z',
  updatedAt: '2026-11-01T11:00:00Z',
  firstName: 'Ada',
  lastName: null,
  email: 'a@example.com',
  emailHasValidFormat: true,
  emailMarketingState: 'SUBSCRIBED',
  emailMarketingOptInLevel: 'SINGLE_OPT_IN',
  emailMarketingUpdatedAt: CONSENT.UpdatedAt,
  phone: '+4930123456',
  smsMarketingState: 'SUBSCRIBED',
  smsMarketingOptInLevel: CONSENT.OptInLevel,
  smsMarketingUpdatedAt: CONSENT.UpdatedAt,
  smsMarketingCollectedFrom: CONSENT.CollectedFrom,
  whatsAppMarketingState: 'NEVER_SUBSCRIBED',
  whatsAppMarketingOptInLevel: null,
  whatsAppMarketingUpdatedAt: null,
  whatsAppMarketingCollectedFrom: null,
  address: {
    address1: 'Hauptstraße 1',
    address2: null,
    city: 'Berlin',
    company: null,
    countryCode: 'DE',
    provinceCode: null,
    zip: '10115',
  },
  amountSpent: '1204.50',
  amountSpentCurrency: 'EUR',
  numberOfOrders: '9007199254740993',
  locale: 'de',
  note: null,
  state: 'ENABLED',
  tags: [],
  taxExempt: false,
  verifiedEmail: true,
}
