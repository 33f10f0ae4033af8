/** The limiter, the same in memory and in Redis: buckets and circuits, taken together or not at all. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  CIRCUIT_LIFE_MS,
  DEAD_CALLS_IN_A_ROW,
  type LimitedBucket,
  type Limiter,
  MAX_BLOCK_MS,
  PROBE_INTERVAL_MS,
} from '../../src/coordination/limiter.ts'
import { createMemoryLimiter } from '../../src/coordination/memory/limiter.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { type LimiterRig, openLimiterRig } from '../support/limiter-rig.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const MINUTE_MS = 60_000

let names: string
beforeEach(() => {
  names = randomUUID()
})

/** Slow, so that the time that a test takes on a busy machine fills nothing. */
function bucket(given: Partial<LimitedBucket> = {}): LimitedBucket {
  return { key: `${names}:calls`, capacity: 5, refillPerSecond: 0.01, ...given }
}

describe.each(['memory', ...(HAS_REDIS ? ['redis'] : [])])('the limiter in %s', (kind) => {
  let rig: LimiterRig
  let limiter: Limiter
  beforeAll(async () => {
    rig = kind === 'redis' ? await openLimiterRig(redisUrl()) : openMemoryRig()
    limiter = rig.limiter
  })
  afterAll(() => rig.close())

  const take = (of: LimitedBucket, tokens = 1) =>
    limiter.pass(`${names}.example.com`, [{ bucket: of, tokens }])
  const ask = () => limiter.pass(`${names}.example.com`, [])
  const times = async <T>(count: number, what: () => Promise<T>) =>
    await Promise.all(Array.from({ length: count }, what))
  const note = async (went: 'answered' | 'dead', count = 1) => {
    await times(count, () => limiter.note(`${names}.example.com`, went))
  }
  const kinds = async (asked: Promise<readonly { readonly kind: string }[]>) =>
    (await asked).map((passage) => passage.kind)

  describe('of a bucket', () => {
    it('lets through what it holds, to nobody more of twenty that ask at once', async () => {
      const passed = await kinds(times(20, () => take(bucket())))
      expect(passed.filter((passage) => passage === 'go')).toHaveLength(5)
    })

    it('says how long until it holds enough, and then it does', async () => {
      await times(5, () => take(bucket()))
      const one = await take(bucket())
      expect(one).toEqual({ kind: 'wait', held: 'short', waitMs: expect.any(Number) })
      const waitMs = one.kind === 'wait' ? one.waitMs : 0
      expect(waitMs).toBeGreaterThan(50_000)
      expect(waitMs).toBeLessThanOrEqual(100_000)
      await rig.pass(names, waitMs)
      expect(await kinds(times(3, () => take(bucket())))).toEqual(['go', 'wait', 'wait'])
    })

    it('is never fuller than it can be', async () => {
      await take(bucket())
      await rig.pass(names, 100 * MINUTE_MS)
      const passed = await kinds(times(20, () => take(bucket())))
      expect(passed.filter((passage) => passage === 'go')).toHaveLength(5)
    })

    it('changes nothing where it refuses', async () => {
      await times(5, () => take(bucket()))
      await rig.pass(names, 50_000)
      await times(50, () => take(bucket()))
      await rig.pass(names, 50_000)
      expect(await take(bucket())).toMatchObject({ kind: 'go' })
    })

    it('takes all tolls of a call, or none', async () => {
      const [calls, records] = [bucket(), bucket({ key: `${names}:records`, capacity: 10 })]
      const tolls = (count: number) => [
        { bucket: calls, tokens: 1 },
        { bucket: records, tokens: count },
      ]
      const host = `${names}.example.com`
      expect(await limiter.pass(host, tolls(8))).toMatchObject({ kind: 'go' })
      for (let refused = 0; refused < 10; refused += 1) {
        expect(await limiter.pass(host, tolls(3))).toMatchObject({ kind: 'wait', held: 'short' })
      }
      expect(await limiter.pass(host, tolls(2))).toMatchObject({ kind: 'go' })
      expect(await kinds(times(4, () => take(calls)))).toEqual(['go', 'go', 'go', 'wait'])
    })

    it('takes all that there is for a toll that is more', async () => {
      expect(await take(bucket(), 500)).toMatchObject({ kind: 'go' })
      expect(await take(bucket(), 500)).toMatchObject({ kind: 'wait', held: 'short' })
      await rig.pass(names, 500_000)
      expect(await take(bucket(), 500)).toMatchObject({ kind: 'go' })
    })

    it('keeps names apart', async () => {
      await times(5, () => take(bucket()))
      expect(await take(bucket({ key: `${names}:other` }))).toMatchObject({ kind: 'go' })
      expect(await take(bucket())).toMatchObject({ kind: 'wait' })
    })

    it('goes by the rate as it is set now', async () => {
      await times(5, () => take(bucket()))
      const passed = await kinds(
        times(2, () => take(bucket({ capacity: 50, refillPerSecond: 0.1 }))),
      )
      expect(passed).toEqual(['wait', 'wait'])
      await rig.pass(names, 30_000)
      expect(await kinds(times(3, () => take(bucket({ refillPerSecond: 0.1 }))))).not.toContain(
        'wait',
      )
    })
  })

  describe('lowered to what the other system says is left', () => {
    it('is lowered at once, and filled again from there', async () => {
      await limiter.lower(bucket(), 1)
      expect(await kinds(times(2, () => take(bucket())))).toEqual(['go', 'wait'])
      await rig.pass(names, 100_000)
      expect(await kinds(times(2, () => take(bucket())))).toEqual(['go', 'wait'])
    })

    it('is not raised', async () => {
      await times(5, () => take(bucket()))
      await limiter.lower(bucket(), 5)
      expect(await take(bucket())).toMatchObject({ kind: 'wait' })
    })

    it('owes nothing where less than nothing is left', async () => {
      await limiter.lower(bucket(), -1_000)
      await rig.pass(names, 100_000)
      expect(await take(bucket())).toMatchObject({ kind: 'go' })
    })
  })

  describe('blocked for as long as the other system says', () => {
    it('lets nothing through until then, and says for how long', async () => {
      await limiter.block(bucket(), 300_000)
      const blocked = await take(bucket())
      expect(blocked).toMatchObject({ kind: 'wait', held: 'blocked' })
      expect(blocked.kind === 'wait' && blocked.waitMs > 250_000 && blocked.waitMs <= 300_000).toBe(
        true,
      )
      await rig.pass(names, 250_000)
      expect(await take(bucket())).toMatchObject({ kind: 'wait', held: 'blocked' })
      await rig.pass(names, 50_000)
      expect(await take(bucket())).toMatchObject({ kind: 'go' })
    })

    it('also holds up who takes nothing of it', async () => {
      await limiter.block(bucket(), 300_000)
      expect(await take(bucket(), 0)).toMatchObject({ kind: 'wait', held: 'blocked' })
      await rig.pass(names, 300_000)
      expect(await kinds(times(20, () => take(bucket(), 0)))).not.toContain('wait')
    })

    it('is prolonged by a longer block, and not cut short by a shorter one', async () => {
      await limiter.block(bucket(), 300_000)
      await limiter.block(bucket(), 1_000)
      await rig.pass(names, 2_000)
      expect(await take(bucket())).toMatchObject({ kind: 'wait', held: 'blocked' })
      await limiter.block(bucket(), 10 * MINUTE_MS)
      await rig.pass(names, 300_000)
      expect(await take(bucket())).toMatchObject({ kind: 'wait', held: 'blocked' })
    })

    it('is not so for longer than a day, whatever the other system says', async () => {
      await limiter.block(bucket(), 30 * MAX_BLOCK_MS)
      await rig.pass(names, MAX_BLOCK_MS)
      expect(await take(bucket())).toMatchObject({ kind: 'go' })
    })
  })

  describe('of a host', () => {
    it('is not troubled by one call that dies, nor by a round of eight', async () => {
      await note('dead')
      expect(await ask()).toEqual({ kind: 'go', isSuspect: true })
      await note('dead', 8)
      expect(await kinds(times(8, ask))).not.toContain('wait')
    })

    it('leaves it alone after so many dead calls in a row, and not one earlier', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW - 1)
      expect(await ask()).toMatchObject({ kind: 'go' })
      await note('dead')
      const refused = await ask()
      expect(refused).toMatchObject({ kind: 'wait', held: 'dead' })
      expect(
        refused.kind === 'wait' && refused.waitMs > 30_000 && refused.waitMs <= PROBE_INTERVAL_MS,
      ).toBe(true)
    })

    it('begins to count anew with an answer', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW - 1)
      await note('answered')
      expect(await ask()).toEqual({ kind: 'go', isSuspect: false })
      await note('dead', DEAD_CALLS_IN_A_ROW - 1)
      expect(await ask()).toMatchObject({ kind: 'go' })
    })

    it('lets one of twenty through once a minute, until it is answered: then everybody, at once', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW)
      for (let minute = 1; minute <= 3; minute += 1) {
        expect(await kinds(times(20, ask))).not.toContain('go')
        await rig.pass(names, PROBE_INTERVAL_MS)
        const passed = await kinds(times(20, ask))
        expect(passed.filter((passage) => passage === 'go')).toHaveLength(1)
        await note('dead')
      }
      await note('answered')
      expect(await kinds(times(20, ask))).not.toContain('wait')
    })

    it('takes nothing of a bucket for a call to one that is dead', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW)
      await times(10, () => take(bucket()))
      await note('answered')
      expect(await kinds(times(5, () => take(bucket())))).not.toContain('wait')
    })

    it('does not spend the one call on somebody whose bucket is empty', async () => {
      await times(5, () => take(bucket()))
      await note('dead', DEAD_CALLS_IN_A_ROW)
      await limiter.block(bucket(), 10 * MINUTE_MS)
      await rig.pass(names, PROBE_INTERVAL_MS)
      expect(await take(bucket())).toMatchObject({ kind: 'wait', held: 'blocked' })
      expect(await ask()).toMatchObject({ kind: 'go' })
    })

    it('names the longest of what holds a call up', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW)
      await limiter.block(bucket(), 10 * MINUTE_MS)
      expect(await take(bucket())).toMatchObject({ held: 'blocked' })
      expect(await take(bucket({ key: `${names}:other` }))).toMatchObject({ held: 'dead' })
    })

    it('knows nothing of others', async () => {
      await note('dead', DEAD_CALLS_IN_A_ROW)
      expect(await limiter.pass(`other.${names}.example.com`, [])).toEqual({
        kind: 'go',
        isSuspect: false,
      })
    })
  })
})

describe('the limiter in memory', () => {
  it('keeps a bounded number of buckets, and forgets those that are full again first', async () => {
    const clock = createHandClock()
    const limiter = createMemoryLimiter(clock)
    const one = (n: number) => bucket({ key: `${names}:${n}`, capacity: 1 })
    await limiter.pass('a', [{ bucket: one(0), tokens: 1 }])
    clock.advance(MINUTE_MS)
    await limiter.pass('a', [{ bucket: one(1), tokens: 1 }])
    for (let n = 2; n < 10_001; n += 1) {
      await limiter.pass('a', [{ bucket: one(n), tokens: 1 }])
    }
    expect(await limiter.pass('a', [{ bucket: one(1), tokens: 1 }])).toMatchObject({ kind: 'wait' })
    await limiter.pass('a', [{ bucket: one(10_001), tokens: 1 }])
    expect(await limiter.pass('a', [{ bucket: one(1), tokens: 1 }])).toMatchObject({ kind: 'go' })
  })
})

describe.runIf(HAS_REDIS)('the limiter of several processes', () => {
  let own: Redis
  let one: RedisCoordination
  let other: RedisCoordination
  let proxy: TcpProxy
  const logger = createRecordingLogger()
  beforeAll(async () => {
    own = new Redis(redisUrl())
    const { hostname, port } = new URL(redisUrl())
    proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    one = await connectRedis({ url: redisUrl(), logger, clock: systemClock })
    const url = `redis://127.0.0.1:${proxy.port}`
    other = await connectRedis({ url, logger, clock: systemClock })
  })
  afterAll(async () => {
    await Promise.all([one.close(), other.close()])
    await proxy.close()
    own.disconnect()
  })
  const host = () => `${names}.example.com`
  const passTimes = async ({ limiter }: RedisCoordination, count: number) => {
    const asked = Array.from({ length: count }, () =>
      limiter.pass(host(), [{ bucket: bucket(), tokens: 1 }]),
    )
    return (await Promise.all(asked)).filter(({ kind }) => kind === 'go').length
  }

  it('is one', async () => {
    expect(await passTimes(one, 3)).toBe(3)
    expect(await passTimes(other, 10)).toBe(2)
    await Promise.all(
      Array.from({ length: DEAD_CALLS_IN_A_ROW }, () => one.limiter.note(host(), 'dead')),
    )
    expect(await other.limiter.pass(host(), [])).toMatchObject({ kind: 'wait', held: 'dead' })
  })

  it('leaves no key behind that means nothing any more', async () => {
    await passTimes(one, 2)
    await one.limiter.note(host(), 'dead')
    await one.limiter.block(bucket({ key: `${names}:blocked` }), 300_000)
    const [taken, blocked, dead] = await Promise.all([
      own.pttl(`tajo:bucket:${names}:calls`),
      own.pttl(`tajo:bucket:${names}:blocked`),
      own.pttl(`tajo:host:${host()}`),
    ])
    // Two of its tokens come back in 200 s.
    expect(taken).toBeGreaterThan(150_000)
    expect(taken).toBeLessThanOrEqual(201_000)
    expect(blocked).toBeGreaterThan(250_000)
    expect(blocked).toBeLessThanOrEqual(301_000)
    expect(dead).toBeGreaterThan(CIRCUIT_LIFE_MS - MINUTE_MS)
    expect(dead).toBeLessThanOrEqual(CIRCUIT_LIFE_MS)
    await one.limiter.note(host(), 'answered')
    expect(await own.exists(`tajo:host:${host()}`)).toBe(0)
  })

  it('does not stand still when the clock of Redis is set back by an hour', async () => {
    await passTimes(one, 5)
    await Promise.all(
      Array.from({ length: DEAD_CALLS_IN_A_ROW }, () => one.limiter.note(host(), 'dead')),
    )
    await own.hincrbyfloat(`tajo:bucket:${names}:calls`, 'at', 60 * MINUTE_MS)
    await own.hincrbyfloat(`tajo:host:${host()}`, 'probe', 60 * MINUTE_MS)
    const dead = await one.limiter.pass(host(), [])
    expect(dead).toEqual({ kind: 'wait', held: 'dead', waitMs: PROBE_INTERVAL_MS })
    const short = await one.limiter.pass(host(), [{ bucket: bucket(), tokens: 1 }])
    expect(short).toMatchObject({ kind: 'wait', held: 'short' })
    await own.hincrbyfloat(`tajo:host:${host()}`, 'probe', -PROBE_INTERVAL_MS)
    await own.hincrbyfloat(`tajo:bucket:${names}:calls`, 'at', -100_000)
    expect(await passTimes(one, 1)).toBe(1)
  })

  it('is each process’s own while Redis does not answer, and nobody waits for it for long', async () => {
    expect(await passTimes(one, 5)).toBe(5)
    proxy.freezeOpenConnections()
    const startedMs = performance.now()
    expect(await passTimes(other, 20)).toBe(5)
    await other.limiter.block(bucket(), 30_000)
    await other.limiter.lower(bucket(), 1)
    await other.limiter.note(host(), 'dead')
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    expect(logger.count('limiter.apart')).toBeGreaterThan(0)
  })
})

function openMemoryRig(): LimiterRig {
  const clock = createHandClock()
  return {
    limiter: createMemoryLimiter(clock),
    pass: (_, ms) => {
      clock.advance(ms)
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  }
}
