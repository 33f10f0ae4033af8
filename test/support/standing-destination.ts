/**
 * The stand-in destination as a process of its own, so that it neither dies with the app nor takes its
 * event loop: a page at a time, applying each key once. `GET /` tells what it did.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const effects = new Map<string, number>()

interface Write {
  readonly key: string
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' })
    if (request.method === 'GET') {
      const doubled = [...effects.values()].filter((n) => n > 1).length
      response.end(JSON.stringify({ keys: effects.size, doubled }))
      return
    }
    const { records } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { records: Write[] }
    for (const { key } of records) {
      effects.set(key, (effects.get(key) ?? 0) + 1)
    }
    const results = records.map(({ key }) => ({ key, status: 'written', id: key.slice(0, 16) }))
    response.end(JSON.stringify({ results }))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listens at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
