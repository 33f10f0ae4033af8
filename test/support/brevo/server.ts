/**
 * A stand-in for Brevo's API: a real HTTP server with an account behind it, which can be made to fail in every way in
 * which the vendor, or what lies between, was seen to fail. Whatever it answers, what it did stands in the account.
 *
 * The vendor's own SDK works against it (test/contract/brevo-stand-in.test.ts), which is what proves it right.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BrevoAccount } from './account.ts'
import { BrevoLimits } from './limits.ts'
import { BrevoProcesses, MAX_IMPORT_BYTES } from './processes.ts'
import { BrevoRefusal } from './refusals.ts'
import { answerContacts, type BrevoAnswer, type BrevoCall } from './routes.ts'

/** What becomes of one request. Where nothing is said of it, it is applied and answered as it should be. */
export type BrevoFault =
  | { readonly kind: 'none' }
  /** The connection is reset before anything is applied, or behind it. */
  | { readonly kind: 'resetBeforeCommit' | 'resetAfterCommit' }
  /** No answer until the caller gives up; applied at once, later, or not at all. */
  | { readonly kind: 'hang'; readonly isApplied?: boolean; readonly appliedOn?: Promise<void> }
  /** A page for people. */
  | { readonly kind: 'html'; readonly status: number; readonly isApplied?: boolean }
  /** The answer breaks off in the middle of its JSON; whole for the protocol. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'answer'; readonly status: number; readonly body?: unknown }

export interface BrevoRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface BrevoStandIn {
  /** With the version's path, as a connection's `baseUrl`. */
  readonly url: string
  readonly account: BrevoAccount
  readonly processes: BrevoProcesses
  readonly limits: BrevoLimits
  readonly requests: readonly BrevoRequest[]
  readonly apiKey: string
  /** False: the address of the caller is not among those that the account lets in. */
  isAddressAllowed: boolean
  /** Requests for results that brought the key along, which is nobody's business there. */
  readonly leakedKeys: number
  /** Where results are linked to; null: where they are. */
  resultsUrl: string | null
  /** The next requests that write get these, in order. */
  script(...faults: readonly BrevoFault[]): void
  /** What a request gets that no script is left for. */
  decide(of: (request: BrevoRequest) => BrevoFault): void
  /** The requests of a method to a path. */
  sent(method: string, path: string): readonly BrevoRequest[]
  close(): Promise<void>
}

export interface BrevoStandInOptions {
  /** Milliseconds for the rates; not given: a clock that only `limits.advance` moves. */
  readonly nowMs?: () => number
  readonly port?: number
}

const BASE_PATH = '/v3'
const RESULTS_PATH = '/results'

export async function startBrevo(options: BrevoStandInOptions = {}): Promise<BrevoStandIn> {
  const standIn = new StandIn(options.nowMs)
  const server = createServer((request, response) => {
    standIn.take(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  standIn.origin = `http://127.0.0.1:${port}`
  standIn.stop = () => closeServer(server)
  return standIn
}

class StandIn implements BrevoStandIn {
  readonly account = new BrevoAccount()
  readonly processes = new BrevoProcesses(this.account)
  readonly limits: BrevoLimits
  readonly requests: BrevoRequest[] = []
  readonly apiKey = 'xkeysib-stand-in'
  isAddressAllowed = true
  leakedKeys = 0
  resultsUrl: string | null = null
  origin = ''
  stop: () => Promise<void> = () => Promise.resolve()
  readonly #script: BrevoFault[] = []
  #decide: (request: BrevoRequest) => BrevoFault = () => ({ kind: 'none' })

  constructor(nowMs?: () => number) {
    this.limits = new BrevoLimits(nowMs)
  }

  get url(): string {
    return `${this.origin}${BASE_PATH}`
  }

  script(...faults: readonly BrevoFault[]): void {
    this.#script.push(...faults)
  }

  decide(of: (request: BrevoRequest) => BrevoFault): void {
    this.#decide = of
  }

  sent(method: string, path: string): readonly BrevoRequest[] {
    return this.requests.filter((one) => one.method === method && one.path === path)
  }

  close(): Promise<void> {
    return this.stop()
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const path = request.url ?? ''
    if (path.startsWith(RESULTS_PATH)) {
      this.#answerResults(request, response)
      return
    }
    const recorded = { method: request.method ?? '', path, headers: request.headers, body }
    this.requests.push({ ...recorded, path: path.slice(BASE_PATH.length) })
    const isWrite = recorded.method !== 'GET'
    const fault =
      (isWrite ? this.#script.shift() : undefined) ?? this.#decide(this.requests.at(-1) ?? recorded)
    await this.#react(fault, { request, response, body })
  }

  async #react(
    fault: BrevoFault,
    call: {
      readonly request: IncomingMessage
      readonly response: ServerResponse
      readonly body: string
    },
  ): Promise<void> {
    const { request, response } = call
    const answer = () => this.#answer(request, call.body)
    switch (fault.kind) {
      case 'none':
        send(response, answer())
        return
      case 'resetBeforeCommit':
        request.socket.resetAndDestroy()
        return
      case 'resetAfterCommit':
        answer()
        request.socket.resetAndDestroy()
        return
      case 'hang':
        if (fault.isApplied) {
          answer()
        }
        await fault.appliedOn?.then(answer)
        return
      case 'html':
        if (fault.isApplied) {
          answer()
        }
        response.writeHead(fault.status, { 'content-type': 'text/html' })
        response.end('<html><body><h1>Bad gateway</h1></body></html>')
        return
      case 'truncated': {
        const text = JSON.stringify(answer().body ?? { id: 1 })
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(text.slice(0, Math.ceil(text.length / 2)))
        return
      }
      case 'answer':
        send(response, { status: fault.status, body: fault.body ?? null })
        return
    }
  }

  #answer(request: IncomingMessage, body: string): BrevoAnswer {
    const refused = this.#checkKey(request)
    if (refused) {
      return refused
    }
    const url = new URL(request.url ?? '', this.origin)
    const path = url.pathname.slice(BASE_PATH.length)
    const allowance = this.limits.take(path)
    const headers = this.limits.headersOf(allowance)
    if (allowance.isRefused) {
      const told = { code: 'too_many_requests', message: 'Too many requests' }
      return { status: 429, body: told, headers }
    }
    try {
      const call: BrevoCall = { method: request.method ?? '', path, query: url.searchParams, body }
      return { ...this.#route(call), headers }
    } catch (error) {
      if (error instanceof BrevoRefusal) {
        return { status: error.status, body: error.body, headers }
      }
      throw error
    }
  }

  #checkKey(request: IncomingMessage): BrevoAnswer | null {
    const key = request.headers['api-key']
    const say = (message: string) => ({ status: 401, body: { message, code: 'unauthorized' } })
    if (key === undefined) {
      return say('authentication not found in headers')
    }
    if (key !== this.apiKey) {
      return say('Key not found')
    }
    return this.isAddressAllowed
      ? null
      : say('We have detected you are using an unrecognised IP address 203.0.113.7.')
  }

  #route(call: BrevoCall): BrevoAnswer {
    const { method, path, body } = call
    const route = `${method} ${path}`
    if (route === 'GET /account') {
      return { status: 200, body: { email: 'owner@example.com', plan: [] } }
    }
    if (route === 'POST /contacts/import') {
      if (Buffer.byteLength(body) > MAX_IMPORT_BYTES) {
        throw new BrevoRefusal(413, { code: 'out_of_range', message: 'The file is too large' })
      }
      return { status: 202, body: { processId: this.processes.take(JSON.parse(body)) } }
    }
    if (method === 'GET' && path.startsWith('/processes')) {
      return this.#answerProcesses(call)
    }
    return answerContacts(this.account, call)
  }

  #answerProcesses({ path, query }: BrevoCall): BrevoAnswer {
    this.processes.look()
    const resultsUrl = this.resultsUrl ?? `${this.origin}${RESULTS_PATH}`
    const id = /^\/processes\/(\d+)$/.exec(path)?.[1]
    if (id === undefined) {
      const limit = Math.min(Number(query.get('limit') ?? 10), 50)
      const offset = Number(query.get('offset') ?? 0)
      const newestFirst = this.processes.all
        .filter((one) => !this.processes.forgotten.has(one.id))
        .toReversed()
      const shown = newestFirst
        .slice(offset, offset + limit)
        .map((one) => this.processes.show(one, resultsUrl))
      return { status: 200, body: { processes: shown, count: newestFirst.length } }
    }
    const found = this.processes.find(Number(id))
    if (!found) {
      const message = 'Process ID does not exist'
      throw new BrevoRefusal(404, { code: 'document_not_found', message })
    }
    return { status: 200, body: this.processes.show(found, resultsUrl) }
  }

  /** On another host than the API, for anybody who has the link. */
  #answerResults(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers['api-key'] !== undefined) {
      this.leakedKeys += 1
    }
    const [, id, kind] = /^\/results\/(\d+)\/(\w+)\.csv$/.exec(request.url ?? '') ?? []
    const file = this.processes.find(Number(id ?? -1))?.files.get(kind ?? '')
    if (file === undefined) {
      response.writeHead(404)
      response.end()
      return
    }
    response.writeHead(200, { 'content-type': 'text/csv' })
    response.end(file)
  }
}

function send(response: ServerResponse, { status, body, headers }: BrevoAnswer): void {
  if (body === null) {
    response.writeHead(status, headers)
    response.end()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) {
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()))
    server.closeAllConnections()
  })
}
