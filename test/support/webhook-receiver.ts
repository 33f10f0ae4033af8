/** Receives what is posted: answers as it is told, and keeps all of it. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createSignal } from './signal.ts'

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly body: string
}

/** A status; `hold`: no answer; `reset`: the connection is cut. */
export type ScriptedAnswer = number | 'hold' | 'reset'

export interface WebhookReceiver {
  readonly url: string
  readonly requests: readonly ReceivedRequest[]
  /** The answers to the next requests; to any other one it is 204. */
  script(...answers: readonly ScriptedAnswer[]): void
  /** Resolves when so many have come. */
  received(count: number): Promise<void>
  close(): Promise<void>
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = []
  const script: ScriptedAnswer[] = []
  let waiting: { readonly count: number; readonly reach: () => void }[] = []
  const answer = (response: ServerResponse) => {
    const next = script.shift() ?? 204
    if (next === 'reset') {
      response.socket?.resetAndDestroy()
    } else if (next !== 'hold') {
      const headers = next >= 300 && next < 400 ? { location: '/elsewhere' } : {}
      response.writeHead(next, headers).end()
    }
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { headers, url: path = '' } = request
      requests.push({ headers, path, body: Buffer.concat(chunks).toString('utf8') })
      answer(response)
      for (const { reach } of waiting.filter(({ count }) => count <= requests.length)) {
        reach()
      }
      waiting = waiting.filter(({ count }) => count > requests.length)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/alerts`,
    requests,
    script: (...answers) => {
      script.push(...answers)
    },
    received: async (count) => {
      if (requests.length < count) {
        const { reached, reach } = createSignal()
        waiting.push({ count, reach })
        await reached
      }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
