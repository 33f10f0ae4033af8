/**
 * The stand-in shop behaves as Shopify does: Shopify's own client works against it, the source's queries are valid in
 * the schema that Shopify publishes for each version, and what a shop does wrong can be seen on it.
 */
import { createAdminApiClient } from '@shopify/admin-api-client'
import { parse, validate } from 'graphql'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ROW_COST,
  rowsQuery,
  SHOP_QUERY,
  WITNESS_COST,
} from '../../src/connectors/sources/shopify/shopify-queries.ts'
import { startScript } from '../support/processes.ts'
import { API_VERSIONS, schemaOf } from '../support/shopify/admin-resolvers.ts'
import { identitiesOf, openShop, putCustomers, readRecords } from '../support/shopify/open-shop.ts'
import { measureCost } from '../support/shopify/query-cost.ts'
import { customerFields, STREAMS } from '../support/shopify/shop-rows.ts'
import { FIRST_TOKEN } from '../support/shopify/shop-tokens.ts'
import {
  type ListeningShop,
  listenAsShop,
  STAND_IN_DOMAIN,
  type StandInShop,
} from '../support/shopify/stand-in-shop.ts'

let listening: ListeningShop
let shop: StandInShop

beforeEach(async () => {
  listening = await listenAsShop()
  shop = listening.shop
  putCustomers(shop, 5)
})

afterEach(() => listening.close())

function vendorClient(accessToken = FIRST_TOKEN, retries = 0) {
  return createAdminApiClient({
    storeDomain: STAND_IN_DOMAIN,
    apiVersion: '2026-10',
    accessToken,
    retries,
    // The client insists on https and on the shop's own domain.
    customFetchApi: (url, init) => {
      const { pathname } = new URL(String(url))
      return fetch(`${listening.url}${pathname}`, init)
    },
  })
}

const CUSTOMERS = `query Customers($first: Int!, $filter: String) {
  customers(first: $first, query: $filter, sortKey: UPDATED_AT) {
    nodes { legacyResourceId updatedAt defaultEmailAddress { emailAddress marketingState } }
    pageInfo { hasNextPage endCursor }
  }
}`

interface Listed {
  readonly customers: {
    readonly nodes: readonly { readonly legacyResourceId: string }[]
    readonly pageInfo: { readonly hasNextPage: boolean }
  }
}

const list = async (filter: string | null) => {
  const { data } = await vendorClient().request<Listed>(CUSTOMERS, {
    variables: { first: 10, filter },
  })
  return data?.customers.nodes.map(({ legacyResourceId }) => legacyResourceId)
}

describe("Shopify's own client", () => {
  it('reads customers, and sees what the query cost', async () => {
    const answer = await vendorClient().request<Listed>(CUSTOMERS, { variables: { first: 2 } })
    expect(answer.errors).toBeUndefined()
    expect(answer.data?.customers).toMatchObject({
      nodes: [{ legacyResourceId: '1' }, { legacyResourceId: '2' }],
      pageInfo: { hasNextPage: true },
    })
    expect(answer.extensions).toMatchObject({
      cost: {
        requestedQueryCost: 5,
        throttleStatus: { maximumAvailable: 2_000, currentlyAvailable: 1_995, restoreRate: 100 },
      },
    })
  })

  it('is throttled with HTTP 200, sees it in the extensions and does not retry it', async () => {
    shop.drain(0)
    const answer = await vendorClient(FIRST_TOKEN, 3).request(CUSTOMERS, {
      variables: { first: 2 },
    })
    expect(answer.errors?.networkStatusCode).toBe(200)
    expect(answer.errors?.graphQLErrors).toMatchObject([{ extensions: { code: 'THROTTLED' } }])
    expect(answer.extensions).toMatchObject({ cost: { actualQueryCost: null } })
    expect(shop.queries).toHaveLength(1)
  })

  it('is told that a field does not exist', async () => {
    const answer = await vendorClient().request('{ shop { nickname } }')
    expect(answer.errors?.graphQLErrors).toMatchObject([
      { message: 'Cannot query field "nickname" on type "Shop". Did you mean "name"?' },
    ])
  })

  it('gets 401 for a token that is not valid', async () => {
    const answer = await vendorClient('shpat_wrong').request(SHOP_QUERY)
    expect(answer.errors?.networkStatusCode).toBe(401)
  })
})

describe('as a process of its own', () => {
  it('says where it listens, has what it was told to, and changes when it is asked to', async () => {
    const stand = startScript('test/support/standing-shopify.ts', {}, ['4', '2'])
    try {
      const url = await stand.find(/listens at (\S+)/)
      const customers = await openShop({ url, shop })
      expect(identitiesOf(await readRecords(customers, 3))).toEqual(['1', '2', '3', '4'])
      const orders = await openShop({ url, shop }, { stream: 'orders' })
      expect(identitiesOf(await readRecords(orders, 3))).toEqual(['1', '2'])
      const fields = customerFields({ email: 'new@example.com' })
      const put = { stream: 'customers', id: '9', fields }
      await fetch(url, { method: 'POST', body: JSON.stringify({ put }) })
      await fetch(url, { method: 'POST', body: JSON.stringify({ advanceMs: 600_000 }) })
      expect(identitiesOf(await readRecords(customers, 10))).toContain('9')
    } finally {
      await stand.kill('SIGKILL')
    }
  })
})

describe("the source's queries", () => {
  for (const version of API_VERSIONS) {
    it(`are valid in Shopify's schema of ${version}, and cost what they are thought to`, () => {
      const schema = schemaOf(version)
      expect(validate(schema, parse(SHOP_QUERY))).toEqual([])
      for (const stream of STREAMS) {
        const document = parse(rowsQuery(stream, version))
        expect(validate(schema, document)).toEqual([])
        const cost = measureCost(schema, document, { first: 100 })
        expect(cost).toBeLessThanOrEqual(WITNESS_COST + 100 * ROW_COST[stream])
        expect(cost).toBeLessThan(1_000)
      }
    })
  }

  it('of 2026-10 are not valid in 2026-07: they have to be made for their version', () => {
    const document = parse(rowsQuery('customers', '2026-10'))
    expect(validate(schemaOf('2026-07'), document).map(({ message }) => message)).toEqual([
      'Cannot query field "smsMarketingConsent" on type "CustomerPhoneNumber". Did you mean "whatsAppMarketingConsent"?',
    ])
  })
})

describe('what the search of a shop does wrong', () => {
  const at = (second: number) => `2026-11-01T11:00:0${second}Z`

  it('quoted and in UTC a moment means what it says', async () => {
    expect(await list(`updated_at:>='${at(4)}'`)).toEqual(['4', '5'])
  })

  it('without quotation marks it loses its time of day', async () => {
    expect(await list(`updated_at:>=${at(4)}`)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('with an offset it finds nothing, or everything, and says nothing', async () => {
    const filter = "updated_at:>='2026-11-01T12:00:04+01:00'"
    expect(await list(filter)).toEqual([])
    shop.settings.quirks.offsetFinds = 'everything'
    expect(await list(filter)).toHaveLength(5)
  })

  it('more than acts as at least', async () => {
    expect(await list(`updated_at:>'${at(4)}'`)).toEqual(['4', '5'])
  })

  it('older rows appear', async () => {
    shop.settings.quirks.olderRowsThatAppear = 1
    expect(await list(`updated_at:>='${at(4)}'`)).toEqual(['3', '4', '5'])
  })
})
