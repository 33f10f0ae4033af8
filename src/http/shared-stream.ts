/**
 * One subscription, made once, for all clients that ask for the same: each event is read and encoded once.
 *
 * Invariants: a client that joins gets the newest event of each subject, as they were after a look at the
 * database that began when it joined, and from then on every event, in the same order as all others;
 * nothing falls in between, because both are done in one step. The last one to leave ends the
 * subscription.
 */
import type { GraphQLError } from 'graphql'
import { isAsyncIterable } from 'graphql-yoga'
import { type EventNote, Sharing } from '../graphql/sharing.ts'
import type { Encoded, StreamClient } from './stream-client.ts'
import { encodeEvent, type StreamResult } from './stream-event.ts'

/** Events that a snapshot may have. Past that nobody joins any more: who comes later begins anew. */
const MAX_SNAPSHOT = 5_000
const KEEP_ALIVE = 'keepAlive'

export type Subscribed = AsyncIterable<StreamResult> | StreamResult

export interface Member {
  readonly client: StreamClient
  /** It could not be subscribed to: who asked is answered as if nobody shared anything. */
  refuse(): void
}

export interface SharedStreamOptions {
  /** Nobody may join from now on. */
  onClosed(): void
  /** What clients are shown of an error that ends the stream. */
  maskError(error: unknown): GraphQLError
  /** It failed while it was being ended, and nobody listens any more. */
  onEndFailed(error: unknown): void
}

export class SharedStream {
  readonly sharing = new Sharing()
  readonly #options: SharedStreamOptions
  readonly #members = new Set<Member>()
  /** By the number of the look that they wait for. */
  readonly #joining = new Map<Member, number>()
  readonly #newest = new Map<string, Encoded>()
  #events: AsyncIterator<StreamResult> | null = null
  #isClosed = false
  /** Nobody joins any more, so nothing is remembered once those who wait for their snapshot have it. */
  #isFull = false

  constructor(options: SharedStreamOptions) {
    this.#options = options
  }

  join(member: Member): void {
    this.#joining.set(member, this.sharing.askForLook())
    if (this.#events) {
      member.client.begin()
    }
  }

  leave(member: Member): void {
    this.#joining.delete(member)
    this.#members.delete(member)
    if (this.#members.size + this.#joining.size === 0) {
      this.#close()
      this.#end().catch((error: unknown) => this.#options.onEndFailed(error))
    }
  }

  async #end(): Promise<void> {
    await this.#events?.return?.()
  }

  /** Resolves when the stream is over, and everybody was told so. Throws what subscribing throws. */
  async run(subscribe: () => Promise<Subscribed>): Promise<void> {
    const subscribed = await subscribe().catch((error: unknown) => {
      this.#refuseAll()
      throw error
    })
    if (!isAsyncIterable(subscribed)) {
      this.#refuseAll()
      return
    }
    const events = subscribed[Symbol.asyncIterator]()
    this.#events = events
    if (this.#isClosed) {
      await events.return?.()
      return
    }
    for (const { client } of this.#joining.keys()) {
      client.begin()
    }
    await this.#handOutAll(events)
  }

  async #handOutAll(events: AsyncIterator<StreamResult>): Promise<void> {
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) {
        this.#handOut(encodeEvent(next.value), this.sharing.takeNote())
      }
    } catch (error) {
      this.#handOut(encodeEvent({ errors: [this.#options.maskError(error)] }), null)
    }
    this.#close()
    for (const { client } of [...this.#members, ...this.#joining.keys()]) {
      client.complete()
    }
  }

  #handOut(event: Encoded, note: EventNote | null): void {
    if (note === null || note.leaves === 'noStream') {
      this.#close()
    }
    const subject = note?.subject ?? KEEP_ALIVE
    if (note === null || note.audience === 'everybody') {
      for (const { client } of this.#members) {
        client.send(subject, event)
      }
    }
    this.#remember(event, note)
    for (const [member, look] of this.#joining) {
      if (note === null || note.leaves === 'noStream' || look <= note.looks) {
        this.#admit(member, event, note)
      }
    }
    if (this.#isFull && this.#joining.size === 0) {
      this.#newest.clear()
    }
  }

  #remember(event: Encoded, note: EventNote | null): void {
    if (note?.subject) {
      this.#newest.delete(note.subject)
      if (note.leaves === 'event') {
        this.#newest.set(note.subject, event)
      }
      if (this.#newest.size > MAX_SNAPSHOT) {
        this.#isFull = true
        this.#options.onClosed()
      }
    }
  }

  /** Its snapshot, with the event that says that it is whole. */
  #admit(member: Member, event: Encoded, note: EventNote | null): void {
    this.#joining.delete(member)
    this.#members.add(member)
    for (const [subject, newest] of this.#newest) {
      member.client.send(subject, newest)
    }
    const isPartOfSnapshot = note?.subject && note.leaves === 'event'
    if (note?.audience !== 'nobody' && !isPartOfSnapshot) {
      member.client.send(note?.subject ?? KEEP_ALIVE, event)
    }
  }

  #close(): void {
    this.#isClosed = true
    this.#options.onClosed()
  }

  #refuseAll(): void {
    this.#close()
    for (const member of this.#joining.keys()) {
      member.refuse()
    }
    this.#joining.clear()
  }
}
