/**
 * The drain of one process: how everything that runs in it learns that it is to stop, and by when.
 *
 * It has one beginning and one deadline, shared by all pools. From the beginning on no run is claimed, and
 * an attempt stops at its next safe point: between two calls, while it reads, while it waits between two
 * tries. Until the deadline whatever an attempt has to finish is waited for. After it only a call under
 * way is (its answer decides whether a record is written), and an end that cannot be recorded is left to
 * recovery. The process itself has a later deadline, which main.ts keeps.
 */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { AttemptStop } from './attempt-stop.ts'

export interface DrainOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly deadlineMs: number
  /** What is still at work when the deadline has passed, for the log. */
  stillRunning(): ReadonlySet<string>
}

export class Drain {
  readonly #options: DrainOptions
  readonly #begun = new AbortController()
  readonly #late = new AbortController()
  readonly #ended = new AbortController()

  constructor(options: DrainOptions) {
    this.#options = options
    // As many may listen as there are attempts.
    setMaxListeners(0, this.#begun.signal, this.#late.signal)
  }

  /** Aborted when the drain begins; its reason is the attempt's stop. */
  get signal(): AbortSignal {
    return this.#begun.signal
  }

  /** Aborted when the deadline has passed. */
  get lateSignal(): AbortSignal {
    return this.#late.signal
  }

  /** Only the first call counts: the deadline does not move. */
  begin(): void {
    if (!this.#begun.signal.aborted) {
      this.#begun.abort(new AttemptStop({ kind: 'draining' }))
      void this.#passDeadline()
    }
  }

  /** Nothing is at work any more. */
  end(): void {
    this.#ended.abort()
  }

  async #passDeadline(): Promise<void> {
    const { clock, logger, deadlineMs, stillRunning } = this.#options
    try {
      await clock.sleep(deadlineMs, this.#ended.signal)
    } catch {
      return // everything stopped in time
    }
    logger.warn('drain.late', { runIds: [...stillRunning()].join(' ') })
    this.#late.abort()
  }
}
