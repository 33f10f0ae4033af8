/** Leases, the same in Redis and in memory: one holder a name, changed only by who names its value (I1). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CoordinationUnavailableError, type Leases } from '../../src/coordination/lease.ts'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { startRedis, type TestService } from '../support/services.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const LONG_MS = 60_000
const SHORT_MS = 40

interface Rig {
  readonly leases: Leases
  /** Resolves when a lease of {@link SHORT_MS} has come to its end. */
  untilExpired(name: string): Promise<void>
  close(): Promise<void>
}

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  memory: openMemoryRig,
  ...(HAS_REDIS ? { redis: openRedisRig } : {}),
}

describe.each(Object.keys(RIGS))('leases in %s', (kind) => {
  let rig: Rig
  let leases: Leases
  beforeAll(async () => {
    rig = await (RIGS[kind] ?? openMemoryRig)()
    leases = rig.leases
  })
  afterAll(() => rig.close())

  it('gives a free one to whoever asks', async () => {
    const name = uniqueName()
    expect(await leases.findHolder(name)).toBeNull()
    expect(await leases.take(name, 'a', LONG_MS)).toEqual({ kind: 'taken' })
    expect(await leases.findHolder(name)).toBe('a')
  })

  it('names the holder of one that is held, and leaves it with them', async () => {
    const name = uniqueName()
    await leases.take(name, 'a', LONG_MS)
    expect(await leases.take(name, 'b', LONG_MS)).toEqual({ kind: 'held', heldBy: 'a' })
    expect(await leases.findHolder(name)).toBe('a')
  })

  it('keeps names apart', async () => {
    const [name, other] = [uniqueName(), uniqueName()]
    await leases.take(name, 'a', LONG_MS)
    expect(await leases.take(other, 'b', LONG_MS)).toEqual({ kind: 'taken' })
  })

  it('gives one to a single taker of twenty that ask at once', async () => {
    const name = uniqueName()
    const tokens = Array.from({ length: 20 }, (_, n) => `taker-${n}`)
    const results = await Promise.all(tokens.map((token) => leases.take(name, token, LONG_MS)))
    const holder = await leases.findHolder(name)
    expect(results.filter((result) => result.kind === 'taken')).toHaveLength(1)
    expect(results.filter((r) => r.kind === 'held' && r.heldBy === holder)).toHaveLength(19)
  })

  it('is free again when its life is over', async () => {
    const name = uniqueName()
    await leases.take(name, 'a', SHORT_MS)
    await rig.untilExpired(name)
    expect(await leases.findHolder(name)).toBeNull()
    expect(await leases.take(name, 'b', LONG_MS)).toEqual({ kind: 'taken' })
  })

  it('lives on for its holder who takes it again', async () => {
    const [name, control] = [uniqueName(), uniqueName()]
    await leases.take(name, 'a', SHORT_MS)
    expect(await leases.take(name, 'a', LONG_MS)).toEqual({ kind: 'taken' })
    await leases.take(control, 'a', SHORT_MS)
    await rig.untilExpired(control)
    expect(await leases.findHolder(name)).toBe('a')
  })

  describe('renewing', () => {
    it('prolongs the life of what one holds', async () => {
      const [name, control] = [uniqueName(), uniqueName()]
      await leases.take(name, 'a', SHORT_MS)
      expect(await leases.renew(name, 'a', LONG_MS)).toBe(true)
      await leases.take(control, 'a', SHORT_MS)
      await rig.untilExpired(control)
      expect(await leases.findHolder(name)).toBe('a')
    })

    it("refuses another's, and leaves its life as it was", async () => {
      const name = uniqueName()
      await leases.take(name, 'a', SHORT_MS)
      expect(await leases.renew(name, 'b', LONG_MS)).toBe(false)
      await rig.untilExpired(name)
      expect(await leases.findHolder(name)).toBeNull()
    })

    it('never takes: neither a free one nor one that has come to its end', async () => {
      const name = uniqueName()
      expect(await leases.renew(name, 'a', LONG_MS)).toBe(false)
      await leases.take(name, 'a', SHORT_MS)
      await rig.untilExpired(name)
      expect(await leases.renew(name, 'a', LONG_MS)).toBe(false)
      expect(await leases.findHolder(name)).toBeNull()
    })
  })

  describe('releasing', () => {
    it('frees what one holds', async () => {
      const name = uniqueName()
      await leases.take(name, 'a', LONG_MS)
      expect(await leases.release(name, 'a')).toBe(true)
      expect(await leases.findHolder(name)).toBeNull()
    })

    it("refuses another's and what is free", async () => {
      const name = uniqueName()
      expect(await leases.release(name, 'a')).toBe(false)
      await leases.take(name, 'a', LONG_MS)
      expect(await leases.release(name, 'b')).toBe(false)
      expect(await leases.findHolder(name)).toBe('a')
    })
  })

  describe('replacing', () => {
    it('puts one holder in the place of another', async () => {
      const name = uniqueName()
      await leases.take(name, 'dead', LONG_MS)
      expect(await leases.replace(name, 'dead', 'alive', LONG_MS)).toBe(true)
      expect(await leases.findHolder(name)).toBe('alive')
      expect(await leases.renew(name, 'dead', LONG_MS)).toBe(false)
    })

    it('refuses when somebody else holds it by now', async () => {
      const name = uniqueName()
      await leases.take(name, 'other', LONG_MS)
      expect(await leases.replace(name, 'dead', 'alive', LONG_MS)).toBe(false)
      expect(await leases.findHolder(name)).toBe('other')
    })

    it('takes one that is free by now', async () => {
      const name = uniqueName()
      expect(await leases.replace(name, 'dead', 'alive', LONG_MS)).toBe(true)
      expect(await leases.findHolder(name)).toBe('alive')
    })

    it('may be tried again by whoever did not hear the answer', async () => {
      const name = uniqueName()
      await leases.take(name, 'dead', LONG_MS)
      await leases.replace(name, 'dead', 'alive', LONG_MS)
      expect(await leases.replace(name, 'dead', 'alive', LONG_MS)).toBe(true)
    })

    it('lets one of twenty do it', async () => {
      const name = uniqueName()
      await leases.take(name, 'dead', LONG_MS)
      const tokens = Array.from({ length: 20 }, (_, n) => `taker-${n}`)
      const results = await Promise.all(
        tokens.map((token) => leases.replace(name, 'dead', token, LONG_MS)),
      )
      expect(results.filter(Boolean)).toHaveLength(1)
    })

    it('gives it the new life', async () => {
      const name = uniqueName()
      await leases.take(name, 'dead', LONG_MS)
      await leases.replace(name, 'dead', 'alive', SHORT_MS)
      await rig.untilExpired(name)
      expect(await leases.findHolder(name)).toBeNull()
    })
  })
})

describe.runIf(HAS_REDIS)('leases when Redis does not answer', () => {
  let server: TestService
  let coordination: RedisCoordination
  beforeAll(async () => {
    server = await startRedis({ isOwn: true })
    coordination = await connect(server.url)
  })
  afterAll(async () => {
    await coordination.close()
    await server.stop()
  })

  it('are unavailable within seconds while it is stopped, and there again after it', async () => {
    const name = uniqueName()
    await coordination.leases.take(name, 'a', LONG_MS)
    await server.kill('SIGSTOP')
    const startedMs = performance.now()
    await expect(coordination.leases.renew(name, 'a', LONG_MS)).rejects.toThrow(
      CoordinationUnavailableError,
    )
    expect(performance.now() - startedMs).toBeLessThan(4_000)
    expect(await coordination.isReachable()).toBe(false)

    await server.kill('SIGCONT')
    await expect.poll(() => coordination.isReachable(), { timeout: 10_000 }).toBe(true)
    expect(await coordination.leases.renew(name, 'a', LONG_MS)).toBe(true)
  })

  it('are unavailable while it is dead; what failed then is not sent later', async () => {
    const name = uniqueName()
    await server.kill('SIGKILL')
    await expect(coordination.leases.take(name, 'a', LONG_MS)).rejects.toThrow(
      CoordinationUnavailableError,
    )

    await server.restart()
    await expect.poll(() => coordination.isReachable(), { timeout: 10_000 }).toBe(true)
    expect(await coordination.leases.findHolder(name)).toBeNull()
    expect(await coordination.leases.take(name, 'b', LONG_MS)).toEqual({ kind: 'taken' })
  })

  it('wait for a reconnect that is short', async () => {
    const logger = createRecordingLogger()
    const proxy = await startTcpProxy(addressOf(server.url))
    const url = `redis://127.0.0.1:${proxy.port}`
    const behindProxy = await connectRedis({ url, logger, clock: systemClock })
    proxy.resetOpenConnections()
    await expect
      .poll(() => logger.count('redis.disconnected'), { interval: 1 })
      .toBeGreaterThanOrEqual(2)
    expect(await behindProxy.leases.take(uniqueName(), 'a', LONG_MS)).toEqual({ kind: 'taken' })
    await behindProxy.close()
    await proxy.close()
  })

  it('take no late answer for the answer to a later question', async () => {
    const [name, other] = [uniqueName(), uniqueName()]
    await coordination.leases.take(name, 'a', LONG_MS)
    const proxy = await startTcpProxy(addressOf(server.url))
    const behindProxy = await connect(`redis://127.0.0.1:${proxy.port}`)
    // The first look at the connection is answered by then: it is this question that comes too late.
    await behindProxy.leases.findHolder(other)
    proxy.setLatency(1_200)
    await expect(behindProxy.leases.findHolder(name)).rejects.toThrow(CoordinationUnavailableError)
    proxy.setLatency(0)
    expect(await behindProxy.leases.findHolder(other)).toBeNull()
    expect(await behindProxy.leases.findHolder(name)).toBe('a')
    await behindProxy.close()
    await proxy.close()
  })

  it('are unavailable from the start when nobody is there, and starting does not fail', async () => {
    const logger = createRecordingLogger()
    const nowhere = await startTcpProxy({ host: '127.0.0.1', port: 1 })
    const unreachable = await connectRedis({
      url: `redis://127.0.0.1:${nowhere.port}`,
      logger,
      clock: systemClock,
    })
    expect(logger.count('redis.unreachable')).toBe(1)
    expect(await unreachable.isReachable()).toBe(false)
    await expect(unreachable.leases.findHolder('any')).rejects.toThrow(CoordinationUnavailableError)
    await unreachable.close()
    await nowhere.close()
  })

  it('find a connection that is dead without a word, and make a new one', async () => {
    const proxy: TcpProxy = await startTcpProxy(addressOf(server.url))
    const behindProxy = await connect(`redis://127.0.0.1:${proxy.port}`, hastyClock)
    await expect.poll(() => behindProxy.isReachable()).toBe(true)
    proxy.freezeOpenConnections()
    expect(await behindProxy.isReachable()).toBe(false)
    await expect.poll(() => behindProxy.isReachable(), { timeout: 15_000 }).toBe(true)
    await behindProxy.close()
    await proxy.close()
  })
})

/** Its waits between two rounds are a hundredth as long; deadlines are as they are. */
const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
}

function openMemoryRig(): Promise<Rig> {
  let nowMs = 0
  const leases = createMemoryLeases({ ...systemClock, monotonicMs: () => nowMs })
  return Promise.resolve({
    leases,
    untilExpired: () => {
      nowMs += SHORT_MS
      return Promise.resolve()
    },
    close: () => Promise.resolve(),
  })
}

async function openRedisRig(): Promise<Rig> {
  const { leases, close } = await connect(redisUrl())
  return {
    leases,
    untilExpired: (name) => expect.poll(() => leases.findHolder(name), { interval: 5 }).toBeNull(),
    close,
  }
}

function connect(url: string, clock: Clock = systemClock): Promise<RedisCoordination> {
  return connectRedis({ url, logger: createRecordingLogger(), clock })
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

function uniqueName(): string {
  return `test-${randomUUID()}`
}
