import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Bus } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createRecordingLogger, type RecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { startRedis, type TestService } from '../support/services.ts'

interface Rig {
  readonly bus: Bus
  readonly logger: RecordingLogger
  close(): Promise<void>
}

const RIGS: Readonly<Record<string, () => Promise<Rig>>> = {
  memory: openMemoryRig,
  ...(HAS_REDIS ? { redis: () => openRedisRig(redisUrl()) } : {}),
}

describe.each(Object.keys(RIGS))('the bus in %s', (kind) => {
  let rig: Rig
  let bus: Bus
  let channel: string
  beforeAll(async () => {
    rig = await (RIGS[kind] ?? openMemoryRig)()
    bus = rig.bus
  })
  beforeEach(() => {
    channel = `test.${randomUUID()}`
  })
  afterAll(() => rig.close())

  it('carries a message to every listener of its channel, in order', async () => {
    const [one, two, other] = await Promise.all([
      listen(bus, channel),
      listen(bus, channel),
      listen(bus, `${channel}.other`),
    ])
    await bus.publish(channel, { n: 1 })
    await bus.publish(channel, { n: 2, nested: { list: ['a', null] } })
    await bus.publish(`${channel}.other`, { n: 3 })
    const expected = [{ n: 1 }, { n: 2, nested: { list: ['a', null] } }]
    await expect.poll(() => one.heard).toEqual(expected)
    await expect.poll(() => two.heard).toEqual(expected)
    await expect.poll(() => other.heard).toEqual([{ n: 3 }])
  })

  it('carries nothing to a listener that has left, and goes on for the others', async () => {
    const [leaving, staying] = [await listen(bus, channel), await listen(bus, channel)]
    await leaving.unsubscribe()
    await bus.publish(channel, { n: 1 })
    await expect.poll(() => staying.heard).toEqual([{ n: 1 }])
    expect(leaving.heard).toEqual([])
  })

  it('takes leaving twice for leaving once', async () => {
    const [leaving, staying] = [await listen(bus, channel), await listen(bus, channel)]
    await leaving.unsubscribe()
    await leaving.unsubscribe()
    await bus.publish(channel, { n: 1 })
    await expect.poll(() => staying.heard).toEqual([{ n: 1 }])
  })

  it('is heard by one who comes right after the last has left', async () => {
    const first = await listen(bus, channel)
    await first.unsubscribe()
    const second = await listen(bus, channel)
    await bus.publish(channel, { n: 1 })
    await expect.poll(() => second.heard).toEqual([{ n: 1 }])
    expect(first.heard).toEqual([])
  })

  it('lets no listener harm another by throwing', async () => {
    const logged = rig.logger.count('bus.listener_failed')
    await bus.subscribe(channel, () => {
      throw new Error('a listener that fails')
    })
    const other = await listen(bus, channel)
    await bus.publish(channel, { n: 1 })
    await expect.poll(() => other.heard).toEqual([{ n: 1 }])
    expect(rig.logger.count('bus.listener_failed')).toBe(logged + 1)
  })

  it('hands out copies: what the publisher changes afterwards is not seen', async () => {
    const { heard } = await listen(bus, channel)
    const message = { counters: { read: 1 } }
    const published = bus.publish(channel, message)
    message.counters.read = 2
    await published
    await expect.poll(() => heard).toEqual([{ counters: { read: 1 } }])
  })

  it("calls a listener outside of the publisher's asynchronous context", async () => {
    const context = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    await bus.subscribe(channel, () => seen.push(context.getStore()))
    await context.run('a transaction', () => bus.publish(channel, { n: 1 }))
    await expect.poll(() => seen).toEqual([undefined])
  })

  it('takes a publication that nobody listens to', async () => {
    await expect(bus.publish(channel, { n: 1 })).resolves.toBeUndefined()
  })
})

describe.runIf(HAS_REDIS)('the bus between processes', () => {
  let here: Rig
  let there: Rig
  let outsider: Redis
  let channel: string
  beforeAll(async () => {
    here = await openRedisRig(redisUrl())
    there = await openRedisRig(redisUrl())
    outsider = new Redis(redisUrl())
  })
  beforeEach(() => {
    channel = `test.${randomUUID()}`
  })
  afterAll(async () => {
    outsider.disconnect()
    await Promise.all([here.close(), there.close()])
  })

  it('carries a message from one to the other', async () => {
    const { heard } = await listen(here.bus, channel)
    await there.bus.publish(channel, { n: 1 })
    await expect.poll(() => heard).toEqual([{ n: 1 }])
  })

  it('has one subscription a process for many listeners, and none after the last', async () => {
    const listeners = await Promise.all(Array.from({ length: 30 }, () => listen(here.bus, channel)))
    expect(await countSubscribers(outsider, channel)).toBe(1)
    const [last, ...others] = listeners
    await Promise.all(others.map(({ unsubscribe }) => unsubscribe()))
    expect(await countSubscribers(outsider, channel)).toBe(1)
    await last?.unsubscribe()
    await expect.poll(() => countSubscribers(outsider, channel)).toBe(0)
  })

  it.each([
    ['no JSON', 'hello'],
    ['no object', '[1, 2]'],
    ['half an object', '{"n":'],
    ['nothing', ''],
    ['too long', JSON.stringify({ text: 'x'.repeat(70_000) })],
  ])('refuses what is %s, and goes on', async (_what, garbage) => {
    const { heard } = await listen(here.bus, channel)
    const refused = here.logger.count('bus.message_refused')
    await outsider.publish(`tajo:${channel}`, garbage)
    await there.bus.publish(channel, { n: 1 })
    await expect.poll(() => heard).toEqual([{ n: 1 }])
    expect(here.logger.count('bus.message_refused')).toBe(refused + 1)
  })
})

describe.runIf(HAS_REDIS)('the bus when Redis comes and goes', () => {
  let server: TestService
  let rig: Awaited<ReturnType<typeof openRedisRig>>
  let channel: string
  beforeEach(async () => {
    channel = `test.${randomUUID()}`
    server = await startRedis({ isOwn: true })
    rig = await openRedisRig(server.url)
  })
  afterEach(async () => {
    await rig.close()
    await server.stop()
  })

  it('tells of the gap when it is heard again, and then carries messages', async () => {
    const { heard } = await listen(rig.bus, channel)
    const gaps = countGaps(rig.bus)
    await server.kill('SIGKILL')
    await server.restart()
    await expect.poll(() => gaps.count, { timeout: 10_000 }).toBe(1)
    await expect.poll(() => rig.coordination.isReachable()).toBe(true)
    await rig.bus.publish(channel, { n: 1 })
    await expect.poll(() => heard).toEqual([{ n: 1 }])
  })

  it('tells nobody of a gap who has asked not to be told', async () => {
    await listen(rig.bus, channel)
    const [told, untold] = [countGaps(rig.bus), countGaps(rig.bus)]
    untold.stop()
    await server.kill('SIGKILL')
    await server.restart()
    await expect.poll(() => told.count, { timeout: 10_000 }).toBe(1)
    expect(untold.count).toBe(0)
  })

  it('takes a publication while Redis is dead, and logs one outage once', async () => {
    await server.kill('SIGKILL')
    await rig.bus.publish(channel, { n: 1 })
    await rig.bus.publish(channel, { n: 2 })
    expect(rig.logger.count('bus.publish_failed')).toBe(1)
  })

  it('takes a publication within seconds while Redis is stopped', async () => {
    await server.kill('SIGSTOP')
    const startedMs = performance.now()
    await rig.bus.publish(channel, { n: 1 })
    expect(performance.now() - startedMs).toBeLessThan(4_000)
    expect(rig.logger.count('bus.publish_failed')).toBe(1)
  })

  it.each([
    ['dead', 'SIGKILL'],
    ['stopped', 'SIGSTOP'],
  ] as const)(
    'takes who subscribes while Redis is %s, and tells when they are heard',
    async (_state, signal) => {
      const gaps = countGaps(rig.bus)
      await server.kill(signal)
      const { heard } = await listen(rig.bus, channel)
      expect(gaps.count).toBe(0)
      await (signal === 'SIGKILL' ? server.restart() : server.kill('SIGCONT'))
      await expect.poll(() => gaps.count, { timeout: 10_000 }).toBe(1)
      await expect.poll(() => rig.coordination.isReachable(), { timeout: 10_000 }).toBe(true)
      await rig.bus.publish(channel, { n: 1 })
      await expect.poll(() => heard).toEqual([{ n: 1 }])
    },
  )

  it('forgets who left while Redis was dead', async () => {
    const [leaving, staying] = [
      await listen(rig.bus, channel),
      await listen(rig.bus, `${channel}.other`),
    ]
    const gaps = countGaps(rig.bus)
    await server.kill('SIGKILL')
    await leaving.unsubscribe()
    await server.restart()
    await expect.poll(() => gaps.count, { timeout: 10_000 }).toBe(1)
    const outsider = new Redis(server.url)
    expect(await countSubscribers(outsider, channel)).toBe(0)
    expect(await countSubscribers(outsider, `${channel}.other`)).toBe(1)
    outsider.disconnect()
    expect(staying.heard).toEqual([])
  })

  it('closes while Redis is dead, without a promise left behind', async () => {
    await listen(rig.bus, channel)
    await server.kill('SIGKILL')
    await listen(rig.bus, `${channel}.other`)
    await rig.coordination.close()
    expect(await rig.coordination.isReachable()).toBe(false)
  })
})

function openMemoryRig(): Promise<Rig> {
  const logger = createRecordingLogger()
  return Promise.resolve({ bus: createMemoryBus(logger), logger, close: () => Promise.resolve() })
}

async function openRedisRig(url: string): Promise<Rig & { coordination: RedisCoordination }> {
  const logger = createRecordingLogger()
  const coordination = await connectRedis({ url, logger, clock: systemClock })
  return { bus: coordination.bus, logger, close: coordination.close, coordination }
}

async function listen(bus: Bus, channel: string) {
  const heard: unknown[] = []
  const unsubscribe = await bus.subscribe(channel, (message) => heard.push(message))
  return { heard, unsubscribe }
}

function countGaps(bus: Bus): { readonly count: number; stop(): void } {
  let count = 0
  const stop = bus.onGap(() => {
    count += 1
  })
  return {
    get count() {
      return count
    },
    stop,
  }
}

async function countSubscribers(outsider: Redis, channel: string): Promise<number> {
  const answer = await outsider.pubsub('NUMSUB', `tajo:${channel}`)
  return Number(answer[1])
}
