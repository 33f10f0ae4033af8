/** Ways to the API that the typed client does not take: raw requests, and subscriptions over a WebSocket. */
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { TypedDocumentString } from '../../src/client/gql/graphql.ts'

export interface RawAnswer {
  readonly status: number
  readonly body: {
    readonly data?: unknown
    readonly errors?: readonly {
      readonly message: string
      readonly extensions?: Readonly<Record<string, unknown>>
    }[]
  }
}

/** Posts a query as it stands. */
export async function post(
  address: string,
  query: string,
  options: { readonly authorization?: string; readonly variables?: object } = {},
): Promise<RawAnswer> {
  const { authorization, variables } = options
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, body: (await response.json()) as RawAnswer['body'] }
}

/** `parameters`: what the handshake says besides. */
export function openSocket(
  address: string,
  authorization: string | null,
  parameters: Readonly<Record<string, string>> = {},
): Client {
  return createClient({
    url: `${address.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: true,
    ...(authorization === null ? {} : { connectionParams: { authorization, ...parameters } }),
  })
}

/** Everything that a subscription sends until it completes. */
export async function* subscribeOverSocket<
  Result extends Record<string, unknown>,
  Variables extends Record<string, unknown>,
>(
  socket: Client,
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): AsyncGenerator<Result, void, undefined> {
  const query = document.toString()
  for await (const result of socket.iterate<Result>({ query, variables })) {
    if (result.errors || !result.data) {
      throw new Error(result.errors?.[0]?.message ?? 'The subscription sent nothing.')
    }
    yield result.data
  }
}
