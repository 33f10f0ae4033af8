/**
 * How many subscriptions each token has open in this process, over whatever protocol.
 *
 * Invariant: a subscription counts until its stream has ended, whoever ended it, and once.
 */
import { type ExecutionArgs, GraphQLError } from 'graphql'
import { isAsyncIterable } from 'graphql-yoga'
import type { ApiContext } from '../graphql/context.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ApiLimits } from './limits.ts'

export interface SubscriptionCounts {
  /** Subscribes, or answers that the token has too many open. What many clients share counts for each of them. */
  open(args: ExecutionArgs, subscribe: () => unknown): Promise<unknown>
  /** Counts one more until what is answered is called; null: the token has too many open. */
  take(tokenId: string): (() => void) | null
}

export function countSubscriptions(
  { maxSubscriptions }: Pick<ApiLimits, 'maxSubscriptions'>,
  logger: Logger,
): SubscriptionCounts {
  const counts = new Map<string, number>()
  const change = (tokenId: string, by: number) => {
    const count = (counts.get(tokenId) ?? 0) + by
    if (count === 0) {
      counts.delete(tokenId)
    } else {
      counts.set(tokenId, count)
    }
  }
  const take = (tokenId: string) => {
    if ((counts.get(tokenId) ?? 0) >= maxSubscriptions) {
      return null
    }
    change(tokenId, 1)
    return once(() => change(tokenId, -1))
  }
  return {
    take,
    open: async ({ contextValue }, subscribe) => {
      const { actor, sharing } = contextValue as ApiContext
      if (sharing) {
        return await subscribe()
      }
      const end = take(actor?.tokenId ?? '')
      if (end === null) {
        return { errors: [tooMany(maxSubscriptions)] }
      }
      try {
        const result = await subscribe()
        if (isAsyncIterable(result)) {
          return endWith(result, end, logger)
        }
        end()
        return result
      } catch (error) {
        end()
        throw error
      }
    },
  }
}

function tooMany(maximum: number): GraphQLError {
  return new GraphQLError(
    `The token has ${maximum} subscriptions open here, and no more are allowed: end some of them first.`,
    {
      // Without a status: the stream of events is there, and this is its only one.
      extensions: { code: 'TOO_MANY_SUBSCRIPTIONS', limit: 'subscriptions', maximum },
    },
  )
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) {
      isDone = true
      work()
    }
  }
}

/** A plain object: a generator around the stream could not be left before its next event. */
function endWith<T>(
  stream: AsyncIterable<T>,
  end: () => void,
  logger: Logger,
): AsyncIterableIterator<T> {
  const iterator = stream[Symbol.asyncIterator]()
  const watch = async (step: Promise<IteratorResult<T>>) => {
    try {
      const result = await step
      if (result.done) {
        end()
      }
      return result
    } catch (error) {
      end()
      throw error
    }
  }
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => watch(iterator.next()),
    // Whoever leaves is not told what failed meanwhile: a socket would be closed for it, with its other subscriptions.
    return: async (value) => {
      end()
      try {
        await iterator.return?.(value)
      } catch (error) {
        logger.warn('stream.end_failed', {}, error)
      }
      return { done: true, value: undefined }
    },
    throw: async (error) => {
      end()
      if (iterator.throw) {
        return await iterator.throw(error)
      }
      throw error
    },
  }
}
