/**
 * A way to a PostgreSQL whose next connection is reset when its client sends its nth message: while it is
 * being opened, or at its first statement.
 */
import { createServer, connect as dial, type Socket } from 'node:net'

export interface TornConnections {
  /** The address, by way of this. */
  readonly url: string
  /** The next connection ends with its nth message; what comes after it is let through. */
  tearNext(atMessage: number): void
  /** Whether the last one that was to be torn was. */
  readonly isTorn: boolean
  close(): Promise<void>
}

export async function createTornConnections(url: string): Promise<TornConnections> {
  const target = new URL(url)
  const open = new Set<Socket>()
  let tearAt: number | null = null
  let isTorn = false
  const listener = createServer((client) => {
    const server = dial(Number(target.port), target.hostname)
    const nth = tearAt
    tearAt = null
    let messages = 0
    client.on('data', (data) => {
      messages += 1
      if (messages === nth) {
        isTorn = true
        client.resetAndDestroy()
        server.destroy()
      } else {
        server.write(data)
      }
    })
    server.on('data', (data) => client.write(data))
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    tearNext: (atMessage) => {
      tearAt = atMessage
      isTorn = false
    },
    get isTorn() {
      return isTorn
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const socket of open) {
          socket.destroy()
        }
      }),
  }
}
