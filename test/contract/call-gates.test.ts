/** The gates that connectors pass, what the HTTP client tells them, and what an HTTP destination takes at its own. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOpenGate } from '../../src/call-gates.ts'
import type { Bucket, CallGate } from '../../src/connectors/call-gate.ts'
import { ConnectorError } from '../../src/connectors/connector.ts'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { createHttpDestination } from '../../src/connectors/destinations/http-destination.ts'
import type { HttpRequest } from '../../src/connectors/http-client.ts'
import { DEAD_CALLS_IN_A_ROW, type Limiter } from '../../src/coordination/limiter.ts'
import { createMemoryLimiter } from '../../src/coordination/memory/limiter.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { createHandClock, type HandClock } from '../support/hand-clock.ts'
import { createLocalClient } from '../support/local-client.ts'
import { openConnection } from '../support/open-connection.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import { deliver, outgoing, outgoingRecords } from './destination-suite.ts'

const CALLS: Bucket = { name: 'calls', capacity: 2, refillPerSecond: 1 }
const ONE = [{ bucket: CALLS, tokens: 1 }]
const client = createLocalClient()
afterAll(() => client.close())

let clock: HandClock
let limiter: Limiter
beforeEach(() => {
  clock = createHandClock()
  limiter = createMemoryLimiter(clock)
})

/** Nobody listens there. */
const UNREACHABLE = 'http://127.0.0.1:1'

function open(connectionId = 'one', host = 'api.example.com'): CallGate {
  return createOpenGate({ limiter, clock, random: systemRandom })({ connectionId, host })
}

async function kill(gate: CallGate): Promise<void> {
  for (let calls = 0; calls < DEAD_CALLS_IN_A_ROW; calls += 1) {
    await gate.note('dead')
  }
}

describe('a gate', () => {
  it('says in plain words what holds a call up, and as which failure it counts', async () => {
    const gate = open()
    await gate.take([{ bucket: CALLS, tokens: 2 }])
    expect(await gate.take(ONE)).toEqual({
      ...{ kind: 'wait', waitMs: 1_000, failure: 'provider_rate_limited' },
      reason:
        'The calls that this connection may make to api.example.com are used up for the moment.',
    })
    await gate.block(CALLS, 20_000)
    expect(await gate.take(ONE)).toMatchObject({
      failure: 'provider_rate_limited',
      reason: 'api.example.com asked for a pause, which is not over yet.',
    })
    await kill(gate)
    expect(await gate.take([])).toEqual({
      ...{ kind: 'wait', waitMs: 60_000, failure: 'provider_unavailable' },
      reason:
        'api.example.com has not answered for a while, so it is asked once a minute only, until it answers.',
    })
  })

  it('shares its buckets with its connection, its circuit with its connection to one host, and with nobody else', async () => {
    await open('one').take([{ bucket: CALLS, tokens: 2 }])
    expect(await open('one', 'eu.example.com').take(ONE)).toMatchObject({ kind: 'wait' })
    expect(await open('two').take(ONE)).toEqual({ kind: 'go' })
    await kill(open('one'))
    expect(await open('one').take([])).toMatchObject({ kind: 'wait' })
    expect(await open('two').take([])).toEqual({ kind: 'go' })
    expect(await open('one', 'eu.example.com').take([])).toEqual({ kind: 'go' })
  })

  it('lets who waits for the end of a pause back at different moments, and nobody before it', async () => {
    await open().block(CALLS, 20_000)
    const turns = await Promise.all(Array.from({ length: 50 }, () => open().take(ONE)))
    const waits = turns.map((turn) => (turn.kind === 'wait' ? turn.waitMs : 0))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(20_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(25_000)
    expect(new Set(waits).size).toBeGreaterThan(30)
  })

  it('waits by the clock where a caller wants in, and takes its toll then', async () => {
    const gate = open()
    await gate.take([{ bucket: CALLS, tokens: 2 }])
    const { signal } = new AbortController()
    let isIn = false
    const entering = gate.enter(ONE, { signal, atMostMs: 5_000 }).then(() => {
      isIn = true
    })
    await clock.asleep()
    expect(isIn).toBe(false)
    clock.advance(1_000)
    await entering
    expect(await gate.take(ONE)).toMatchObject({ kind: 'wait', waitMs: 1_000 })
  })

  it('refuses at once who would wait for too long, with the failure and the wait', async () => {
    const gate = open()
    await gate.block(CALLS, 90_000)
    const { signal } = new AbortController()
    const refusal = await gate
      .enter(ONE, { signal, atMostMs: 60_000 })
      .catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(ConnectorError)
    expect(refusal).toMatchObject({ code: 'provider_rate_limited' })
    expect((refusal as ConnectorError).retryAfterMs).toBeGreaterThanOrEqual(90_000)
  })

  it('lets a caller go that is stopped while it waits, and takes nothing', async () => {
    const gate = open()
    await gate.take([{ bucket: CALLS, tokens: 2 }])
    const stopping = new AbortController()
    const entering = gate.enter(ONE, { signal: stopping.signal, atMostMs: 60_000 })
    await clock.asleep()
    stopping.abort(new Error('the run drains'))
    await expect(entering).rejects.toThrow('the run drains')
    clock.advance(1_000)
    expect(await gate.take(ONE)).toEqual({ kind: 'go' })
  })

  it('takes no notice of what is no number', async () => {
    const gate = open()
    await gate.correct(CALLS, Number.NaN)
    await gate.block(CALLS, Number.NaN)
    expect(await gate.take(ONE)).toEqual({ kind: 'go' })
    await gate.correct(CALLS, 0)
    expect(await gate.take(ONE)).toMatchObject({ kind: 'wait' })
  })

  it('tells of answers only where a call has died since the last one', async () => {
    const told: string[] = []
    const { note } = limiter
    limiter = {
      ...limiter,
      note: (host, went) => {
        told.push(went)
        return note(host, went)
      },
    }
    const [gate, other] = [open('one'), open('one')]
    for (let calls = 0; calls < 5; calls += 1) {
      await gate.take([])
      await gate.note('answered')
    }
    expect(told).toEqual(['answered'])
    await other.note('dead')
    await gate.take([])
    await gate.note('answered')
    await gate.note('answered')
    expect(told).toEqual(['answered', 'dead', 'answered'])
    expect(await gate.take([])).toEqual({ kind: 'go' })
  })
})

describe('the HTTP client tells the gate', () => {
  let standIn: RecordingDestination
  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  const told = async (given: Partial<HttpRequest> = {}) => {
    const heard: string[] = []
    const gate = { ...open(), note: (went: string) => Promise.resolve(void heard.push(went)) }
    await client
      .send({
        ...{ method: 'POST', url: new URL(standIn.url), headers: {}, body: '{}', gate },
        ...{ deadlineMs: 5_000, signal: new AbortController().signal },
        beforeSend: () => undefined,
        ...given,
      })
      .catch(() => undefined)
    return heard
  }
  const html = { 'content-type': 'text/html' }

  it.each<readonly [string, Reaction]>([
    ['an answer', { kind: 'answer', status: 200, body: '{}' }],
    ['a refusal', { kind: 'answer', status: 422, body: '{}' }],
    ['refused access', { kind: 'answer', status: 401 }],
    ['that there is nothing at the address', { kind: 'answer', status: 404, headers: html }],
    ['a request to slow down', { kind: 'answer', status: 429 }],
    ['a redirect', { kind: 'answer', status: 302 }],
    ['an answer that is too long', { kind: 'answer', status: 200, body: 'x'.repeat(2_000_000) }],
  ])('of %s that somebody answered', async (_, reaction) => {
    standIn.script(reaction)
    expect(await told()).toEqual(['answered'])
  })

  it.each<readonly [string, Reaction]>([
    ['an error', { kind: 'answer', status: 500, body: '{}' }],
    ['an API that is away', { kind: 'answer', status: 503, body: '{}' }],
    ['a proxy’s page', { kind: 'answer', status: 502, body: '<html>', headers: html }],
    [
      'a proxy’s page that looks like a success',
      { kind: 'answer', status: 200, body: '<html>', headers: html },
    ],
    ['a reset', { kind: 'reset' }],
    ['half an answer', { kind: 'halfBody' }],
    ['no answer', { kind: 'hang' }],
  ])('of %s that the call is dead', async (_, reaction) => {
    standIn.script(reaction)
    expect(await told({ deadlineMs: 300 })).toEqual(['dead'])
  })

  it('that nobody is there', async () => {
    await standIn.close()
    expect(await told()).toEqual(['dead'])
    standIn = await startRecordingDestination()
  })

  it.each([
    ['a name that does not exist', 'http://a..b/'],
    ['an address that must not be reached', 'http://10.0.0.1/'],
  ])('nothing of %s', async (_, url) => {
    expect(await told({ url: new URL(url) })).toEqual([])
  })

  it('nothing of a certificate, of a run that stops, and of a call that was not made', async () => {
    expect(await told({ url: new URL(standIn.url.replace('http:', 'https:')) })).toEqual([])
    const refuse = () => {
      throw new Error('the lease is lost')
    }
    expect(await told({ beforeSend: refuse })).toEqual([])
    standIn.script({ kind: 'hang' })
    const stopping = new AbortController()
    const stopped = told({ signal: stopping.signal })
    await expect.poll(() => standIn.requests.length, { interval: 5 }).toBe(1)
    stopping.abort(new Error('the run drains'))
    expect(await stopped).toEqual([])
  })
})

describe('an http destination', () => {
  let standIn: RecordingDestination
  beforeEach(async () => {
    standIn = await startRecordingDestination()
  })
  afterEach(() => standIn.close())

  const connector = () => {
    const openGate = createOpenGate({ limiter, clock, random: systemRandom })
    return createHttpDestination({ client, openGate })
  }
  const openWriter = (given: { config?: object; options?: object; connectionId?: string } = {}) => {
    const { config = {}, options = {}, connectionId = 'one' } = given
    const connected = openConnection({ connectionId, config: { baseUrl: standIn.url, ...config } })
    const parsed = connector().objectOptions.parse(options)
    return connector().open({ ...connected, object: '/contacts', options: parsed })
  }
  const turns = async (writer: DestinationWriter, count: number) => {
    const kinds: string[] = []
    for (let asked = 0; asked < count; asked += 1) {
      kinds.push((await writer.takeTurn(1)).kind)
    }
    return kinds
  }

  it.each([
    [0.5, 1, 0],
    [10, 1, 9],
    [200, 20, 180],
  ])(
    'of %d calls a second lets %i through at once, and so many more in the second after it: %i',
    async (maxCallsPerSecond, atOnce, after) => {
      const writer = await openWriter({ config: { maxCallsPerSecond } })
      const first = await turns(writer, 400)
      expect(first.filter((turn) => turn === 'go')).toHaveLength(atOnce)
      let passed = 0
      // A moment short of a second: what comes with its end belongs to the next one.
      for (let elapsedMs = 0; elapsedMs < 995; elapsedMs += 5) {
        clock.advance(5)
        passed += (await turns(writer, 3)).filter((turn) => turn === 'go').length
      }
      expect(passed).toBeLessThanOrEqual(after)
      expect(passed).toBeGreaterThanOrEqual(after - 1)
    },
  )

  it('without a rate lets everything through', async () => {
    expect(await turns(await openWriter(), 100)).not.toContain('wait')
  })

  it('asked for a pause keeps it with every call of its connection, in every run, and with no other', async () => {
    const [writer, other, apart] = [
      await openWriter(),
      await openWriter(),
      await openWriter({ connectionId: 'two' }),
    ]
    standIn.script({ kind: 'answer', status: 429, headers: { 'retry-after': '30' } })
    await deliver(writer, outgoingRecords(1))
    expect(await turns(other, 1)).toEqual(['wait'])
    expect(await turns(apart, 1)).toEqual(['go'])
    clock.advance(30_000)
    expect(await turns(other, 1)).toEqual(['go'])
  })

  it('puts its questions in turn, and says of those that it did not get to that they are unanswered', async () => {
    const options = { deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' }
    const writer = await openWriter({ config: { maxCallsPerSecond: 1 }, options })
    await writer.takeTurn(1)
    const { signal } = new AbortController()
    const keys = [outgoing(1).deliveryKey]
    const asking = writer.lookUp?.ask({ deliveryKeys: keys, signal })
    await clock.asleep()
    expect(standIn.questions).toEqual([])
    clock.advance(1_000)
    expect(await asking).toEqual([{ kind: 'absent' }])
    expect(standIn.questions).toHaveLength(1)

    standIn.script({ kind: 'answer', status: 429, headers: { 'retry-after': '90' } })
    await deliver(writer, outgoingRecords(1))
    expect(await writer.lookUp?.ask({ deliveryKeys: keys, signal })).toEqual([
      expect.objectContaining({ kind: 'unknown', failure: 'provider_rate_limited' }),
    ])
    expect(standIn.questions).toHaveLength(1)
  })

  it('is tested without waiting for a turn, and known to be alive from then on', async () => {
    const writer = await openWriter()
    standIn.always({ kind: 'reset' })
    for (let calls = 0; calls < DEAD_CALLS_IN_A_ROW; calls += 1) {
      await deliver(writer, outgoingRecords(1))
    }
    expect(await writer.takeTurn(1)).toMatchObject({
      kind: 'wait',
      failure: 'provider_unavailable',
    })
    const connection = openConnection({ connectionId: 'one', config: { baseUrl: standIn.url } })
    await connector().testConnection(connection)
    expect(await writer.takeTurn(1)).toEqual({ kind: 'go' })
  })

  it('is held up by no test of it, however many died', async () => {
    const nowhere = openConnection({ connectionId: 'one', config: { baseUrl: UNREACHABLE } })
    for (let tests = 0; tests < DEAD_CALLS_IN_A_ROW; tests += 1) {
      await expect(connector().testConnection(nowhere)).rejects.toThrow()
    }
    const writer = await openWriter({ config: { baseUrl: UNREACHABLE } })
    expect(await writer.takeTurn(1)).toEqual({ kind: 'go' })
  })
})
