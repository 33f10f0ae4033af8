/** What a request for a stream of server-sent events asks for, and its body for whoever answers it in another way. */
import type { IncomingMessage } from 'node:http'
import { type DocumentNode, getOperationAST, Kind } from 'graphql'
import { SHARED_SUBSCRIPTIONS } from '../graphql/sharing.ts'

export interface StreamParams {
  readonly query: string
  readonly operationName?: string
  readonly variables?: Readonly<Record<string, unknown>>
}

/** What stands in a body of this protocol. */
const MEMBERS = ['query', 'operationName', 'variables', 'extensions']

/** Subscriptions come as a POST of JSON, as graphql-sse and the like send it. */
export function isStreamRequest({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    headers.accept?.includes('text/event-stream') === true &&
    headers['content-type']?.startsWith('application/json') === true
  )
}

/**
 * Reads the body, and puts it back. Null: it is not what {@link StreamParams} says, or could not be read;
 * whoever reads it after this meets the same error.
 */
export async function readStreamParams(
  request: IncomingMessage & { body?: AsyncIterable<Buffer> },
): Promise<StreamParams | null> {
  const body = new ReadBody()
  await body.readFrom(request.body ?? request)
  Object.assign(request, { body })
  return body.isWhole ? parseParams(body.chunks) : null
}

/** Whether the operation is one that many clients can share. */
export function isShared(document: DocumentNode, operationName: string | undefined): boolean {
  const operation = getOperationAST(document, operationName)
  const [field] = operation?.selectionSet.selections ?? []
  return (
    operation?.operation === 'subscription' &&
    operation.selectionSet.selections.length === 1 &&
    field?.kind === Kind.FIELD &&
    SHARED_SUBSCRIPTIONS.includes(field.name.value)
  )
}

function parseParams(chunks: readonly Buffer[]): StreamParams | null {
  let value: unknown
  try {
    value = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    return null
  }
  if (!isObject(value) || Object.keys(value).some((name) => !MEMBERS.includes(name))) {
    return null
  }
  const { query, operationName = null, variables = null } = value
  const isValid =
    typeof query === 'string' &&
    (operationName === null || typeof operationName === 'string') &&
    (variables === null || isObject(variables))
  return isValid
    ? {
        query,
        ...(operationName === null ? {} : { operationName }),
        ...(variables === null ? {} : { variables }),
      }
    : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A body that was read, and can be read again, with the error that reading ended with. */
class ReadBody implements AsyncIterable<Buffer> {
  readonly chunks: Buffer[] = []
  isWhole = false
  #error: unknown = null

  async readFrom(body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        this.chunks.push(chunk)
      }
      this.isWhole = true
    } catch (error) {
      this.#error = error
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    yield* this.chunks
    if (!this.isWhole) {
      throw this.#error
    }
  }
}
