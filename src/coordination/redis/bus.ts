/**
 * The bus over Redis pub/sub.
 *
 * Invariants: one subscription a channel and process, however many listen, given up with the last;
 * publishing never fails its caller (what it would announce is committed already) and waits no longer
 * than one command's deadline; what is no JSON object, or too long to be ours, reaches no listener.
 */
import { RedisPubSub } from 'graphql-redis-subscriptions'
import type { Redis } from 'ioredis'
import { isJsonObject, type JsonObject } from '../../domain/json.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Bus } from '../bus.ts'
import type { Subscriptions } from './subscriptions.ts'

const CHANNEL_PREFIX = 'tajo:'
/** Ours are hints of a few hundred bytes. */
const MAX_MESSAGE_BYTES = 64 * 1024

export interface RedisBusOptions {
  readonly publisher: Redis
  readonly subscriptions: Subscriptions
  readonly logger: Logger
}

export function createRedisBus({ publisher, subscriptions, logger }: RedisBusOptions): Bus {
  const pubsub = new RedisPubSub({
    publisher,
    subscriber: subscriptions.subscriber,
    deserializer: parseMessage,
  })
  let isPublishing = true
  return {
    publish: async (channel, message) => {
      try {
        await pubsub.publish(`${CHANNEL_PREFIX}${channel}`, message)
        isPublishing = true
      } catch (error) {
        // Once an outage: progress is published four times a second a run.
        if (isPublishing) {
          isPublishing = false
          logger.warn('bus.publish_failed', { channel }, error)
        }
      }
    },
    subscribe: async (channel, listener) => {
      let isActive = true
      const hear = (message: JsonObject | null) => {
        if (!isActive) {
          return
        }
        if (message === null) {
          logger.warn('bus.message_refused', { channel })
          return
        }
        try {
          listener(message)
        } catch (error) {
          logger.error('bus.listener_failed', { channel }, error)
        }
      }
      const subscription = await pubsub.subscribe(`${CHANNEL_PREFIX}${channel}`, hear)
      return () => {
        // The library would take a second call for that of the last listener.
        if (isActive) {
          isActive = false
          pubsub.unsubscribe(subscription)
        }
        return Promise.resolve()
      }
    },
    onGap: subscriptions.onGap,
  }
}

/** Null for what is not ours. */
function parseMessage(bytes: string | Buffer): JsonObject | null {
  if (bytes.length > MAX_MESSAGE_BYTES) {
    return null
  }
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
