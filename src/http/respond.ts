/** Answers that are not GraphQL's own. */
import type { ServerResponse } from 'node:http'

export function respondJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  })
  response.end(JSON.stringify(body))
}

/** An error in GraphQL's shape, so that a client reads it like any other. */
export function respondError(
  response: ServerResponse,
  status: number,
  error: { readonly code: string; readonly message: string },
): void {
  const { code, message } = error
  respondJson(response, status, { errors: [{ message, extensions: { code } }] })
}
