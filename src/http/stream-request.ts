/** What a request for a stream of server-sent events asks for. */
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

/** Null: it is not what {@link StreamParams} says. */
export function readStreamParams(body: Buffer): StreamParams | null {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
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
