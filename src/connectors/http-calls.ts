/**
 * The calls over an HTTP connection, past its gate.
 *
 * Invariants: a write takes its toll before it is reserved and never here; a question takes its own. Whatever asks for
 * a pause gets it from every call of the connection, in all processes.
 */
import type { Bucket, CallGate, OpenGate, Toll, Turn } from './call-gate.ts'
import { ConnectorError, type OpenConnection } from './connector.ts'
import { classifyResult, classifyStatus } from './http-answer.ts'
import type { HttpClient, HttpRequest, HttpResult } from './http-client.ts'
import { httpConnectionConfig, makeHeaders } from './http-connection.ts'
import { isWebPage } from './web-page.ts'

/** A question is not reserved: it may wait, but not for longer than a call of an attempt does. */
const MAX_QUESTION_WAIT_MS = 60_000
/** A person waits for it. */
const TEST_DEADLINE_MS = 10_000
/** What APIs answer at their base, where there is nothing to get. */
const NOTHING_THERE: ReadonlySet<number> = new Set([404, 405, 406, 410, 415])
/** Statuses with which an API says that it did not take a call, and when it will. */
const PAUSED: ReadonlySet<number> = new Set([425, 429, 503])
/** Up to so many calls a second are spread evenly. */
const EVEN_RATE = 10
/** Of a higher rate, what may come at once; so much less is let through later. */
const BURST_SHARE = 0.1
/** Where no rate is set the bucket only keeps what the API asks for. */
const NO_RATE: Bucket = { name: 'calls', capacity: 1, refillPerSecond: 1 }

export interface HttpCalls {
  /** Takes what one call costs, or says how long to wait first. */
  takeTurn(): Promise<Turn>
  /** A call whose turn was taken. */
  send(request: HttpRequest): Promise<HttpResult>
  /** One that a person waits for: it takes no turn, and that nobody answers it is held against nobody. */
  probe(request: HttpRequest): Promise<HttpResult>
  /** A question: waits for its turn. Rejects with ConnectorError where that takes too long, and as the client does. */
  ask(request: HttpRequest): Promise<HttpResult>
}

export function createHttpCalls(
  client: HttpClient,
  openGate: OpenGate,
  { connectionId, config }: Pick<OpenConnection, 'connectionId' | 'config'>,
): HttpCalls {
  const { baseUrl, maxCallsPerSecond } = httpConnectionConfig.parse(config)
  const gate = openGate({ connectionId, host: new URL(baseUrl).host })
  const toll = makeToll(maxCallsPerSecond)
  const send = async (request: HttpRequest): Promise<HttpResult> => {
    const result = await client.send({ ...request, gate })
    await keepPause(gate, toll.bucket, result)
    return result
  }
  return {
    takeTurn: () => gate.take([toll]),
    send,
    probe: async (request) => {
      const result = await client.send(request)
      if (result.kind === 'response' && !isWebPage(result) && result.status < 500) {
        await gate.note('answered')
      }
      return result
    },
    ask: async (request) => {
      await gate.enter([toll], { signal: request.signal, atMostMs: MAX_QUESTION_WAIT_MS })
      return await send(request)
    },
  }
}

/**
 * In no second more than the rate. What a bucket lets through in a second is what it holds and what flows into it: at
 * a low rate it holds one call, so that they come one after the other. At a high one a wait is shorter than a
 * process can keep it to the millisecond, and what is not taken in time would be lost.
 */
function makeToll(maxCallsPerSecond: number | undefined): Toll {
  if (maxCallsPerSecond === undefined) {
    return { bucket: NO_RATE, tokens: 0 }
  }
  const burst = maxCallsPerSecond <= EVEN_RATE ? 0 : maxCallsPerSecond * BURST_SHARE
  const bucket = {
    name: 'calls',
    capacity: Math.max(1, burst),
    refillPerSecond: maxCallsPerSecond - burst,
  }
  return { bucket, tokens: 1 }
}

async function keepPause(gate: CallGate, bucket: Bucket, result: HttpResult): Promise<void> {
  if (result.kind === 'response' && PAUSED.has(result.status) && result.retryAfterMs) {
    await gate.block(bucket, result.retryAfterMs)
  }
}

/**
 * Whether the address and the credentials are good: an API that answers, and refuses neither access nor the call for
 * now. That there is nothing to get at its base says nothing. It does not wait for its turn, as a person waits for it; a
 * host that was dead and answers now is believed at once.
 */
export async function testHttpConnection(calls: HttpCalls, request: OpenConnection): Promise<void> {
  const url = new URL(httpConnectionConfig.parse(request.config).baseUrl)
  const result = await calls.probe({
    method: 'GET',
    url,
    headers: makeHeaders(request.credentials),
    body: '',
    deadlineMs: TEST_DEADLINE_MS,
    signal: request.signal,
    beforeSend: () => undefined,
  })
  if (result.kind !== 'response') {
    const { failure, reason } = classifyResult(result)
    throw new ConnectorError(failure, reason)
  }
  if (NOTHING_THERE.has(result.status) && !isWebPage(result)) {
    return
  }
  const endpoint = `GET ${url.pathname}`
  const speaker = 'The other system'
  const verdict = classifyStatus(result, { endpoint, isIdempotent: true, speaker })
  if (verdict.kind === 'retryable' || verdict.kind === 'unknown') {
    throw new ConnectorError(verdict.failure, verdict.reason)
  }
}
