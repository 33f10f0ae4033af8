/** Bounds what a request may send. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { GraphQLError } from 'graphql'

export const MAX_BODY_BYTES = 1024 * 1024

export const BODY_TOO_LARGE = {
  code: 'REQUEST_TOO_LARGE',
  message: `The request's body must not have more than ${MAX_BODY_BYTES} bytes.`,
}

/** Whether the request itself says that it is too large. One that says nothing is counted as it comes. */
export function isDeclaredTooLarge(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES
}

/** Makes the GraphQL server read the body through a counter. Past the limit reading throws. */
export function boundBody(request: IncomingMessage): IncomingMessage {
  return Object.assign(request, { body: new BoundBody(request) })
}

/** The whole body; null: it is larger than the limit, and its rest was not read. */
export async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const part: Buffer = chunk
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) {
      return null
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
  readonly maxBytes = MAX_BODY_BYTES
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    let bytes = 0
    for await (const chunk of this.#request.iterator({ destroyOnReturn: false })) {
      const part: Buffer = chunk
      bytes += part.length
      if (bytes > this.maxBytes) {
        const { message, code } = BODY_TOO_LARGE
        throw new GraphQLError(message, { extensions: { code, http: { status: 413 } } })
      }
      yield part
    }
  }
}
