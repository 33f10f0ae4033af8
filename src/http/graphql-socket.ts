/**
 * GraphQL over a WebSocket (graphql-transport-ws), on the path of the HTTP endpoint.
 *
 * Invariants: nobody is served whose token does not hold; it is asked at the handshake and again at each
 * operation. No page of an origin that may not use the API gets a socket. Whatever is wrong with one operation is an
 * answer to it, and leaves the socket and its other operations as they are.
 */
import type { IncomingMessage, Server } from 'node:http'
import { type ExecutionArgs, GraphQLError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import { useServer } from 'graphql-ws/use/ws'
import { WebSocketServer } from 'ws'
import { authenticate, type Credentials } from '../commands/authenticate.ts'
import type { CommandContext } from '../commands/context.ts'
import type { RequestLimit } from '../coordination/request-limit.ts'
import { maskError } from '../graphql/errors.ts'
import { readCredentials } from './credentials.ts'
import { GRAPHQL_PATH, type GraphqlEndpoint } from './graphql-endpoint.ts'
import type { ApiLimits } from './limits.ts'
import { isOriginAllowed, ORIGIN_REFUSED } from './preflight.ts'
import { describeTooManyRequests } from './request-rate.ts'

/** graphql-transport-ws: the client is not authorised. */
const CLOSE_UNAUTHORIZED = 4401
/** RFC 6455's registry: the service restarts. Clients of graphql-ws connect again after it. */
const CLOSE_SERVICE_RESTART = 1012
/** Longest that a client may take to confirm that a socket is closed. */
const CLOSE_DEADLINE_MS = 1_000
/** Longest that a client may take to send its handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000

export interface SocketOptions {
  readonly commands: CommandContext
  readonly limits: ApiLimits
  readonly requestLimit: RequestLimit
}

/** Resolves the stop when every socket is closed. */
export function attachSocket(
  server: Server,
  endpoint: GraphqlEndpoint,
  options: SocketOptions,
): { stop(): Promise<void> } {
  const { commands, limits } = options
  const sockets = new WebSocketServer({
    server,
    path: GRAPHQL_PATH,
    maxPayload: limits.maxBodyBytes,
    verifyClient: ({ req }, decide) =>
      decide(isOriginAllowed(req, limits.allowedOrigins), 403, ORIGIN_REFUSED.message),
  })
  const served = useServer(
    {
      connectionInitWaitTimeout: HANDSHAKE_TIMEOUT_MS,
      onConnect: async ({ connectionParams, extra }) => {
        const credentials = readHandshake(connectionParams, extra.request)
        const answer = await authenticate(commands.database, credentials)
        if (answer.kind === 'refused') {
          extra.socket.close(CLOSE_UNAUTHORIZED, answer.message)
          return false
        }
        return true
      },
      onSubscribe: async ({ connectionParams, extra }, _id, payload) => {
        const credentials = readHandshake(connectionParams, extra.request)
        try {
          return await prepare({ endpoint, options, credentials }, payload)
        } catch (error) {
          return [maskError(error, commands)]
        }
      },
      execute: (args) => readRoot(args).execute(args),
      subscribe: (args) => readRoot(args).subscribe(args),
    },
    sockets,
  )
  return {
    stop: async () => {
      for (const client of sockets.clients) {
        client.close(CLOSE_SERVICE_RESTART, 'Service restart')
      }
      const isClosed = new AbortController()
      const deadline = commands.clock.sleep(CLOSE_DEADLINE_MS, isClosed.signal).then(
        () => terminateAll(sockets),
        () => undefined,
      )
      await served.dispose()
      isClosed.abort()
      await deadline
    },
  }
}

/** What is executed for a message that asks for an operation, or why it is refused. */
async function prepare(
  parts: {
    readonly endpoint: GraphqlEndpoint
    readonly options: SocketOptions
    readonly credentials: Credentials
  },
  payload: SubscribePayload,
): Promise<ExecutionArgs | readonly GraphQLError[]> {
  const { endpoint, options, credentials } = parts
  const answer = await authenticate(options.commands.database, credentials)
  if (answer.kind === 'refused') {
    return [new GraphQLError(answer.message, { extensions: { code: 'UNAUTHENTICATED' } })]
  }
  const retryAfterMs = await options.requestLimit.take(answer.actor.tokenId)
  if (retryAfterMs !== null) {
    const { code, message } = describeTooManyRequests(options.requestLimit)
    return [new GraphQLError(message, { extensions: { code, retryAfterMs } })]
  }
  const facts = { actor: answer.actor, credentials }
  const enveloped = endpoint.getEnveloped({ ...facts, params: payload })
  const document = enveloped.parse(payload.query)
  const errors = enveloped.validate(enveloped.schema, document)
  if (errors.length > 0) {
    return errors
  }
  return {
    schema: enveloped.schema,
    operationName: payload.operationName,
    document,
    variableValues: payload.variables,
    contextValue: await enveloped.contextFactory(),
    rootValue: { execute: enveloped.execute, subscribe: enveloped.subscribe },
  }
}

function terminateAll(sockets: WebSocketServer): void {
  for (const client of sockets.clients) {
    client.terminate()
  }
}

type Enveloped = ReturnType<GraphqlEndpoint['getEnveloped']>

/** The endpoint's own functions, which mask errors. */
function readRoot(args: { rootValue?: unknown }): Pick<Enveloped, 'execute' | 'subscribe'> {
  return args.rootValue as Pick<Enveloped, 'execute' | 'subscribe'>
}

/** Browsers cannot set headers on a socket: who comes stands in the handshake's parameters, or in the headers. */
function readHandshake(
  parameters: Readonly<Record<string, unknown>> | undefined,
  request: IncomingMessage,
): Credentials {
  return readCredentials(parameters, parameters?.['headers'], request.headers)
}
