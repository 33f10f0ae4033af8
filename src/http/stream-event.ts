/** Events as graphql-sse has them on the wire. */
import type { ExecutionResult, GraphQLError } from 'graphql'

export type StreamResult = ExecutionResult

export function encodeEvent(result: StreamResult): Buffer {
  const { errors } = result
  const shown = errors ? { ...result, errors: errors.map(showError) } : result
  return Buffer.from(`event: next\ndata: ${JSON.stringify(shown)}\n\n`)
}

/** Without what is only for the server: how the answer's status is found. */
function showError(error: GraphQLError): object {
  const { extensions, ...shown } = error.toJSON()
  const { http: _status, unexpected: _mark, ...rest } = extensions ?? {}
  return Object.keys(rest).length > 0 ? { ...shown, extensions: rest } : shown
}
