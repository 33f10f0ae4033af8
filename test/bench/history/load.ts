/** Asks a server for pages over kept connections, so many at a time. */
import { Agent, request } from 'node:http'

export interface Ask {
  readonly url: string
  readonly token: string
  readonly body: string
}

const AT_ONCE = 16
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

/** Throws unless the status is 200. */
export function ask({ url, token, body }: Ask): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          if (response.statusCode === 200) {
            resolve(text)
          } else {
            reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 500)}`))
          }
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Answers a second, over about `durationMs`. The bodies are asked for in turn. */
export async function measureRate(
  given: Omit<Ask, 'body'> & { readonly bodies: readonly string[]; readonly durationMs: number },
): Promise<number> {
  const { url, token, bodies, durationMs } = given
  let asked = 0
  const startedAt = performance.now()
  const endsAt = startedAt + durationMs
  const askOn = async () => {
    while (performance.now() < endsAt) {
      const body = bodies[asked % bodies.length] ?? ''
      asked += 1
      await ask({ url, token, body })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, askOn))
  return (asked * 1000) / (performance.now() - startedAt)
}
