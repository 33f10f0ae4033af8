/**
 * The HTTP server: the API, its health, and nothing else.
 *
 * Invariant: without a valid token nothing is served but the health and, where it is enabled, the GraphiQL
 * page.
 *
 * While the process drains everything is answered, but readiness is red and connections are not kept. Open
 * subscriptions go on: a dashboard sees its run go back to the queue, or end. The stop comes when the runs
 * are done, and not before whoever spreads the requests has had `noticeMs` to see that this process is not
 * ready. Then it takes no connection any more, finishes the requests under way, and tells the subscriptions
 * to come again. Told at the beginning they would come back before whoever spreads the
 * requests has noticed, and be sent away a second time. A WebSocket closes with 1012 (service restart). A
 * stream of server-sent events ends without its `complete` event, which would say that the run is over.
 * Clients of both protocols then subscribe again, and begin with where the run stands.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { authenticate } from '../commands/authenticate.ts'
import type { Actor, CommandContext } from '../commands/context.ts'
import type { RequestLimit } from '../coordination/request-limit.ts'
import type { ApiSettings } from '../graphql/context.ts'
import type { Service } from '../runtime/service.ts'
import { WordedError } from '../runtime/worded-error.ts'
import { countSubscriptions } from './count-subscriptions.ts'
import { NOBODY, readCredentials } from './credentials.ts'
import { answer } from './direct-answer.ts'
import {
  createEndpoint,
  GRAPHQL_PATH,
  type GraphqlEndpoint,
  type RequestFacts,
} from './graphql-endpoint.ts'
import { attachSocket } from './graphql-socket.ts'
import { type HealthParts, type HealthReport, respondHealth } from './health.ts'
import type { ApiLimits } from './limits.ts'
import {
  allowOrigin,
  answerPreflight,
  isOriginAllowed,
  isPreflight,
  needsPreflight,
  ORIGIN_REFUSED,
  PREFLIGHT_NEEDED,
} from './preflight.ts'
import { bodyTooLarge, isDeclaredTooLarge } from './request-body.ts'
import { describeTooManyRequests } from './request-rate.ts'
import { respondError } from './respond.ts'
import { SharedStreams } from './shared-streams.ts'
import { isStreamRequest } from './stream-request.ts'

export interface HttpServerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** False: this process works only, and answers for its health. */
  readonly servesApi: boolean
  /** How long after the beginning of the drain requests are taken at least. */
  readonly noticeMs: number
  /** Whether to serve the GraphiQL page. */
  readonly hasGraphiql: boolean
  readonly limits: ApiLimits
  readonly requestLimit: RequestLimit
  /** Executions of a query before it is compiled; Infinity: it never is. Default: 2. */
  readonly interpretedFirst?: number
  readonly commands: CommandContext
  readonly settings: ApiSettings
  health(): Promise<HealthReport>
}

export interface HttpServer extends Service {
  /** Such as `http://127.0.0.1:4000`. Throws before the start. */
  address(): string
  /** From now on the process is not ready. */
  beginDrain(): void
}

/** How long plain requests may go on after the stop, in milliseconds. */
const STOP_DEADLINE_MS = 3_000

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const subscriptions = countSubscriptions(options.limits, options.commands.logger)
  const endpoint = createEndpoint({ ...options, subscriptions })
  const shared = new SharedStreams({ ...options, endpoint, subscriptions })
  const streams = new Set<ServerResponse>()
  const { clock } = options.commands
  let drainingSinceMs: number | null = null
  let isStopping = false
  const isDraining = () => drainingSinceMs !== null || isStopping
  const healthParts = {
    logger: options.commands.logger,
    ask: options.health,
    isDraining,
  }
  const server = createServer((request, response) => {
    if (isDraining()) {
      response.setHeader('connection', 'close')
    }
    if (request.headers.accept?.includes('text/event-stream')) {
      streams.add(response)
    }
    response.once('close', () => {
      streams.delete(response)
      if (isStopping) {
        server.closeIdleConnections()
      }
    })
    respond({ options, endpoint, shared, healthParts }, request, response).catch(
      (error: unknown) => {
        options.commands.logger.error('http.failed', {}, error)
        response.destroy()
      },
    )
  })
  const socket = options.servesApi ? attachSocket(server, endpoint, options) : null
  return {
    name: 'http',
    start: () => listen(server, options),
    address: () => describeAddress(server),
    beginDrain: () => {
      drainingSinceMs ??= clock.monotonicMs()
    },
    stop: async () => {
      if (drainingSinceMs !== null) {
        await clock.sleep(Math.max(drainingSinceMs + options.noticeMs - clock.monotonicMs(), 0))
      }
      isStopping = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await socket?.stop()
      // Some clients would take any answer as a stream: only what is one is ended, everything else is answered.
      for (const response of [...streams].filter(isStream)) {
        endStream(response)
      }
      await settle(closed, options)
      server.closeAllConnections()
      await closed
      await endpoint.dispose()
    },
  }
}

function isStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream')
}

/** Its client sees a stream that ended before its operation was complete. */
function endStream(response: ServerResponse): void {
  // The endpoint notices with the next event that it cannot write any more.
  response.on('error', () => undefined)
  response.end(() => response.destroy())
}

interface RespondingParts {
  readonly options: HttpServerOptions
  readonly endpoint: GraphqlEndpoint
  readonly shared: SharedStreams
  readonly healthParts: HealthParts
}

async function respond(
  parts: RespondingParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { options, endpoint, healthParts } = parts
  const { commands } = options
  const path = request.url?.split('?')[0]
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && (await respondHealth(response, path, healthParts))) {
    return
  }
  if (!options.servesApi) {
    refuse(response, 404, { code: 'NOT_FOUND', message: 'This process serves its health only.' })
    return
  }
  if (answerBrowser(options, request, response)) {
    return
  }
  if (options.hasGraphiql && path === GRAPHQL_PATH && isPageRequest(request)) {
    await endpoint.handle(request, response, { actor: null, credentials: NOBODY })
    return
  }
  if (path === GRAPHQL_PATH && !needsPreflight(request)) {
    refuse(response, 403, PREFLIGHT_NEEDED)
    return
  }
  const credentials = readCredentials(request.headers)
  const found = await authenticate(commands.database, credentials)
  if (found.kind === 'refused') {
    response.setHeader('www-authenticate', 'Bearer')
    refuse(response, 401, { code: 'UNAUTHENTICATED', message: found.message })
    return
  }
  await respondTo(parts, { actor: found.actor, credentials }, { request, response, path })
}

/** Answers somebody whose token holds. */
async function respondTo(
  { options, endpoint, shared }: RespondingParts,
  facts: RequestFacts & { readonly actor: Actor },
  at: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly path: string | undefined
  },
): Promise<void> {
  const { request, response, path } = at
  const { maxBodyBytes } = options.limits
  const waitMs = await options.requestLimit.take(facts.actor.tokenId)
  if (waitMs !== null) {
    response.setHeader('retry-after', String(Math.ceil(waitMs / 1_000)))
    refuse(response, 429, describeTooManyRequests(options.requestLimit))
  } else if (path !== GRAPHQL_PATH) {
    refuse(response, 404, { code: 'NOT_FOUND', message: `The API is at ${GRAPHQL_PATH}.` })
  } else if (isDeclaredTooLarge(request, maxBodyBytes)) {
    refuse(response, 413, bodyTooLarge(maxBodyBytes))
  } else {
    response.setHeader('cache-control', 'no-store')
    if (isStreamRequest(request)) {
      await shared.respond(request, response, facts)
    } else {
      await answer({ endpoint, maxBodyBytes, facts }, request, response)
    }
  }
}

/** Answers a browser that asks whether a page may use the API. False: it is for something else. */
function answerBrowser(
  { limits }: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  allowOrigin(request, response, limits.allowedOrigins)
  if (!isPreflight(request)) {
    return false
  }
  if (isOriginAllowed(request, limits.allowedOrigins)) {
    answerPreflight(response)
  } else {
    refuse(response, 403, ORIGIN_REFUSED)
  }
  return true
}

/** A request for a page is answered with the page, whatever query it carries. */
function isPageRequest(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.accept?.includes('text/html') === true
}

/** The body was not read, so the connection cannot be used again. */
function refuse(
  response: ServerResponse,
  status: number,
  error: { readonly code: string; readonly message: string },
): void {
  response.setHeader('connection', 'close')
  respondError(response, status, error)
}

function listen(server: Server, options: HttpServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function describeAddress(server: Server): string {
  const address = server.address()
  if (address === null || typeof address === 'string') {
    throw new WordedError('The HTTP server does not listen.')
  }
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

/** Waits until every request is answered, but not for ever. */
async function settle(closed: Promise<void>, options: HttpServerOptions): Promise<void> {
  const isClosed = new AbortController()
  const waiting = options.commands.clock
    .sleep(STOP_DEADLINE_MS, isClosed.signal)
    .catch((reason: unknown) => {
      if (!isClosed.signal.aborted) {
        throw reason
      }
    })
  await Promise.race([closed, waiting])
  isClosed.abort()
  await waiting
}
