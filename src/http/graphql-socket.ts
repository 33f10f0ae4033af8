/**
 * GraphQL over a WebSocket (graphql-transport-ws), on the path of the HTTP endpoint.
 *
 * Invariant: nobody is served whose token does not hold; it is asked at the handshake and again at each
 * operation.
 */
import type { IncomingMessage, Server } from 'node:http'
import { GraphQLError } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { WebSocketServer } from 'ws'
import { authenticate, type Credentials } from '../commands/authenticate.ts'
import type { CommandContext } from '../commands/context.ts'
import { readCredentials } from './credentials.ts'
import { GRAPHQL_PATH, type GraphqlEndpoint } from './graphql-endpoint.ts'
import { MAX_BODY_BYTES } from './request-body.ts'

/** graphql-transport-ws: the client is not authorised. */
const CLOSE_UNAUTHORIZED = 4401
/** RFC 6455's registry: the service restarts. Clients of graphql-ws connect again after it. */
const CLOSE_SERVICE_RESTART = 1012
/** Longest that a client may take to confirm that a socket is closed. */
const CLOSE_DEADLINE_MS = 1_000
/** Longest that a client may take to send its handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000

/** Resolves the stop when every socket is closed. */
export function attachSocket(
  server: Server,
  endpoint: GraphqlEndpoint,
  commands: CommandContext,
): { stop(): Promise<void> } {
  const sockets = new WebSocketServer({ server, path: GRAPHQL_PATH, maxPayload: MAX_BODY_BYTES })
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
        const answer = await authenticate(commands.database, credentials)
        if (answer.kind === 'refused') {
          return [new GraphQLError(answer.message, { extensions: { code: 'UNAUTHENTICATED' } })]
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
