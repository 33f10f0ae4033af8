/**
 * Redis as the place where processes agree: leases, the bus and both limits over two connections.
 *
 * Two, because a connection that listens to channels takes no other command. Starting does not need
 * Redis: without it no run starts (`lease_unavailable`), but history can be read, and it is used as soon
 * as it is there.
 */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Bus } from '../bus.ts'
import type { Leases } from '../lease.ts'
import type { Limiter } from '../limiter.ts'
import type { RequestLimit, RequestLimitSettings } from '../request-limit.ts'
import { createRedisBus } from './bus.ts'
import {
  COMMAND_DEADLINE_MS,
  createConnection,
  isReady,
  runCommand,
  waitUntilReady,
  watchConnections,
} from './connection.ts'
import { createRedisLeases } from './leases.ts'
import { createRedisLimiter } from './limiter.ts'
import { createRedisRequestLimit } from './request-limit.ts'
import { keepSubscriptions } from './subscriptions.ts'

export interface RedisCoordination {
  readonly leases: Leases
  readonly bus: Bus
  readonly limiter: Limiter
  limitRequests(settings: RequestLimitSettings): RequestLimit
  /** Both connections are up and Redis answers. Takes a command's deadline at most. */
  isReachable(): Promise<boolean>
  /** Lets commands under way come to their end, within a command's deadline. */
  close(): Promise<void>
}

export interface RedisCoordinationOptions {
  /** `redis://` or `rediss://`. Never logged: it may hold a password. */
  readonly url: string
  readonly logger: Logger
  readonly clock: Clock
}

export async function connectRedis(options: RedisCoordinationOptions): Promise<RedisCoordination> {
  const { url, logger, clock } = options
  const commands = createConnection(url, 'commands', logger)
  const listening = createConnection(url, 'listening', logger)
  const subscriptions = keepSubscriptions(listening, logger)
  const clients = [commands, listening]
  const watch = watchConnections(clients, clock, logger)
  const isUp = await Promise.all(
    clients.map((client) => waitUntilReady(client, clock, COMMAND_DEADLINE_MS)),
  )
  if (isUp.includes(false)) {
    logger.warn('redis.unreachable')
  }
  watch.start()
  return {
    leases: createRedisLeases(commands, clock),
    limiter: createRedisLimiter(commands, { clock, logger }),
    limitRequests: (settings) => createRedisRequestLimit(settings, commands, { clock, logger }),
    bus: createRedisBus({ publisher: commands, subscriptions, logger }),
    isReachable: async () => {
      try {
        await runCommand(commands, clock, () => commands.ping())
        return isReady(listening)
      } catch {
        return false
      }
    },
    close: async () => {
      const quits = clients.map(async (client) => {
        // It fails on a connection that is down; then there is nothing to wait for.
        await client.quit().catch(() => undefined)
        client.disconnect()
      })
      await Promise.all([watch.stop(), ...quits])
    },
  }
}
