/**
 * An HTTP API that remembers what was done to it: the oracle of every test about doubled and lost writes.
 *
 * It takes one record a request (`Idempotency-Key`) and many (`records` with a key each), and applies a
 * key once, unless it is told not to honour keys. How it reacts can be scripted request by request;
 * whatever it answers, what it *did* stands in `effects`. It can be asked for a write
 * (`GET …/writes/<key>`) and for imports (`GET …/imports/<id>`, `GET …/imports?tag=<tag>`).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ImportResult, RecordedImports } from './recorded-imports.ts'

/** What the destination does with one request. Whoever leaves `isApplied` out says: not applied. */
export type Reaction =
  /** Applies and answers as an API should; the answer so much later, or when `until` says so, if told so. */
  | { readonly kind: 'apply'; readonly answerAfterMs?: number; readonly until?: Promise<void> }
  /** Applies, and answers for each record what `of` says (only where `records` came). */
  | {
      readonly kind: 'results'
      of(key: string, record: unknown): Readonly<Record<string, unknown>> | null
    }
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly isApplied?: boolean
    }
  /** Takes the call in as an import (only where a tag came); unanswered, if told so, it is an orphan. */
  | {
      readonly kind: 'accept'
      readonly isAnswered?: boolean
      of?(key: string, record: unknown): ImportResult
    }
  /** The connection is reset without an answer. */
  | { readonly kind: 'reset'; readonly isApplied?: boolean }
  /** Half of the answer, then the connection closes. */
  | { readonly kind: 'halfBody'; readonly isApplied?: boolean }
  /** No answer, until the caller gives up; applied at once, or when `appliedOn` says so. */
  | { readonly kind: 'hang'; readonly isApplied?: boolean; readonly appliedOn?: Promise<void> }

export interface RecordedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  /** Delivery keys of the records it carried, in order. */
  readonly keys: readonly string[]
}

/** One effect: a record that was written. */
export interface AppliedWrite {
  /** Of the request that brought it. */
  readonly path: string
  readonly key: string
  readonly record: unknown
}

/** A question about writes or imports; it is not among the requests. */
export interface RecordedQuestion {
  readonly path: string
}

export interface RecordingDestination {
  readonly url: string
  readonly imports: RecordedImports
  readonly questions: readonly RecordedQuestion[]
  readonly requests: readonly RecordedRequest[]
  /** How often each key was applied: 2 is a doubled write. */
  readonly effects: ReadonlyMap<string, number>
  /** The record that each key was last applied with. */
  readonly records: ReadonlyMap<string, unknown>
  /** Every effect, in the order in which they happened. */
  readonly applied: readonly AppliedWrite[]
  /** The next requests get these reactions, in order; after them `always`. */
  script(...reactions: readonly Reaction[]): void
  /** What every request gets that no script is left for. */
  always(reaction: Reaction): void
  /** What a request gets that no script is left for, told by the request itself. */
  decide(of: (request: RecordedRequest) => Reaction): void
  /** What a question gets instead of a true answer; null: the truth. */
  decideQuestion(of: (question: RecordedQuestion) => Reaction | null): void
  /** How many requests came, whether they are kept or not. */
  calls(): number
  /** How many connections were made to it. */
  connections(): number
  /** Resolves with the next request, once its reaction has been carried out. */
  nextRequest(): Promise<RecordedRequest>
  close(): Promise<void>
}

export interface RecordingOptions {
  /** Default true. False: the same key again is applied again. */
  readonly honoursKeys?: boolean
  /** Default true. False: `requests` stays empty, for runs of many thousand calls. */
  readonly keepsRequests?: boolean
}

interface Write {
  readonly key: string
  readonly record: unknown
}

export async function startRecordingDestination(
  options: RecordingOptions = {},
): Promise<RecordingDestination> {
  const recorder = new Recorder(options.honoursKeys ?? true, options.keepsRequests ?? true)
  const server = createServer((request, response) => {
    recorder.take(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests: recorder.requests,
    effects: recorder.effects,
    records: recorder.records,
    applied: recorder.applied,
    script: (...reactions) => recorder.script.push(...reactions),
    always: (reaction) => {
      recorder.standing = () => reaction
    },
    decide: (of) => {
      recorder.standing = of
    },
    decideQuestion: (of) => {
      recorder.questioned = of
    },
    imports: recorder.imports,
    questions: recorder.questions,
    calls: () => recorder.calls,
    connections: () => connections,
    nextRequest: () => new Promise((resolve) => recorder.waiting.push(resolve)),
    close: () => closeServer(server),
  }
}

class Recorder {
  readonly requests: RecordedRequest[] = []
  readonly effects = new Map<string, number>()
  readonly records = new Map<string, unknown>()
  readonly applied: AppliedWrite[] = []
  readonly script: Reaction[] = []
  readonly waiting: ((request: RecordedRequest) => void)[] = []
  readonly questions: RecordedQuestion[] = []
  readonly imports = new RecordedImports((write, path) => this.#apply(write, path))
  standing: (request: RecordedRequest) => Reaction = () => ({ kind: 'apply' })
  questioned: (question: RecordedQuestion) => Reaction | null = () => null
  calls = 0
  readonly #honoursKeys: boolean
  readonly #keepsRequests: boolean

  constructor(honoursKeys: boolean, keepsRequests: boolean) {
    this.#honoursKeys = honoursKeys
    this.#keepsRequests = keepsRequests
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    if (request.method === 'GET') {
      this.#answerQuestion(request, response)
      return
    }
    const parsed: unknown = JSON.parse(body)
    const writes = readWrites(request, parsed)
    const recorded: RecordedRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
      keys: writes.map(({ key }) => key),
    }
    this.calls += 1
    if (this.#keepsRequests) {
      this.requests.push(recorded)
    }
    const reaction = this.script.shift() ?? this.standing(recorded)
    this.#react(reaction, { writes, isPage: isPage(parsed), request, response })
    for (const resolve of this.waiting.splice(0)) {
      resolve(recorded)
    }
  }

  #react(
    reaction: Reaction,
    call: {
      readonly writes: readonly Write[]
      readonly isPage: boolean
      readonly request: IncomingMessage
      readonly response: ServerResponse
    },
  ): void {
    const { writes, request, response } = call
    if (
      reaction.kind === 'apply' ||
      reaction.kind === 'results' ||
      (reaction.kind !== 'accept' && reaction.isApplied)
    ) {
      const applied = reaction.kind === 'results' ? writes.filter(isWritten(reaction)) : writes
      for (const write of applied) {
        this.#apply(write, request.url ?? '')
      }
    }
    switch (reaction.kind) {
      case 'apply':
        actAfter(reaction, () => {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(
            JSON.stringify(
              call.isPage ? { results: writes.map(asWritten) } : { id: idOf(writes[0]) },
            ),
          )
        })
        return
      case 'results':
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({
            results: writes
              .map(({ key, record }) => ({ key, told: reaction.of(key, record) }))
              .filter(({ told }) => told !== null)
              .map(({ key, told }) => ({ key, ...told })),
          }),
        )
        return
      case 'answer':
        response.writeHead(reaction.status, {
          'content-type': 'application/json',
          ...reaction.headers,
        })
        response.end(reaction.body ?? '')
        return
      case 'accept':
        this.#accept(reaction, call)
        return
      case 'halfBody':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{"id":"', () => request.socket.destroy())
        return
      case 'reset':
        request.socket.resetAndDestroy()
        return
      case 'hang':
        void reaction.appliedOn?.then(() => {
          for (const write of writes) {
            this.#apply(write, request.url ?? '')
          }
        })
        return
    }
  }

  #accept(
    reaction: Extract<Reaction, { kind: 'accept' }>,
    call: {
      readonly writes: readonly Write[]
      readonly request: IncomingMessage
      readonly response: ServerResponse
    },
  ): void {
    const { writes, request, response } = call
    const tag = String(request.headers['import-tag'] ?? '')
    const id = this.imports.take({ tag, path: request.url ?? '' }, writes, ({ key, record }) =>
      reaction.of ? reaction.of(key, record) : { status: 'written', id: idOf({ key, record }) },
    )
    if (reaction.isAnswered === false) {
      request.socket.resetAndDestroy()
      return
    }
    sendJson(response, 202, { id })
  }

  #answerQuestion(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? ''
    this.questions.push({ path })
    const reaction = this.questioned({ path })
    if (reaction) {
      this.#react(reaction, { writes: [], isPage: false, request, response })
      return
    }
    const body = this.#findAnswer(path)
    sendJson(response, body ? 200 : 404, body ?? { error: 'not found' })
  }

  #findAnswer(path: string): Readonly<Record<string, unknown>> | null {
    const key = /\/writes\/([0-9a-f]{64})$/.exec(path)?.[1]
    if (key !== undefined) {
      return this.effects.has(key) ? { id: idOf({ key, record: null }) } : null
    }
    const tag = /\/imports\?tag=([\w-]+)$/.exec(path)?.[1]
    if (tag !== undefined) {
      return this.imports.list(tag)
    }
    const id = /\/imports\/([\w-]+)$/.exec(path)?.[1]
    return id === undefined ? null : this.imports.state(id)
  }

  #apply({ key, record }: Write, path: string): void {
    const before = this.effects.get(key) ?? 0
    if (before === 0 || !this.#honoursKeys) {
      this.effects.set(key, before + 1)
      this.records.set(key, record)
      this.applied.push({ path, key, record })
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

function actAfter(
  wait: { readonly answerAfterMs?: number; readonly until?: Promise<void> },
  action: () => void,
): void {
  if (wait.until !== undefined) {
    void wait.until.then(action)
  } else if (wait.answerAfterMs === undefined) {
    action()
  } else {
    setTimeout(action, wait.answerAfterMs).unref()
  }
}

function isWritten(reaction: Extract<Reaction, { kind: 'results' }>): (write: Write) => boolean {
  return ({ key, record }) => reaction.of(key, record)?.['status'] === 'written'
}

function asWritten(write: Write): Readonly<Record<string, unknown>> {
  return { key: write.key, status: 'written', id: idOf(write) }
}

/** The id that the destination gives a record: the same for the same key. */
function idOf(write: Write | undefined): string {
  return `r-${write?.key.slice(0, 12)}`
}

function isPage(body: unknown): body is { records: Write[] } {
  return (
    typeof body === 'object' && body !== null && 'records' in body && Array.isArray(body.records)
  )
}

function readWrites(request: IncomingMessage, body: unknown): readonly Write[] {
  if (isPage(body)) {
    return body.records
  }
  const key = String(request.headers['idempotency-key'] ?? '').replace(/^"|"$/g, '')
  return [{ key, record: body }]
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
