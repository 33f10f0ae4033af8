/** Bounds what a request may send. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { GraphQLError } from 'graphql'
import { respondError } from './respond.ts'

export function bodyTooLarge(maxBytes: number): {
  readonly code: string
  readonly message: string
} {
  return {
    code: 'REQUEST_TOO_LARGE',
    message: `The request's body must not have more than ${maxBytes} bytes.`,
  }
}

/** Whether the request itself says that it is too large. One that says nothing is counted as it comes. */
export function isDeclaredTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > maxBytes
}

/** Makes the GraphQL server read the body through a counter. Past the limit reading throws. */
export function boundBody(request: IncomingMessage, maxBytes: number): IncomingMessage {
  return Object.assign(request, { body: new BoundBody(request, maxBytes) })
}

/** The whole body. Null: it is too large, and that was answered; or its client has gone, which is no error of ours. */
export async function receiveBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<Buffer | null> {
  const body = await readBody(request, maxBytes)
  if (body === 'too large') {
    response.setHeader('connection', 'close')
    respondError(response, 413, bodyTooLarge(maxBytes))
  }
  return typeof body === 'string' ? null : body
}

/** The whole body; or why there is none. One that is larger than the limit is not read to its end. */
async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | 'too large' | 'broken off'> {
  try {
    return await readAll(request, maxBytes)
  } catch (error) {
    if (request.destroyed && !request.complete) {
      return 'broken off'
    }
    throw error
  }
}

async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const part: Buffer = chunk
    bytes += part.length
    if (bytes > maxBytes) {
      return 'too large'
    }
    chunks.push(part)
  }
  return Buffer.concat(chunks)
}

/** Gives the GraphQL server a body that has been read. */
export function giveBody(request: IncomingMessage, body: Buffer): IncomingMessage {
  return Object.assign(request, { body: new ReadBody(body) })
}

class ReadBody implements AsyncIterable<Buffer> {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return Readable.from([this.bytes])[Symbol.asyncIterator]()
  }
}

/** The GraphQL server takes what has a member and can be iterated for a body that is still to be read. */
class BoundBody implements AsyncIterable<Buffer> {
  readonly maxBytes: number
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, maxBytes: number) {
    this.#request = request
    this.maxBytes = maxBytes
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    let bytes = 0
    for await (const chunk of this.#request.iterator({ destroyOnReturn: false })) {
      const part: Buffer = chunk
      bytes += part.length
      if (bytes > this.maxBytes) {
        const { message, code } = bodyTooLarge(this.maxBytes)
        throw new GraphQLError(message, { extensions: { code, http: { status: 413 } } })
      }
      yield part
    }
  }
}
