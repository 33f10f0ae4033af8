/** One rate and one circuit for all processes, counted at a real HTTP server; and what happens without them. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOpenGate } from '../../src/call-gates.ts'
import { FREE_GATE, type OpenGate } from '../../src/connectors/call-gate.ts'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import type { Limiter } from '../../src/coordination/limiter.ts'
import { createMemoryLimiter } from '../../src/coordination/memory/limiter.ts'
import { connectRedis, type RedisCoordination } from '../../src/coordination/redis/redis.ts'
import { waitForTurn } from '../../src/engine/turns.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { type LimiterRig, openLimiterRig } from '../support/limiter-rig.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { HAS_REDIS, redisUrl } from '../support/redis.ts'
import { newId } from '../support/store-seed.ts'
import { deliver, outgoing } from './destination-suite.ts'

const client = createLocalClient()
afterAll(() => client.close())

const openGateOf = (limiter: Limiter): OpenGate =>
  createOpenGate({ limiter, clock: systemClock, random: systemRandom })

function openWriter(
  openGate: OpenGate,
  url: string,
  given: { connectionId: string; maxCallsPerSecond?: number },
) {
  const { connectionId, ...config } = given
  const connector = createHttpDestination({ client, openGate })
  return connector.open({
    ...openConnection({ connectionId, config: { baseUrl: url, ...config } }),
    ...{ object: '/contacts', options: connector.objectOptions.parse({}) },
  })
}

describe.runIf(HAS_REDIS)('the rate of a connection, 10 calls a second', () => {
  let redis: Redis
  let processes: readonly RedisCoordination[]
  let server: Server
  let arrivals: number[]
  const redisNowMs = async () => {
    const [seconds, micros] = await redis.time()
    return Number(seconds) * 1_000 + Number(micros) / 1_000
  }
  beforeAll(async () => {
    redis = new Redis(redisUrl())
    const options = { url: redisUrl(), logger: createRecordingLogger(), clock: systemClock }
    processes = await Promise.all(Array.from({ length: 4 }, () => connectRedis(options)))
    server = createServer(async (request, response) => {
      arrivals.push(await redisNowMs())
      request.resume()
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await Promise.all(processes.map(({ close }) => close()))
    server.close()
    redis.disconnect()
  })

  /** Four processes with two workers each make so many calls together, each as soon as it may. */
  const makeCalls = async (gateOf: (process: RedisCoordination) => OpenGate, calls: number) => {
    arrivals = []
    const { port } = server.address() as AddressInfo
    const connectionId = newId()
    const begunAtMs = await redisNowMs()
    const granted: { readonly afterMs: number; readonly beforeMs: number }[] = []
    const queue = Array.from({ length: calls }, (_, n) => outgoing(n + 1)).values()
    const work = async (writer: DestinationWriter) => {
      for (const record of queue) {
        const { signal } = new AbortController()
        let afterMs = 0
        const watched = {
          ...writer,
          takeTurn: async (records: number) => {
            afterMs = await redisNowMs()
            return await writer.takeTurn(records)
          },
        }
        await waitForTurn({ writer: watched, clock: systemClock, signal }, 1)
        granted.push({ afterMs, beforeMs: await redisNowMs() })
        await deliver(writer, [record])
      }
    }
    const writers = await Promise.all(
      processes.map((process) =>
        openWriter(gateOf(process), `http://127.0.0.1:${port}`, {
          connectionId,
          maxCallsPerSecond: 10,
        }),
      ),
    )
    await Promise.all([...writers, ...writers].map(work))
    return { begunAtMs, granted }
  }
  /** Arrivals for which there had been no time, had one call been let through at once and then one each 100 ms. */
  const countTooEarly = (begunAtMs: number) => {
    const inOrder = [...arrivals].sort((one, two) => one - two)
    return inOrder.filter((atMs, index) => index > (atMs - begunAtMs) / 100).length
  }

  it('is kept by four processes together, in every span of time', async () => {
    const { begunAtMs, granted } = await makeCalls(({ limiter }) => openGateOf(limiter), 16)
    expect(arrivals).toHaveLength(16)
    expect(countTooEarly(begunAtMs)).toBe(0)
    for (const { afterMs } of granted) {
      for (const { beforeMs } of granted) {
        const inSpan = granted.filter((one) => one.afterMs >= afterMs && one.beforeMs <= beforeMs)
        expect(inSpan.length).toBeLessThanOrEqual(1 + Math.max(0, beforeMs - afterMs) / 100)
      }
    }
  })

  it.each<readonly [string, () => OpenGate]>([
    ['each process keeps it for itself', () => openGateOf(createMemoryLimiter(systemClock))],
    ['nobody does', () => () => FREE_GATE],
  ])('is not kept where %s (control)', async (_, gateOf) => {
    const { begunAtMs } = await makeCalls(gateOf, 16)
    expect(countTooEarly(begunAtMs)).toBeGreaterThan(5)
  })
})

describe.runIf(HAS_REDIS)('a vendor that is dead for five minutes, and eight workers', () => {
  const MINUTES = 5
  const connectionId = newId()
  /** As many calls as a run has under way, each tried as often as an attempt does. */
  const CALLS_AT_ONCE = 8
  const TRIES = 4
  let rigs: readonly LimiterRig[]
  let standIn: RecordingDestination
  beforeAll(async () => {
    rigs = await Promise.all(Array.from({ length: 4 }, () => openLimiterRig(redisUrl())))
    standIn = await startRecordingDestination()
  })
  afterAll(async () => {
    await standIn.close()
    await Promise.all(rigs.map((rig) => rig.close()))
  })

  const openWorkers = (gateOf: (limiter: Limiter) => OpenGate) =>
    Promise.all(
      [...rigs, ...rigs].map(({ limiter }) =>
        openWriter(gateOf(limiter), standIn.url, { connectionId }),
      ),
    )
  /** One attempt of every worker. Returns how many calls the vendor got. */
  const attemptOnce = async (workers: readonly DestinationWriter[]) => {
    const before = standIn.requests.length
    const call = async (writer: DestinationWriter, number: number) => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const turn = await writer.takeTurn(1)
        if (turn.kind === 'wait') {
          expect(turn.failure).toBe('provider_unavailable')
          expect(turn.waitMs).toBeLessThanOrEqual(60_000)
          return
        }
        await deliver(writer, [outgoing(number)])
      }
    }
    await Promise.all(
      workers.flatMap((writer) =>
        Array.from({ length: CALLS_AT_ONCE }, (_, n) => call(writer, n + 1)),
      ),
    )
    return standIn.requests.length - before
  }
  const passMinute = () => rigs[0]?.pass(`${connectionId}@${new URL(standIn.url).host}`, 60_000)

  it('cost one call a minute once it is known to be dead, and none is held up once it answers', async () => {
    standIn.always({ kind: 'reset' })
    const workers = await openWorkers(openGateOf)
    const calls = [await attemptOnce(workers)]
    for (let minute = 1; minute < MINUTES; minute += 1) {
      expect(await attemptOnce(workers)).toBe(0)
      await passMinute()
      calls.push(await attemptOnce(workers))
    }
    const [first = 0, ...later] = calls
    // What was under way when the circuit opened, and the dead calls before.
    expect(first).toBeLessThanOrEqual(8 * CALLS_AT_ONCE + 32)
    expect(later).toEqual(later.map(() => 1))

    standIn.always({ kind: 'apply' })
    await passMinute()
    expect(await attemptOnce(workers.slice(0, 1))).toBeGreaterThanOrEqual(1)
    expect(await attemptOnce(workers)).toBe(8 * CALLS_AT_ONCE * TRIES)
  })

  it('cost hundreds of them without the circuit (control)', async () => {
    standIn.always({ kind: 'reset' })
    const workers = await openWorkers(() => () => FREE_GATE)
    let calls = 0
    for (let minute = 0; minute < 2; minute += 1) {
      calls += await attemptOnce(workers)
    }
    expect(calls).toBeGreaterThan(400)
  })
})
