/** The `shopify` source keeps the contract of sources, on a shop with many rows of one moment. */
import * as fc from 'fast-check'
import { openShop } from '../support/shopify/open-shop.ts'
import {
  customerFields,
  orderFields,
  type ShopStream,
  STREAMS,
} from '../support/shopify/shop-rows.ts'
import { listenAsShop } from '../support/shopify/stand-in-shop.ts'
import { describeSource, type StreamUnderTest } from './source-suite.ts'

interface ShopContent {
  /** For each row, the second in which it was last changed: few, so that many share one. */
  readonly seconds: readonly number[]
  readonly rowsPerQuery: number
  readonly tiesDescend: boolean
  readonly cursorsAreInclusive: boolean
}

const content: fc.Arbitrary<ShopContent> = fc.record({
  seconds: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 9 }),
  rowsPerQuery: fc.constantFrom(2, 3, 100),
  tiesDescend: fc.boolean(),
  cursorsAreInclusive: fc.boolean(),
})

const HOUR_MS = 60 * 60 * 1000

async function createStream(stream: ShopStream, of: ShopContent): Promise<StreamUnderTest> {
  const listening = await listenAsShop()
  const { shop } = listening
  shop.settings.tiesDescend = of.tiesDescend
  shop.settings.cursorsAreInclusive = of.cursorsAreInclusive
  shop.settings.restoreRate = 2_000
  for (const [index, second] of of.seconds.entries()) {
    const id = String(index + 1)
    const fields =
      stream === 'customers' ? customerFields({ email: `c${id}@example.com` }) : orderFields()
    shop.rows.put(stream, id, fields, { updatedAtMs: shop.nowMs() - HOUR_MS + second * 1000 })
  }
  return {
    open: () => openShop(listening, { stream, options: { rowsPerQuery: of.rowsPerQuery } }),
    dispose: () => listening.close(),
  }
}

for (const stream of STREAMS) {
  describeSource<ShopContent>({
    name: `shopify (${stream})`,
    content,
    count: ({ seconds }) => seconds.length,
    create: (of) => createStream(stream, of),
  })
}
