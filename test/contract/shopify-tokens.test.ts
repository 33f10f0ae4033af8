/** Tokens end in the middle of a run, and other processes renew them, too: the read goes on and no token is lost. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeptCredentials } from '../../src/connectors/connector.ts'
import { createShopifySource } from '../../src/connectors/sources/shopify/shopify-source.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { keepInMemory } from '../support/open-connection.ts'
import {
  failureOf,
  identitiesOf,
  openShop,
  putCustomers,
  readRecords,
} from '../support/shopify/open-shop.ts'
import { CLIENT, FIRST_REFRESH_TOKEN, FIRST_TOKEN } from '../support/shopify/shop-tokens.ts'
import {
  type ListeningShop,
  listenAsShop,
  type StandInShop,
} from '../support/shopify/stand-in-shop.ts'
import { readPage } from './source-suite.ts'

let listening: ListeningShop
let shop: StandInShop

beforeEach(async () => {
  listening = await listenAsShop()
  shop = listening.shop
  putCustomers(shop, 6)
})

afterEach(() => listening.close())

const ids = ['1', '2', '3', '4', '5', '6']
const renewed: JsonObject = {
  ...CLIENT,
  accessToken: FIRST_TOKEN,
  refreshToken: FIRST_REFRESH_TOKEN,
}

/** Every token that was given out ends before the second query. */
function expireOnce(): void {
  shop.settings.beforeAnswer = (_, count) => {
    if (count === 1) {
      shop.tokens.expireAll()
    }
  }
}

describe('a token that lasts', () => {
  it('is not renewed: once it is refused the connection is unauthorized', async () => {
    expireOnce()
    const reader = await openShop(listening)
    const page = await readPage(reader, null, 2)
    const error = await failureOf(readPage(reader, page?.to ?? '', 2))
    expect(error.code).toBe('connection_unauthorized')
    expect(shop.tokens.grants).toEqual([])
  })
})

describe('a token by client credentials', () => {
  it('is fetched for a reader, and again when it ends in the middle of a run', async () => {
    expireOnce()
    const reader = await openShop(listening, { credentials: CLIENT })
    expect(identitiesOf(await readRecords(reader, 2))).toEqual(ids)
    expect(shop.tokens.grants).toEqual(['client_credentials', 'client_credentials'])
  })

  it('is refused a second time: the connection is unauthorized', async () => {
    const reader = await openShop(listening, { credentials: CLIENT })
    shop.tokens.isValid = () => false
    const error = await failureOf(readPage(reader, null, 2))
    expect(error.code).toBe('connection_unauthorized')
    expect(shop.tokens.grants).toHaveLength(2)
  })

  it.each<[number, string]>([
    [401, 'connection_unauthorized'],
    [400, 'connection_unauthorized'],
    [404, 'node_failed'],
    [429, 'provider_rate_limited'],
    [503, 'provider_unavailable'],
    [200, 'node_failed'],
  ])('is not granted with %i: %s', async (status, code) => {
    shop.tokens.script.push([status, { error: 'none' }])
    const reader = await openShop(listening, { credentials: CLIENT })
    expect((await failureOf(readPage(reader, null, 2))).code).toBe(code)
  })
})

describe('a token that a refresh token renews', () => {
  const open = (kept: KeptCredentials) => openShop(listening, { credentials: renewed, kept })

  it('ends in the middle of a run: the read goes on, and both tokens are stored', async () => {
    expireOnce()
    const kept = keepInMemory(renewed)
    expect(identitiesOf(await readRecords(await open(kept), 2))).toEqual(ids)
    expect(shop.tokens.grants).toEqual(['refresh_token'])
    expect(await kept.find()).toEqual({
      ...CLIENT,
      accessToken: 'shpat_stand_in_1',
      refreshToken: 'shprt_stand_in_1',
    })
  })

  it('ends again and again: each time the newest refresh token renews it', async () => {
    shop.settings.beforeAnswer = () => shop.tokens.expireAll()
    const kept = keepInMemory(renewed)
    expect(identitiesOf(await readRecords(await open(kept), 2))).toEqual(ids)
    expect(shop.tokens.grants.length).toBeGreaterThan(2)
  })

  it('was renewed by another process: that one is taken, and nothing is asked for', async () => {
    const kept = keepInMemory(renewed)
    const [one, other] = [await open(kept), await open(kept)]
    const page = await readPage(one, null, 2)
    shop.tokens.expireAll()
    await readPage(other, page?.to ?? '', 2)
    await readPage(one, page?.to ?? '', 2)
    expect(shop.tokens.grants).toEqual(['refresh_token'])
  })

  it('was renewed by another process while ours was on its way: that one is taken, too', async () => {
    shop.tokens.expireAll()
    const [, granted] = shop.tokens.grant(
      new URLSearchParams({
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        grant_type: 'client_credentials',
      }),
    )
    const accessToken = String((granted as { readonly access_token: string }).access_token)
    const found = [renewed]
    const kept: KeptCredentials = {
      find: () => Promise.resolve(found.shift() ?? { ...renewed, accessToken }),
      replace: () => Promise.resolve(false),
    }
    expect((await readPage(await open(kept), null, 2))?.records).toHaveLength(2)
    expect(shop.tokens.grants).toEqual(['client_credentials'])
  })

  it('is renewed by two at once: what is stored stands for both', async () => {
    const kept = keepInMemory(renewed)
    const readers = [await open(kept), await open(kept)]
    shop.tokens.expireAll()
    const pages = await Promise.all(readers.map((reader) => readRecords(reader, 2)))
    expect(pages.map(identitiesOf)).toEqual([ids, ids])
    const stored = await kept.find()
    expect(shop.tokens.isValid(String(stored['accessToken']))).toBe(true)
    shop.tokens.expireAll()
    expect(identitiesOf(await readRecords(await open(kept), 2))).toEqual(ids)
  })

  it('was stored by another one whose refresh token does not count: ours is kept and used', async () => {
    let current: JsonObject = renewed
    let isFirst = true
    const kept: KeptCredentials = {
      find: () => Promise.resolve(current),
      replace: (before, after) => {
        if (isFirst) {
          isFirst = false
          // Between our grant and our writing it down.
          current = { ...renewed, accessToken: 'shpat_theirs', refreshToken: 'shprt_theirs' }
          return Promise.resolve(false)
        }
        const isSame = JSON.stringify(before) === JSON.stringify(current)
        current = isSame ? after : current
        return Promise.resolve(isSame)
      },
    }
    shop.tokens.expireAll()
    const reader = await open(kept)
    await failureOf(readPage(reader, null, 2))
    expect((await readPage(reader, null, 2))?.records).toHaveLength(2)
    expect(current).toMatchObject({ refreshToken: 'shprt_stand_in_1' })
  })

  it('is not used before it is stored: the old refresh token still counts', async () => {
    const kept = keepInMemory(renewed)
    shop.tokens.expireAll()
    const broken = { ...kept, replace: () => Promise.reject(new Error('the database is away')) }
    await expect(readPage(await open(broken), null, 2)).rejects.toThrow('the database is away')
    expect(shop.queries).toHaveLength(0)
    expect((await readPage(await open(kept), null, 2))?.records).toHaveLength(2)
  })

  it('is not renewed any more: the connection is unauthorized', async () => {
    shop.tokens.expireAll()
    shop.tokens.revokeRefreshTokens()
    const error = await failureOf(readPage(await open(keepInMemory(renewed)), null, 2))
    expect(error.code).toBe('connection_unauthorized')
    expect(error.message).toContain('The refresh token is not valid.')
  })

  it('is fetched first where none is stored', async () => {
    const credentials = { ...CLIENT, refreshToken: FIRST_REFRESH_TOKEN }
    const kept = keepInMemory(credentials)
    const reader = await openShop(listening, { credentials, kept })
    expect((await readPage(reader, null, 2))?.records).toHaveLength(2)
  })
})

describe('the settings', () => {
  const source = createShopifySource({
    client: { send: () => Promise.reject(new Error('not called')), close: () => undefined },
    clock: { now: () => new Date(0), monotonicMs: () => 0, sleep: never, deadline: never },
  })

  it.each<[JsonObject, string]>([
    [{}, 'accessToken must be given, or clientId and clientSecret.'],
    [{ clientId: 'a' }, 'clientId and clientSecret must be given together.'],
    [{ accessToken: 'a', refreshToken: 'b' }, 'refreshToken needs clientId and clientSecret.'],
    [{ ...CLIENT, accessToken: 'a' }, 'accessToken must not be given with clientId'],
    [{ accessToken: 'a b' }, 'accessToken must consist of printable ASCII'],
  ])('refuse the credentials %j', (credentials, words) => {
    const parsed = source.credentials.safeParse(credentials)
    expect(parsed.error?.issues[0]?.message).toContain(words)
  })

  it.each(['example.com', 'https://a.myshopify.com', 'a.b.myshopify.com', 'A.myshopify.com', ''])(
    'refuse the shop %j',
    (shopDomain) => {
      const parsed = source.connectionConfig.safeParse({ shop: shopDomain })
      expect(parsed.error?.issues[0]?.message).toContain('shop must be')
    },
  )

  it('refuse another stream, and take the two', async () => {
    expect(await source.describeStreamProblem('products', {})).toContain('"customers", "orders"')
    for (const stream of ['customers', 'orders']) {
      expect(await source.describeStreamProblem(stream, {})).toBeNull()
      expect(await source.listFields(stream, {})).toContain('updatedAt')
    }
  })
})

function never(): never {
  throw new Error('not called')
}
