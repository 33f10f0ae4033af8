/**
 * The channels this process is subscribed to, across reconnects.
 *
 * Stands between the pub/sub library and the subscriber connection, because the library leaves a
 * rejected promise unhandled (which ends the process) when a SUBSCRIBE or UNSUBSCRIBE fails, and because
 * ioredis does not tell when it has subscribed again. Invariant: a channel somebody listens to is
 * subscribed to at the latest after the next connection; whenever that was not so for a while, the
 * listeners of the gap are called once it is so again.
 */
import type { Redis } from 'ioredis'
import type { Logger } from '../../runtime/logger.ts'
import { reconnect } from './connection.ts'

export interface Subscriptions {
  /** What the library needs of a subscriber; nothing it is asked for ever fails. */
  readonly subscriber: Redis
  onGap(listener: () => void): () => void
}

type Done = (error: Error | null) => void

export function keepSubscriptions(client: Redis, logger: Logger): Subscriptions {
  const channels = new Set<string>()
  const gapListeners = new Set<() => void>()

  /** Failing on a connection that is up, it leaves open what Redis believes: only a new one is certain. */
  const attempt = async (command: () => Promise<unknown>): Promise<boolean> => {
    try {
      await command()
      return true
    } catch (error) {
      logger.warn('bus.subscription_failed', {}, error)
      reconnect(client)
      return false
    }
  }
  const reportGap = () => {
    for (const listener of gapListeners) {
      try {
        listener()
      } catch (error) {
        logger.error('bus.listener_failed', {}, error)
      }
    }
  }
  client.on('ready', async () => {
    if (channels.size > 0 && (await attempt(() => client.subscribe(...channels)))) {
      reportGap()
    }
  })

  const subscriber = {
    on: client.on.bind(client),
    subscribe: async (channel: string, done: Done) => {
      channels.add(channel)
      await attempt(() => client.subscribe(channel))
      done(null)
    },
    unsubscribe: async (channel: string) => {
      channels.delete(channel)
      await attempt(() => client.unsubscribe(channel))
    },
    // The library gives up a pattern with every channel; there are none.
    punsubscribe: () => Promise.resolve(),
  }
  return {
    subscriber: subscriber as unknown as Redis,
    onGap: (listener) => {
      gapListeners.add(listener)
      return () => gapListeners.delete(listener)
    },
  }
}
