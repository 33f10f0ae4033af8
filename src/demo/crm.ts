/**
 * A small CRM to deliver to: takes calls of several contacts, honours the key of each, and remembers
 * every effect that a call had.
 *
 * Invariant: `contacts` has one entry an effect, in order, whatever the keys say: what stands in it
 * twice was written twice. One call can be applied and left without an answer; its caller cannot know
 * that it was applied.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What one effect left at the CRM. */
export type Contact = Readonly<Record<string, unknown>>

export interface CrmOptions {
  /** False: the same key again is applied again, whatever the sync was told of this CRM. */
  readonly honoursKeys: boolean
}

export interface Crm {
  /** Base URL; contacts are taken at {@link CONTACTS_PATH} below it. */
  readonly url: string
  readonly contacts: readonly Contact[]
  /** Records that came again with a key that the CRM had seen. */
  readonly repeats: number
  /** Resolves when the call with which `effects` is reached has been applied. That call gets no answer. */
  withholdAnswerAt(effects: number): Promise<void>
  close(): Promise<void>
}

export const CONTACTS_PATH = '/contacts'

/** What a CRM near by takes for a small call. It makes the run long enough to be watched and killed. */
const LATENCY_MS = 15
const MAX_BODY_BYTES = 1024 * 1024

interface Write {
  readonly key: string
  readonly record: Contact
}

export async function startCrm(options: CrmOptions): Promise<Crm> {
  const crm = new CrmServer(options)
  await crm.listen()
  return crm
}

class CrmServer implements Crm {
  readonly contacts: Contact[] = []
  readonly #honoursKeys: boolean
  readonly #server: Server
  /** The CRM's id of the contact that a key made. */
  readonly #idsByKey = new Map<string, string>()
  #repeats = 0
  #withheld: { readonly effects: number; readonly resolve: () => void } | null = null

  constructor({ honoursKeys }: CrmOptions) {
    this.#honoursKeys = honoursKeys
    this.#server = createServer((request, response) => {
      this.#respond(request, response).catch(() => response.destroy())
    })
  }

  get repeats(): number {
    return this.#repeats
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  withholdAnswerAt(effects: number): Promise<void> {
    return new Promise((resolve) => {
      this.#withheld = { effects, resolve }
    })
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const writes = parseWrites(await readBody(request))
    if (request.method !== 'POST' || request.url !== CONTACTS_PATH || writes === null) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: `Send contacts as POST ${CONTACTS_PATH}.` }))
      return
    }
    const results = writes.map((write) => ({
      key: write.key,
      status: 'written',
      id: this.#apply(write),
    }))
    if (this.#withheld && this.contacts.length >= this.#withheld.effects) {
      this.#withheld.resolve()
      this.#withheld = null
      return
    }
    await pause(LATENCY_MS)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ results }))
  }

  #apply({ key, record }: Write): string {
    const known = this.#idsByKey.get(key)
    if (known !== undefined) {
      this.#repeats += 1
      if (this.#honoursKeys) {
        return known
      }
    }
    this.contacts.push(record)
    const id = `crm-${this.contacts.length}`
    this.#idsByKey.set(key, id)
    return id
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > MAX_BODY_BYTES) {
      throw new Error(`A call has at most ${MAX_BODY_BYTES} bytes.`)
    }
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Null for a body that is no call. */
function parseWrites(body: string): readonly Write[] | null {
  const parsed: unknown = JSON.parse(body)
  const records = isObject(parsed) ? parsed['records'] : undefined
  return Array.isArray(records) && records.every(isWrite) ? records : null
}

function isWrite(value: unknown): value is Write {
  return isObject(value) && typeof value['key'] === 'string' && isObject(value['record'])
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The demo sees nothing of the app's clock; a signal that times out is one. */
async function pause(ms: number): Promise<void> {
  await once(AbortSignal.timeout(ms), 'abort')
}
