/**
 * One client of a stream of server-sent events (graphql-sse, distinct connections).
 *
 * Invariant: what waits for a client that is slow is bounded: the newest event of each subject, and at most
 * `MAX_WAITING` subjects. Past that its stream ends without `complete`, so that it comes again.
 */
import type { ServerResponse } from 'node:http'

/** Events are shared by all who wait for them: only that they wait costs something. */
const MAX_WAITING = 10_000
/** Longest that a client whose stream is over may take to read what is on its way, in milliseconds. */
const END_DEADLINE_MS = 10_000

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'content-encoding': 'none',
}
/** Some clients take a stream for open with its first byte only. */
const FIRST_BYTES = ':\n\n'
const COMPLETE = 'event: complete\ndata:\n\n'

/** An event as it is sent. */
export type Encoded = Buffer

export class StreamClient {
  readonly #response: ServerResponse
  /** By subject, in the order of their newest events; null: it keeps up. */
  #waiting: Map<string, Encoded> | null = null
  #isComplete = false

  constructor(response: ServerResponse) {
    this.#response = response
  }

  begin(): void {
    this.#response.on('error', () => undefined)
    this.#response.writeHead(200, HEADERS)
    this.#response.write(FIRST_BYTES)
  }

  /** Calls back once, when the connection is closed, from whichever side. */
  onGone(listener: () => void): void {
    if (this.#response.destroyed) {
      listener()
    } else {
      this.#response.once('close', listener)
    }
  }

  /** `subject`: what an event that waits is replaced by. */
  send(subject: string, event: Encoded): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) {
      return
    }
    if (this.#waiting === null && !response.writableNeedDrain) {
      response.write(event)
      return
    }
    const waiting = this.#startWaiting()
    // To the end, as the sequences of a stream must not go backwards.
    waiting.delete(subject)
    waiting.set(subject, event)
    if (waiting.size > MAX_WAITING) {
      this.cut()
    }
  }

  /** What waits is sent before. */
  complete(): void {
    this.#isComplete = true
    this.#limitReading()
    if (this.#waiting === null) {
      this.#end()
    }
  }

  /** Ends with an error. What waits is not sent any more. */
  refuse(event: Encoded): void {
    this.#waiting?.clear()
    this.send('', event)
    this.complete()
  }

  /** Ends without `complete`: the client sees that it is to come again. */
  cut(): void {
    this.#waiting?.clear()
    this.#limitReading()
    if (!this.#response.writableEnded) {
      this.#response.end(() => this.#response.destroy())
    }
  }

  /** Who does not read would keep its connection for ever. */
  #limitReading(): void {
    this.#response.setTimeout(END_DEADLINE_MS, () => this.#response.destroy())
  }

  #startWaiting(): Map<string, Encoded> {
    if (this.#waiting === null) {
      this.#waiting = new Map()
      this.#response.once('drain', () => this.#flush())
    }
    return this.#waiting
  }

  #flush(): void {
    const waiting = this.#waiting ?? new Map<string, Encoded>()
    this.#waiting = null
    for (const [subject, event] of waiting) {
      this.send(subject, event)
    }
    if (this.#isComplete && this.#waiting === null) {
      this.#end()
    }
  }

  #end(): void {
    if (!this.#response.writableEnded) {
      this.#response.end(COMPLETE)
    }
  }
}
