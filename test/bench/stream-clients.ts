/**
 * Thousands of clients of server-sent events in one process, on plain sockets: what they cost must not be
 * taken for what the server costs.
 */
import { connect, type Socket } from 'node:net'
import type { TypedDocumentString } from '../../src/client/gql/graphql.ts'

export interface StreamClientOptions {
  readonly address: string
  readonly token: string
  readonly document: TypedDocumentString<unknown, never>
  readonly variables: object
  /** Called with each event: the text of its `data`. */
  onEvent(told: string): void
}

export interface StreamClient {
  /** Resolves with the first event. */
  readonly opened: Promise<void>
  /** Resolves with true when the stream was completed, and with false when it broke. */
  readonly ended: Promise<boolean>
  abort(): void
}

export function openStream(options: StreamClientOptions): StreamClient {
  const { hostname, port } = new URL(options.address)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.setEncoding('utf8')
  socket.write(requestOf(options, hostname))
  let opened: () => void = () => undefined
  const whenOpened = new Promise<void>((resolve, reject) => {
    opened = resolve
    socket.once('close', () => reject(new Error('The stream broke before its first event.')))
  })
  whenOpened.catch(() => undefined)
  const ended = read(socket, (told) => {
    opened()
    options.onEvent(told)
  })
  return { opened: whenOpened, ended, abort: () => socket.destroy() }
}

function requestOf({ token, document, variables }: StreamClientOptions, host: string): string {
  const body = JSON.stringify({ query: document.toString(), variables })
  return [
    'POST /graphql HTTP/1.1',
    `host: ${host}`,
    `authorization: Bearer ${token}`,
    'accept: text/event-stream',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}

const DATA = 'data: {'

/** An event ends with an empty line; the frames of the transfer encoding stand between lines. */
function read(socket: Socket, onEvent: (told: string) => void): Promise<boolean> {
  let rest = ''
  let isComplete = false
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith(DATA)) {
        onEvent(line)
      } else if (line === 'event: complete') {
        isComplete = true
        socket.end()
      }
    }
  })
  return new Promise((resolve) => {
    socket.once('error', () => undefined)
    socket.once('close', () => resolve(isComplete))
  })
}
