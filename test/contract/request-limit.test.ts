/** The request limit: the same answers in memory and in Redis, and what becomes of it without Redis. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryRequestLimit } from '../../src/coordination/memory/request-limit.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import type { RequestLimit, RequestLimitSettings } from '../../src/coordination/request-limit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const THREE: RequestLimitSettings = { maxRequests: 3, windowS: 30 }

async function takeTimes(limit: RequestLimit, caller: string, times: number) {
  const taken = await Promise.all(Array.from({ length: times }, () => limit.take(caller)))
  return taken.map((waitMs) => (waitMs === null ? 'on' : 'wait'))
}

function connect(url: string): Promise<RedisCoordination> {
  return connectRedis({ url, logger: createRecordingLogger(), clock: systemClock })
}

describe.each(['memory', ...(HAS_REDIS ? ['redis'] : [])])('the request limit in %s', (kind) => {
  let redis: RedisCoordination | null = null
  const limitRequests = (settings: RequestLimitSettings) =>
    redis ? redis.limitRequests(settings) : createMemoryRequestLimit(settings)
  beforeAll(async () => {
    redis = kind === 'redis' ? await connect(redisUrl()) : null
  })
  afterAll(() => redis?.close())

  it('lets so many requests of a caller pass, and then says how long to wait', async () => {
    const [limit, caller] = [limitRequests(THREE), randomUUID()]
    expect(await takeTimes(limit, caller, 3)).toEqual(['on', 'on', 'on'])
    for (let refused = 0; refused < 3; refused += 1) {
      const waitMs = await limit.take(caller)
      expect(waitMs).toBeGreaterThan(0)
      expect(waitMs).toBeLessThanOrEqual(30_000)
    }
  })

  it('counts each caller for itself', async () => {
    const limit = limitRequests(THREE)
    expect(await takeTimes(limit, randomUUID(), 3)).toEqual(['on', 'on', 'on'])
    expect(await takeTimes(limit, randomUUID(), 4)).toEqual(['on', 'on', 'on', 'wait'])
  })

  it('lets a caller pass again when its window is over', async () => {
    const [limit, caller] = [limitRequests({ maxRequests: 1, windowS: 1 }), randomUUID()]
    expect(await takeTimes(limit, caller, 2)).toEqual(['on', 'wait'])
    await expect.poll(() => limit.take(caller)).toBeNull()
  })

  it('of 0 is none', async () => {
    const limit = limitRequests({ maxRequests: 0, windowS: 30 })
    expect(await takeTimes(limit, randomUUID(), 50)).not.toContain('wait')
  })
})

describe.runIf(HAS_REDIS)('the request limit of several processes', () => {
  let [one, other]: (RedisCoordination | null)[] = [null, null]
  let proxy: TcpProxy
  const limitOf = (process: RedisCoordination | null | undefined) => {
    if (!process) {
      throw new Error('The process is not there.')
    }
    return process.limitRequests(THREE)
  }
  beforeAll(async () => {
    const { hostname, port } = new URL(redisUrl())
    proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    one = await connect(redisUrl())
    other = await connect(`redis://127.0.0.1:${proxy.port}`)
  })
  afterAll(async () => {
    await one?.close()
    await other?.close()
    await proxy.close()
  })

  it('is one', async () => {
    const caller = randomUUID()
    expect(await takeTimes(limitOf(one), caller, 2)).toEqual(['on', 'on'])
    expect(await takeTimes(limitOf(other), caller, 2)).toEqual(['on', 'wait'])
    expect(await takeTimes(limitOf(one), caller, 1)).toEqual(['wait'])
  })

  it('is each process’s own while Redis does not answer, and none of them waits for it', async () => {
    const [caller, apart] = [randomUUID(), limitOf(other)]
    expect(await takeTimes(limitOf(one), caller, 3)).toEqual(['on', 'on', 'on'])
    proxy.freezeOpenConnections()
    expect(await takeTimes(apart, caller, 4)).toEqual(['on', 'on', 'on', 'wait'])
  })
})
