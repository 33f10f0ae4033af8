/** The limiter in Redis, whose time a test moves on by moving what is kept back. */
import { Redis } from 'ioredis'
import type { Limiter } from '../../src/coordination/limiter.ts'
import { connectRedis } from '../../src/coordination/redis/redis.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createRecordingLogger } from './recording-logger.ts'

export interface LimiterRig {
  readonly limiter: Limiter
  /** Lets so much time go by for the buckets and hosts with `names` in theirs. */
  pass(names: string, ms: number): Promise<void>
  close(): Promise<void>
}

const MOMENTS = ['at', 'blocked', 'probe']

export async function openLimiterRig(url: string): Promise<LimiterRig> {
  const logger = createRecordingLogger()
  const { limiter, close } = await connectRedis({ url, logger, clock: systemClock })
  const redis = new Redis(url)
  return {
    limiter,
    pass: async (names, ms) => {
      for (const key of await redis.keys(`tajo:*${names}*`)) {
        for (const field of MOMENTS) {
          if (await redis.hexists(key, field)) {
            await redis.hincrbyfloat(key, field, -ms)
          }
        }
      }
    },
    close: async () => {
      redis.disconnect()
      await close()
    },
  }
}
