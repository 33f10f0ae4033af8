/**
 * A network between a client and a server that tests can make slow or break.
 *
 * Frozen is the half-open connection of a cut cable or a dropped NAT entry: both ends stay connected,
 * and nothing arrives.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export interface TcpProxy {
  readonly port: number
  /** Nothing passes on the connections that are open now, and no end of stream either. New ones work. */
  freezeOpenConnections(): void
  /** Resets the connections that are open now. */
  resetOpenConnections(): void
  /** From now on each chunk arrives this much later. */
  setLatency(ms: number): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  isFrozen: boolean
}

export async function startTcpProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let latencyMs = 0
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ ...target, allowHalfOpen: true })
    const pair: Pair = { client, server, isFrozen: false }
    pairs.add(pair)
    const forward = (from: Socket, to: Socket) => {
      // One after the other, also when the latency changes in between.
      let passed = Promise.resolve()
      const pass = (action: () => void) => {
        const due = wait(latencyMs)
        passed = passed.then(async () => {
          await due
          if (!pair.isFrozen && !to.destroyed) {
            action()
          }
        })
      }
      from.on('data', (chunk) => pass(() => to.write(chunk)))
      from.on('end', () => pass(() => to.end()))
      from.on('error', () => pass(() => to.destroy()))
      from.on('close', () => {
        if (from.destroyed && to.destroyed) {
          pairs.delete(pair)
        }
      })
    }
    forward(client, server)
    forward(server, client)
  })
  const port = await listen(listener)
  return {
    port,
    freezeOpenConnections: () => {
      for (const pair of pairs) {
        pair.isFrozen = true
      }
    },
    resetOpenConnections: () => {
      for (const { client, server } of pairs) {
        client.resetAndDestroy()
        server.resetAndDestroy()
      }
    },
    setLatency: (ms) => {
      latencyMs = ms
    },
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const { client, server } of pairs) {
          client.destroy()
          server.destroy()
        }
      }),
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}
