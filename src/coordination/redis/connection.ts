/**
 * One connection to Redis that answers or fails within a bounded time, and comes back by itself.
 *
 * Invariants: no command waits longer than {@link READY_WAIT_MS} + {@link COMMAND_DEADLINE_MS}; a command
 * that failed is not sent later (a lease taken after its taker gave up would block the sync for as long
 * as it lives): no offline queue, nothing is sent again after a reconnect. What was sent and not answered
 * may still be carried out: the fence in PostgreSQL is what makes that harmless. A connection whose
 * other end has gone without a word is noticed by {@link watchConnections}.
 */
import { Redis } from 'ioredis'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { PeriodicService } from '../../runtime/service.ts'
import { CoordinationUnavailableError } from '../lease.ts'

/** Redis answers in under a millisecond; after this it is stopped, or out of reach. */
export const COMMAND_DEADLINE_MS = 2_000
/** A restart of Redis takes about this long: a command that meets one waits for the reconnect. */
const READY_WAIT_MS = 500
const CONNECT_DEADLINE_MS = 2_000
/** The other end of a dead connection never confirms its end. */
const END_OF_STREAM_WAIT_MS = 200
const MIN_RECONNECT_MS = 50
const MAX_RECONNECT_MS = 1_000
/** How long a connection that is dead without a word may stay unnoticed: this and a command's deadline. */
const WATCH_INTERVAL_MS = 5_000

/** Asked to close, but not closed yet: ioredis still calls them ready. */
const leaving = new WeakSet<Redis>()

/** `purpose` names the connection in the log and in Redis' client list. */
export function createConnection(url: string, purpose: string, logger: Logger): Redis {
  const client = new Redis(url, {
    connectionName: `tajo-sync-${purpose}`,
    connectTimeout: CONNECT_DEADLINE_MS,
    commandTimeout: COMMAND_DEADLINE_MS,
    disconnectTimeout: END_OF_STREAM_WAIT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // Done by subscriptions.ts, which then knows when they are there again.
    autoResubscribe: false,
    retryStrategy: (attempts) => Math.min(MIN_RECONNECT_MS * attempts, MAX_RECONNECT_MS),
  })
  // Each waiting command is a listener; their number is bounded by the runs of this process.
  client.setMaxListeners(0)
  client.on('ready', () => logger.info('redis.connected', { purpose }))
  client.on('close', () => logger.debug('redis.disconnected', { purpose }))
  client.on('error', (error) => logger.debug('redis.failed', { purpose, reason: error.message }))
  return client
}

export function isReady(client: Redis): boolean {
  return client.status === 'ready' && !leaving.has(client)
}

/** Resolves as soon as the connection can be used, or after `waitMs`; true: it can. */
export async function waitUntilReady(
  client: Redis,
  clock: Clock,
  waitMs: number,
): Promise<boolean> {
  if (isReady(client) || client.status === 'end') {
    return isReady(client)
  }
  const deadline = clock.deadline(waitMs)
  await new Promise<void>((resolve) => {
    const settle = () => {
      client.off('ready', settle)
      client.off('end', settle)
      deadline.removeEventListener('abort', settle)
      resolve()
    }
    client.once('ready', settle)
    client.once('end', settle)
    deadline.addEventListener('abort', settle)
  })
  // Read anew: the wait has changed it.
  return isReady(client)
}

/** Runs one command. Throws {@link CoordinationUnavailableError} for whatever went wrong. */
export async function runCommand<T>(
  client: Redis,
  clock: Clock,
  command: () => Promise<T>,
): Promise<T> {
  if (!(await waitUntilReady(client, clock, READY_WAIT_MS))) {
    throw new CoordinationUnavailableError('Redis is out of reach.')
  }
  try {
    return await command()
  } catch (cause) {
    throw new CoordinationUnavailableError('Redis did not answer in time, or refused.', { cause })
  }
}

/**
 * Asks each connection for a sign of life. Without one it is closed and made again: a cut cable or a
 * dropped NAT entry sends no end of stream, and a subscriber, which only listens, would wait for ever.
 */
export function watchConnections(
  clients: readonly Redis[],
  clock: Clock,
  logger: Logger,
): PeriodicService {
  return new PeriodicService({
    name: 'redis.watch',
    intervalMs: WATCH_INTERVAL_MS,
    clock,
    logger,
    round: async () => {
      await Promise.all(clients.filter(isReady).map((client) => reconnectIfSilent(client)))
    },
  })
}

/** Makes a new connection in place of one that is up but cannot be trusted. */
export function reconnect(client: Redis): void {
  if (isReady(client)) {
    leaving.add(client)
    client.once('close', () => leaving.delete(client))
    client.disconnect(true)
  }
}

async function reconnectIfSilent(client: Redis): Promise<void> {
  try {
    await client.ping()
  } catch {
    reconnect(client)
  }
}
