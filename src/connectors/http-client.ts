/**
 * The one HTTP client through which connectors call other people's systems.
 *
 * Invariants: a request is written at most once: nothing is retried, no redirect is followed. What is
 * known of it afterwards is told apart: answered; not sent (no byte of it left this process, so it is
 * known not applied); or unknown. `beforeSend` runs when the connection stands, in the same turn in
 * which the request is written: a check done before a slow connect would be stale by then, which is
 * why this uses node:http and not fetch (fetch does not tell when it writes). No connection is made but past the
 * guard of addresses; one that is used again passed it when it was made.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../runtime/clock.ts'
import { type AddressGuard, RefusedAddressError } from './address-guard.ts'
import type { CallGate } from './call-gate.ts'
import { isWebPage } from './web-page.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** http or https. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For the whole call: connecting, sending, waiting, reading. */
  readonly deadlineMs: number
  /** Longest answer that is read, in bytes. Default {@link DEFAULT_MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number
  readonly signal: AbortSignal
  /**
   * False: on a connection of its own. One that was idle may have been closed by the other side at the
   * moment it is used again, and then nobody knows whether the request arrived. Default true.
   */
  readonly reusesConnections?: boolean
  /** Is told how the call went, before its result is. Whoever calls has passed it. */
  readonly gate?: CallGate
  /** Called immediately before the request is written; what it throws stops the request and is thrown. */
  beforeSend(): void
  /** Further headers, made in the moment in which the request is written: connecting may take a while. */
  headersAtSend?(): Readonly<Record<string, string>>
}

export type HttpResult =
  | HttpResponse
  /** Known not applied. `isMisdirected`: nobody can answer under this address, or not who should, as long as it is so. */
  | { readonly kind: 'not_sent'; readonly reason: string; readonly isMisdirected: boolean }
  /** Written, and no complete answer: it may have been applied. */
  | { readonly kind: 'unknown'; readonly reason: string }

export interface HttpResponse {
  readonly kind: 'response'
  readonly status: number
  /** Names in lower case; several values of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyText: string
  /** The body parsed; undefined when it is not JSON. */
  readonly json: unknown
  /** The wait that Retry-After asks for, at most a day; null when it asks for none that makes sense. */
  readonly retryAfterMs: number | null
}

export interface HttpClient {
  /** Rejects only when nothing was sent: with what `beforeSend` threw, or with the signal's reason. */
  send(request: HttpRequest): Promise<HttpResult>
  /** Closes idle connections. */
  close(): void
}

export interface HttpClientOptions {
  readonly clock: Clock
  /** What may be connected to. */
  readonly guard: AddressGuard
  readonly userAgent?: string
}

export const DEFAULT_MAX_RESPONSE_BYTES = 1024 * 1024
/** Longest wait that another system can ask for. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000
/** Idle connections that are kept for the next request of a destination. */
const MAX_IDLE_SOCKETS = 64

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { guard } = options
  // Of the agents and not of a request: none can be made without it.
  const { lookup } = guard
  const agentOptions = { lookup, keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS }
  const agents = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) }
  const fresh = {
    http: new HttpAgent({ lookup, keepAlive: false }),
    https: new HttpsAgent({ lookup, keepAlive: false }),
  }
  const userAgent = options.userAgent ?? 'tajo-sync'
  return {
    send: (request) => {
      if (request.signal.aborted) {
        return Promise.reject(request.signal.reason)
      }
      const refusal = guard.describeRefusedHost(request.url.hostname)
      if (refusal !== null) {
        return Promise.resolve({ kind: 'not_sent', reason: refusal, isMisdirected: true })
      }
      const chosen = request.reusesConnections === false ? fresh : agents
      return exchange(request, options.clock, { agents: chosen, userAgent })
    },
    close: () => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

/** How a call went for its host; null: that says nothing about it. */
type Went = Parameters<CallGate['note']>[0] | null

async function exchange(
  request: HttpRequest,
  clock: Clock,
  { agents, userAgent }: { readonly agents: Agents; readonly userAgent: string },
): Promise<HttpResult> {
  const { result, went } = await new Exchange(request, clock).run(agents, userAgent)
  if (went !== null) {
    await request.gate?.note(went)
  }
  return result
}

interface Settled {
  readonly result: HttpResult
  readonly went: Went
}

interface Agents {
  readonly http: HttpAgent
  readonly https: HttpsAgent
}

/** One request and what becomes of it. Whatever happens first settles it; the rest is ignored. */
class Exchange {
  readonly #request: HttpRequest
  readonly #clock: Clock
  readonly #settled: Promise<Settled>
  #resolve: (settled: Settled) => void = () => undefined
  #reject: (error: unknown) => void = () => undefined
  #isWritten = false
  #isOver = false

  constructor(request: HttpRequest, clock: Clock) {
    this.#request = request
    this.#clock = clock
    this.#settled = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  async run(agents: Agents, userAgent: string): Promise<Settled> {
    const outgoing = this.#open(agents, userAgent)
    const { signal, deadlineMs } = this.#request
    const stop = (): void => this.#onStopped()
    signal.addEventListener('abort', stop, { once: true })
    // Not AbortSignal.any with AbortSignal.timeout: on Node 20 the garbage collector takes the timeout
    // away from under it, and it never fires (seen: 50 of 50 requests hung).
    const settled = new AbortController()
    this.#clock.sleep(deadlineMs, settled.signal).then(stop, () => undefined)
    outgoing.on('error', (error) => this.#onFailed(error))
    outgoing.on('response', (incoming) => this.#read(incoming))
    this.#writeWhenConnected(outgoing)
    try {
      return await this.#settled
    } finally {
      this.#isOver = true
      settled.abort()
      signal.removeEventListener('abort', stop)
      // After a complete answer the connection is back in the agent, and this does nothing.
      outgoing.destroy()
    }
  }

  #open(agents: Agents, userAgent: string): ClientRequest {
    const { url, method, headers, body } = this.#request
    const isSecure = url.protocol === 'https:'
    return (isSecure ? httpsRequest : httpRequest)(url, {
      method,
      agent: isSecure ? agents.https : agents.http,
      headers: {
        'user-agent': userAgent,
        'accept-encoding': 'identity',
        ...headers,
        'content-length': String(Buffer.byteLength(body)),
      },
    })
  }

  #writeWhenConnected(outgoing: ClientRequest): void {
    outgoing.on('socket', (socket) => {
      if (outgoing.reusedSocket) {
        this.#write(outgoing)
        return
      }
      const isSecure = this.#request.url.protocol === 'https:'
      socket.once(isSecure ? 'secureConnect' : 'connect', () => this.#write(outgoing))
    })
  }

  #write(outgoing: ClientRequest): void {
    if (this.#isOver) {
      return
    }
    try {
      this.#request.beforeSend()
      for (const [name, value] of Object.entries(this.#request.headersAtSend?.() ?? {})) {
        outgoing.setHeader(name, value)
      }
    } catch (error) {
      this.#reject(error)
      return
    }
    this.#isWritten = true
    outgoing.end(this.#request.body)
  }

  #read(incoming: IncomingMessage): void {
    const chunks: Buffer[] = []
    let length = 0
    const limit = this.#request.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) {
        // Somebody answers, and at length.
        this.#unknown(`Its answer is longer than ${limit} bytes.`, 'answered')
        incoming.destroy()
        return
      }
      chunks.push(chunk)
    })
    incoming.on('error', (error) => this.#onFailed(error))
    incoming.on('end', () => {
      if (incoming.complete) {
        const bodyText = Buffer.concat(chunks).toString('utf8')
        const response = toResponse(incoming, bodyText, this.#clock.now().getTime())
        this.#resolve({ result: response, went: judge(response) })
      } else {
        this.#unknown('The connection closed in the middle of the answer.', 'dead')
      }
    })
  }

  #onStopped(): void {
    const { signal, deadlineMs } = this.#request
    if (this.#isWritten) {
      // That a run stops is not the host's doing.
      if (signal.aborted) {
        this.#unknown('The run stopped before an answer came.', null)
      } else {
        this.#unknown(`No answer came within ${deadlineMs / 1000} s.`, 'dead')
      }
    } else if (signal.aborted) {
      this.#reject(signal.reason)
    } else {
      const reason = `No connection could be made within ${deadlineMs / 1000} s.`
      this.#notSent({ reason, isMisdirected: false })
    }
  }

  #onFailed(error: Error): void {
    if (error instanceof RefusedAddressError) {
      this.#notSent({ reason: error.message, isMisdirected: true })
      return
    }
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    if (this.#isWritten) {
      this.#unknown(`The connection broke before the answer was complete (${code}).`, 'dead')
    } else {
      this.#notSent(describeUnconnected(code))
    }
  }

  #unknown(reason: string, went: Went): void {
    this.#resolve({ result: { kind: 'unknown', reason }, went })
  }

  /** A wrong address says nothing of the host that was meant. */
  #notSent(why: { readonly reason: string; readonly isMisdirected: boolean }): void {
    const went = why.isMisdirected ? null : 'dead'
    this.#resolve({ result: { kind: 'not_sent', ...why }, went })
  }
}

/** Also a refusal is an answer, a request to slow down among them. A proxy answers for a host that is dead. */
function judge(response: HttpResponse): Went {
  const { status } = response
  return status >= 500 || (status < 300 && isWebPage(response)) ? 'dead' : 'answered'
}

/** The name does not exist, as the resolver says; that it could not be asked is `EAI_AGAIN`. */
const UNKNOWN_HOST = 'ENOTFOUND'
/** The other side's certificate, or that it speaks no TLS at all. */
const TLS_PROBLEM =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_(?:GET|VERIFY)_|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

function describeUnconnected(code: string): { reason: string; isMisdirected: boolean } {
  if (code === UNKNOWN_HOST) {
    return { reason: `The host of the address does not exist (${code}).`, isMisdirected: true }
  }
  return TLS_PROBLEM.test(code)
    ? { reason: `No secure connection could be made (${code}).`, isMisdirected: true }
    : { reason: `No connection could be made (${code}).`, isMisdirected: false }
}

function toResponse(incoming: IncomingMessage, bodyText: string, nowMs: number): HttpResponse {
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    headers[name] = (values ?? []).join(', ')
  }
  return {
    kind: 'response',
    status: incoming.statusCode ?? 0,
    headers,
    bodyText,
    json: parseJson(bodyText),
    retryAfterMs: readRetryAfter(headers['retry-after'], nowMs),
  }
}

/** In seconds, or as a date. */
function readRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim()
  if (!text) {
    return null
  }
  if (/^\d+$/.test(text)) {
    return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS)
  }
  if (!/^[A-Za-z]{3}.*\d{2}:\d{2}/.test(text)) {
    return null
  }
  // biome-ignore lint/style/noRestrictedGlobals: this reads a date that was sent, not a clock.
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.min(Math.max(at - nowMs, 0), MAX_RETRY_AFTER_MS)
}

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
