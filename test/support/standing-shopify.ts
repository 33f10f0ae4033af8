/**
 * The stand-in shop as a process of its own, so that it neither dies with the app nor takes its event loop. The first
 * argument says how many customers it has, the second how many orders; its time goes on, and began a day after theirs.
 * `GET /` tells how many queries were answered; `POST /` with `{ "advanceMs", "put": { "stream", "id", "fields" } }`, each
 * optional, changes it.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { customerFields, orderFields, type ShopStream } from './shopify/shop-rows.ts'
import { readBody, StandInShop } from './shopify/stand-in-shop.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const shop = new StandInShop(() => Date.now())
const [customers = '0', orders = '0'] = process.argv.slice(2)

for (let id = 1; id <= Number(customers); id += 1) {
  const fields = customerFields({ email: `customer${id}@example.com`, firstName: `Customer ${id}` })
  shop.rows.put('customers', String(id), fields, { updatedAtMs: Date.now() - DAY_MS + id * 10 })
}
for (let id = 1; id <= Number(orders); id += 1) {
  const fields = orderFields({ customerId: String(id) })
  shop.rows.put('orders', String(id), fields, { updatedAtMs: Date.now() - DAY_MS + id * 10 })
}

interface Change {
  readonly advanceMs?: number
  readonly put?: {
    readonly stream: ShopStream
    readonly id: string
    readonly fields: Readonly<Record<string, unknown>>
  }
}

const server = createServer((request, response) => {
  if (request.url !== '/') {
    void shop.take(request, response)
    return
  }
  void readBody(request).then((body) => {
    const { advanceMs = 0, put } = (body === '' ? {} : JSON.parse(body)) as Change
    shop.advance(advanceMs)
    if (put) {
      shop.rows.put(put.stream, put.id, put.fields)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ queries: shop.queries.length, nowMs: shop.nowMs() }))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listens at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
