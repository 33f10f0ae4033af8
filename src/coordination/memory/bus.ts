/**
 * The bus of a process that is alone: the embedded default.
 *
 * Invariants: as on Redis, a listener gets a copy, after the publisher has gone on, and in the
 * asynchronous context in which it subscribed (not in the publisher's, which may be a transaction). There
 * is no connection, so there is never a gap.
 */
import { AsyncResource } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { PubSub } from 'graphql-subscriptions'
import type { Logger } from '../../runtime/logger.ts'
import type { Bus } from '../bus.ts'

export function createMemoryBus(logger: Logger): Bus {
  // Many listeners of one channel are many dashboards of one run, not a leak.
  const eventEmitter = new EventEmitter().setMaxListeners(0)
  const pubsub = new PubSub({ eventEmitter })
  return {
    publish: (channel, message) => {
      const text = JSON.stringify(message)
      queueMicrotask(() => void pubsub.publish(channel, JSON.parse(text)))
      return Promise.resolve()
    },
    subscribe: async (channel, listener) => {
      let isActive = true
      const hear = AsyncResource.bind((message: unknown) => {
        if (!isActive) {
          return
        }
        try {
          listener(message)
        } catch (error) {
          logger.error('bus.listener_failed', { channel }, error)
        }
      })
      const subscription = await pubsub.subscribe(channel, hear)
      return () => {
        if (isActive) {
          isActive = false
          pubsub.unsubscribe(subscription)
        }
        return Promise.resolve()
      }
    },
    onGap: () => () => undefined,
  }
}
