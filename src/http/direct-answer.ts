/**
 * Answers the common request (a query that comes again and again, as JSON) without the endpoint's HTTP layers, which
 * cost more than the query itself once that is compiled; and hands everything else to the endpoint.
 *
 * Invariant: what is answered here has gone through the endpoint's own parse, validate, context and execute, with all
 * that is plugged in there, and is what the endpoint would have answered. Whatever is not a plain request with an
 * answer that is whole (another method or kind of content, a page of another origin, a mutation, an error) is the
 * endpoint's. A result that is known by then is handed over: nothing is executed twice.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ExecutionResult } from 'graphql'
import { isAsyncIterable } from 'graphql-yoga'
import { WrittenResult } from './compiled-queries.ts'
import type { GraphqlEndpoint, RequestFacts } from './graphql-endpoint.ts'
import { boundBody, giveBody, receiveBody } from './request-body.ts'

export async function answer(
  parts: {
    readonly endpoint: GraphqlEndpoint
    readonly maxBodyBytes: number
    readonly facts: RequestFacts
  },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { endpoint, maxBodyBytes, facts } = parts
  if (!isPlain(request)) {
    await endpoint.handle(boundBody(request, maxBodyBytes), response, facts)
    return
  }
  const body = await receiveBody(request, response, maxBodyBytes)
  if (body === null) {
    return
  }
  const result = await execute(endpoint, facts, body)
  if (result instanceof WrittenResult) {
    const text = Buffer.from(result.text)
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': text.length,
    })
    response.end(text)
    return
  }
  const given = giveBody(request, body)
  await endpoint.handle(given, response, result === null ? facts : { ...facts, foregone: result })
}

/** Compressed bodies, other origins and negotiated answers have rules of their own. */
function isPlain({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    headers.origin === undefined &&
    headers['content-encoding'] === undefined &&
    PLAIN_CONTENT.test(headers['content-type'] ?? '') &&
    PLAIN_ACCEPT.test(headers.accept ?? '*/*')
  )
}

const PLAIN_CONTENT = /^application\/json(?:; ?charset=utf-8)?$/i
/** Of the forms that an answer may have, JSON comes first. */
const PLAIN_ACCEPT = /^(?:application\/json|\*\/\*)(?:,|$)/i

interface QueryParameters {
  readonly query: string
  readonly variables?: Record<string, unknown> | null
  readonly operationName?: string | null
}

/** The result of a query; null: the endpoint has to see the request itself. */
async function execute(
  endpoint: GraphqlEndpoint,
  facts: RequestFacts,
  body: Buffer,
): Promise<ExecutionResult | null> {
  const params = readParameters(body)
  if (params === null || !endpoint.compiledQueries.isKnown(params.query)) {
    return null
  }
  const enveloped = endpoint.getEnveloped({ ...facts, params })
  try {
    const document = enveloped.parse(params.query)
    if (enveloped.validate(enveloped.schema, document).length > 0) {
      return null
    }
    const result: unknown = await enveloped.execute({
      schema: enveloped.schema,
      document,
      contextValue: await enveloped.contextFactory(),
      variableValues: params.variables,
      operationName: params.operationName,
    })
    return isAsyncIterable(result) ? null : (result as ExecutionResult)
  } catch {
    // The endpoint meets the same, and knows how it is answered.
    return null
  }
}

/** Null: it is not JSON, or has something that is not plainly as it should be. */
function readParameters(body: Buffer): QueryParameters | null {
  let given: unknown
  try {
    given = JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
  return isQueryParameters(given) ? given : null
}

function isQueryParameters(given: unknown): given is QueryParameters {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return false
  }
  const { query, variables, operationName, ...others } = given as Record<string, unknown>
  return (
    typeof query === 'string' &&
    (operationName === undefined || operationName === null || typeof operationName === 'string') &&
    (variables === undefined || (typeof variables === 'object' && !Array.isArray(variables))) &&
    Object.keys(others).length === 0
  )
}
