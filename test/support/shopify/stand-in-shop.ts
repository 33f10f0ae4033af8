/**
 * A shop's Admin GraphQL API as an HTTP server: Shopify's own schema (pruned) on graphql-js, its token check, versions,
 * leaky bucket and errors. Time is the test's: nothing moves until it says so.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type DocumentNode, execute, type GraphQLError, parse, validate } from 'graphql'
import { AdminResolvers, type ApiVersion, type ShopBehaviour, schemaOf } from './admin-resolvers.ts'
import { measureCost } from './query-cost.ts'
import { REAL_QUIRKS } from './search-filter.ts'
import { ShopRows } from './shop-rows.ts'
import { ShopTokens } from './shop-tokens.ts'

export const STAND_IN_DOMAIN = 'stand-in.myshopify.com'
const MAX_QUERY_COST = 1_000

/** What a request gets instead of a true answer. */
export type ShopReaction =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly kind: 'error'; readonly code: string }
  /** INTERNAL_SERVER_ERROR beside half of the data. */
  | { readonly kind: 'partial' }
  | { readonly kind: 'reset' }

export interface AskedQuery {
  readonly version: string
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
}

interface ReadDocument {
  readonly document: DocumentNode
  readonly errors: readonly GraphQLError[]
}

interface ShopSettings extends ShopBehaviour {
  maximumAvailable: number
  restoreRate: number
  /** Every so many-th query ends in INTERNAL_SERVER_ERROR; 0: none. */
  internalErrorEvery: number
  /** Versions that are served, the oldest first. An older one falls forward. */
  supported: readonly ApiVersion[]
  deprecatedReason: string | null
  /** The shop's name is an alias of this one. */
  redirectTo: string | null
  /** Called before each query is answered: the shop changes while it is read. */
  beforeAnswer(asked: AskedQuery, count: number): void
}

export class StandInShop {
  readonly rows = new ShopRows(() => this.nowMs())
  readonly tokens = new ShopTokens()
  readonly queries: AskedQuery[] = []
  readonly settings: ShopSettings = {
    quirks: { ...REAL_QUIRKS },
    cursorsAreInclusive: false,
    cursorLifeMs: null,
    tiesDescend: false,
    redacted: new Set(),
    denied: new Set(),
    deniesCustomers: false,
    maximumAvailable: 2_000,
    restoreRate: 100,
    internalErrorEvery: 0,
    supported: ['2026-07', '2026-10'],
    deprecatedReason: null,
    redirectTo: null,
    beforeAnswer: () => undefined,
  }
  readonly #resolvers = new AdminResolvers({
    rows: this.rows,
    behaviour: this.settings,
    shopDomain: STAND_IN_DOMAIN,
    nowMs: () => this.nowMs(),
  })
  readonly #tellMs: () => number
  readonly #reactions: ShopReaction[] = []
  readonly #documents = new Map<string, ReadDocument>()
  #advancedMs = 0
  #available = this.settings.maximumAvailable
  #restoredAtMs: number

  /** `tellMs`: the time behind the shop's; not given, it stands still until it is advanced. */
  constructor(tellMs: () => number = () => Date.UTC(2026, 10, 1, 12)) {
    this.#tellMs = tellMs
    this.#restoredAtMs = this.nowMs()
  }

  nowMs(): number {
    return this.#tellMs() + this.#advancedMs
  }

  advance(ms: number): void {
    this.#advancedMs += ms
  }

  /** The next queries get these, in order. */
  script(...reactions: readonly ShopReaction[]): void {
    this.#reactions.push(...reactions)
  }

  /** What is left in the bucket. */
  get available(): number {
    this.#restore()
    return this.#available
  }

  drain(left: number): void {
    this.#restore()
    this.#available = left
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    response.setHeader('date', new Date(this.nowMs()).toUTCString())
    const path = request.url ?? ''
    if (this.settings.redirectTo !== null) {
      response.writeHead(301, { location: `https://${this.settings.redirectTo}${path}` }).end()
      return
    }
    if (path === '/admin/oauth/access_token') {
      sendJson(response, ...this.tokens.grant(new URLSearchParams(body)))
      return
    }
    const version = /^\/admin\/api\/([\w-]+)\/graphql\.json$/.exec(path)?.[1]
    const served = version === undefined ? null : this.#serve(version)
    if (served === null) {
      sendJson(response, 404, { errors: 'Not Found' })
      return
    }
    response.setHeader('x-shopify-api-version', served)
    if (this.settings.deprecatedReason !== null) {
      response.setHeader('x-shopify-api-deprecated-reason', this.settings.deprecatedReason)
    }
    if (!this.tokens.isValid(String(request.headers['x-shopify-access-token'] ?? ''))) {
      const errors = '[API] Invalid API key or access token (unrecognized login or wrong password)'
      sendJson(response, 401, { errors })
      return
    }
    const asked = { version: served, ...(JSON.parse(body) as Omit<AskedQuery, 'version'>) }
    this.queries.push(asked)
    await this.#answer(served, asked, response)
  }

  /** The version that answers: of one that is not supported any more, the oldest that is. */
  #serve(version: string): ApiVersion | null {
    const { supported } = this.settings
    const exact = supported.find((one) => one === version)
    const oldest = supported[0] ?? '2026-10'
    return exact ?? (version < oldest ? oldest : null)
  }

  async #answer(version: ApiVersion, asked: AskedQuery, response: ServerResponse): Promise<void> {
    this.settings.beforeAnswer(asked, this.queries.length)
    const reaction = this.#reactions.shift() ?? this.#spontaneousReaction()
    if (reaction?.kind === 'answer') {
      response.writeHead(reaction.status, {
        'content-type': 'application/json',
        ...reaction.headers,
      })
      response.end(reaction.body ?? '')
      return
    }
    if (reaction?.kind === 'reset') {
      response.socket?.resetAndDestroy()
      return
    }
    const { document, errors } = this.#read(version, asked.query)
    if (errors.length > 0) {
      sendJson(response, 200, { errors: errors.map(withUndefinedField) })
      return
    }
    const cost = measureCost(schemaOf(version), document, asked.variables ?? {})
    const refusal = reaction?.kind === 'error' ? errorBody(reaction.code) : this.#refuse(cost)
    if (refusal) {
      sendJson(response, 200, refusal)
      return
    }
    const result = await this.#execute(version, document, asked)
    const extensions = { cost: this.#costOf(cost, cost) }
    if (reaction?.kind === 'partial') {
      const half = { ...result.data, customers: null, orders: null }
      sendJson(response, 200, { data: half, ...errorBody('INTERNAL_SERVER_ERROR'), extensions })
      return
    }
    sendJson(response, 200, { ...result, extensions })
  }

  /** The same few documents come again and again. */
  #read(version: ApiVersion, query: string): ReadDocument {
    const key = `${version} ${query}`
    const known = this.#documents.get(key)
    if (known) {
      return known
    }
    const document = parse(query)
    const read = { document, errors: validate(schemaOf(version), document) }
    this.#documents.set(key, read)
    return read
  }

  #spontaneousReaction(): ShopReaction | undefined {
    const every = this.settings.internalErrorEvery
    return every > 0 && this.queries.length % every === 0
      ? { kind: 'error', code: 'INTERNAL_SERVER_ERROR' }
      : undefined
  }

  #execute(version: ApiVersion, document: DocumentNode, asked: AskedQuery) {
    return execute({
      schema: schemaOf(version),
      document,
      rootValue: this.#resolvers.root(),
      variableValues: asked.variables ?? {},
    })
  }

  /** Takes the cost from the bucket, or says why not. */
  #refuse(cost: number): object | null {
    if (cost > MAX_QUERY_COST) {
      return errorBody('MAX_COST_EXCEEDED', { cost, maxCost: MAX_QUERY_COST })
    }
    this.#restore()
    if (cost > this.#available) {
      const body = errorBody('THROTTLED', {
        documentation: 'https://shopify.dev/api/usage/rate-limits',
      })
      return { ...body, extensions: { cost: this.#costOf(cost, null) } }
    }
    this.#available -= cost
    return null
  }

  #restore(): void {
    const nowMs = this.nowMs()
    const restored = ((nowMs - this.#restoredAtMs) / 1000) * this.settings.restoreRate
    this.#available = Math.min(this.settings.maximumAvailable, this.#available + restored)
    this.#restoredAtMs = nowMs
  }

  #costOf(requested: number, actual: number | null): object {
    const { maximumAvailable, restoreRate } = this.settings
    const currentlyAvailable = Math.floor(this.#available)
    return {
      requestedQueryCost: requested,
      actualQueryCost: actual,
      throttleStatus: { maximumAvailable, currentlyAvailable, restoreRate },
    }
  }
}

export interface ListeningShop {
  readonly url: string
  readonly shop: StandInShop
  close(): Promise<void>
}

export async function listenAsShop(shop = new StandInShop()): Promise<ListeningShop> {
  const server = createServer((request, response) => {
    void shop.take(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, shop, close: () => closeServer(server) }
}

const MESSAGES: Readonly<Record<string, string>> = {
  THROTTLED: 'Throttled',
  MAX_COST_EXCEEDED: 'Query cost exceeds the single query max cost limit',
  SHOP_INACTIVE: 'The shop is inactive.',
  INTERNAL_SERVER_ERROR: 'Internal error. Looks like something went wrong on our end.',
}

function errorBody(code: string, more: object = {}): { readonly errors: readonly object[] } {
  return { errors: [{ message: MESSAGES[code] ?? code, extensions: { code, ...more } }] }
}

/** As Shopify calls what does not fit its schema. */
function withUndefinedField(error: GraphQLError): object {
  return {
    message: error.message,
    locations: error.locations,
    extensions: { code: 'undefinedField' },
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

export async function readBody(request: IncomingMessage): Promise<string> {
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
