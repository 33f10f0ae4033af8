/**
 * A typed client of the API: one request an operation, and subscriptions over server-sent events.
 *
 * It knows nothing of the server but its address and a token, and does not repeat anything by itself.
 */
import { createClient, type ExecutionResult } from 'graphql-sse'
import type { TypedDocumentString } from './gql/graphql.ts'

/** The API refused the operation, or a field of it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** Of the HTTP response. */
  readonly status: number
  /** `extensions.code` of the first error, such as `UNAUTHENTICATED`; null: it has none. */
  readonly code: string | null
  readonly errors: readonly ApiErrorEntry[]

  constructor(status: number, errors: readonly ApiErrorEntry[]) {
    super(errors[0]?.message ?? `The API answered with status ${status}.`)
    this.status = status
    this.errors = errors
    const code = errors[0]?.extensions?.['code']
    this.code = typeof code === 'string' ? code : null
  }
}

interface ApiErrorEntry {
  readonly message: string
  readonly path?: readonly (string | number)[] | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}

export interface ApiClientOptions {
  /** Where the server is, such as `http://127.0.0.1:4000`. */
  readonly address: string
  /** The bearer token; null sends none. */
  readonly token: string | null
  /** With a token of Tajo's: the id of another workspace, to act in that. */
  readonly workspaceId?: string
  /** Longest that a request may take. Subscriptions may last. */
  readonly timeoutMs?: number
}

export interface ApiClient {
  /** Sends a query or mutation. Throws {@link ApiError}, or what `fetch` throws. */
  request<Result, Variables>(
    document: TypedDocumentString<Result, Variables>,
    variables: Variables,
  ): Promise<Result>
  /** Ends when the server completes the stream; leaving the loop ends it from this side. Throws as `request` does. */
  subscribe<Result, Variables extends Record<string, unknown>>(
    document: TypedDocumentString<Result, Variables>,
    variables: Variables,
  ): AsyncIterableIterator<Result>
}

const DEFAULT_TIMEOUT_MS = 30_000

export function createApiClient(options: ApiClientOptions): ApiClient {
  const url = `${options.address}/graphql`
  const headers: Record<string, string> = {
    ...(options.token === null ? {} : { authorization: `Bearer ${options.token}` }),
    ...(options.workspaceId === undefined ? {} : { 'tajo-workspace': options.workspaceId }),
  }
  return {
    request: async (document, variables) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ query: document.toString(), variables }),
        signal: AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
      })
      return readResult(response.status, (await response.json()) as ExecutionResult)
    },
    subscribe: async function* (document, variables) {
      const client = createClient({ url, headers, retryAttempts: 0 })
      try {
        const query = document.toString()
        for await (const result of client.iterate<Record<string, unknown>>({ query, variables })) {
          yield readResult(200, result)
        }
      } catch (error) {
        throw (await describeRefusal(error)) ?? error
      } finally {
        client.dispose()
      }
    },
  }
}

function readResult<Result>(
  status: number,
  result: { readonly data?: unknown; readonly errors?: readonly ApiErrorEntry[] },
): Result {
  if (result.errors || result.data === undefined || result.data === null) {
    throw new ApiError(status, result.errors ?? [])
  }
  return result.data as Result
}

/** A stream that was refused before it opened carries the answer that refused it. */
async function describeRefusal(error: unknown): Promise<ApiError | null> {
  if (!(error instanceof Error && 'response' in error && error.response instanceof Response)) {
    return null
  }
  const { status } = error.response
  const body = (await error.response.json().catch(() => ({}))) as { errors?: ApiErrorEntry[] }
  return new ApiError(status, body.errors ?? [])
}
