/**
 * Tells the bus how a run gets on: at most four times a second, and always the last word.
 */
import { announceProgress } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import type { RunProgress } from '../domain/progress.ts'
import { isFinal } from '../domain/run.ts'
import type { Clock } from '../runtime/clock.ts'

/** Shortest time between two messages of a run that still runs. */
const PUBLISH_EVERY_MS = 250

export class ProgressPublisher {
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #waiting = new AbortController()
  #pending: RunProgress | null = null
  #publishedAtMs = Number.NEGATIVE_INFINITY
  #isWaiting = false

  constructor(bus: Bus, clock: Clock) {
    this.#bus = bus
    this.#clock = clock
  }

  /** Resolves at once for progress, and when the message is sent for whatever ends the run or its attempt. */
  async publish(progress: RunProgress): Promise<void> {
    if (isFinal(progress.status) || progress.status === 'queued') {
      this.#waiting.abort()
      this.#pending = null
      await this.#send(progress)
      return
    }
    this.#pending = progress
    if (!this.#isWaiting) {
      this.#isWaiting = true
      void this.#flushWhenDue()
    }
  }

  /** Nothing is published after this. */
  close(): void {
    this.#waiting.abort()
    this.#pending = null
  }

  async #flushWhenDue(): Promise<void> {
    const waitMs = this.#publishedAtMs + PUBLISH_EVERY_MS - this.#clock.monotonicMs()
    const isDue = waitMs <= 0 || (await this.#wait(waitMs))
    this.#isWaiting = false
    const progress = this.#pending
    this.#pending = null
    if (isDue && progress) {
      await this.#send(progress)
    }
  }

  /** False: something final was published meanwhile. */
  async #wait(ms: number): Promise<boolean> {
    try {
      await this.#clock.sleep(ms, this.#waiting.signal)
      return true
    } catch {
      return false
    }
  }

  async #send(progress: RunProgress): Promise<void> {
    this.#publishedAtMs = this.#clock.monotonicMs()
    await announceProgress(this.#bus, progress)
  }
}
