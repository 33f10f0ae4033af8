/** The `shopify` source of a pair: the customers of the stand-in shop, whose time goes on with every change. */
import { customerFields } from '../../support/shopify/shop-rows.ts'
import { FIRST_TOKEN } from '../../support/shopify/shop-tokens.ts'
import { listenAsShop, STAND_IN_DOMAIN, StandInShop } from '../../support/shopify/stand-in-shop.ts'
import { emailOf, type PairSource } from './pair.ts'

/** Of which every change is older when the next one comes: the shop tells no less than seconds. */
const LAG_MS = 1_000

export interface ShopifyEnd {
  readonly source: PairSource
  /** For the workers. */
  readonly environment: Readonly<Record<string, string>>
}

export async function openShopifyEnd(): Promise<ShopifyEnd> {
  const shop = new StandInShop(() => Date.now())
  // A query may be refused for its cost all the same; the storm should not last for hours.
  Object.assign(shop.settings, { maximumAvailable: 20_000, restoreRate: 2_000 })
  shop.settings.internalErrorEvery = 40
  const listening = await listenAsShop(shop)
  const source: PairSource = {
    connection: {
      type: 'shopify',
      config: { shop: STAND_IN_DOMAIN },
      credentials: { accessToken: FIRST_TOKEN },
    },
    stream: 'customers',
    streamOptions: { lagMs: LAG_MS, rowsPerQuery: 20 },
    fields: {
      id: { $path: 'id' },
      email: { $path: 'email' },
      version: { $number: { value: { $path: 'note' } } },
    },
    put: (rows) => {
      for (const { id, version } of rows) {
        const fields = customerFields({ email: emailOf(id), note: String(version) })
        shop.rows.put('customers', String(id + 1), fields)
      }
      shop.advance(3 * LAG_MS)
      return Promise.resolve()
    },
    remove: (ids) => {
      for (const id of ids) {
        shop.rows.remove('customers', String(id + 1))
      }
      return Promise.resolve()
    },
    close: () => listening.close(),
  }
  return { source, environment: { CHAOS_SHOP: listening.url } }
}
