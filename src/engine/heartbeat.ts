/**
 * This process's heartbeat: one row in PostgreSQL, and how long its attempts may trust themselves.
 *
 * Invariant: the trust window starts when a beat that was acknowledged was *sent*. Other processes
 * count silence from what they last saw, later than that, so this process stops writing before anybody
 * takes its runs over. A beat that comes after the window has ended does not bring the trust of before it
 * back: meanwhile the runs may have been taken over.
 */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Sealer } from '../runtime/seal.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { beat, markStopped, registerWorker } from '../store/workers.ts'

export interface HeartbeatOptions {
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  readonly workerId: string
  readonly host: string
  readonly pid: number
  readonly sealer: Pick<Sealer, 'keyId'>
  readonly intervalMs: number
  /** How long a beat is trusted. */
  readonly trustMs: number
}

export class Heartbeat implements Service {
  readonly name = 'heartbeat'
  readonly #options: HeartbeatOptions
  readonly #beats: PeriodicService
  #lastAcknowledgedSentAtMs = Number.NEGATIVE_INFINITY
  #gaps = 0

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#beats = new PeriodicService({
      name: this.name,
      intervalMs: options.intervalMs,
      clock: options.clock,
      logger: options.logger,
      round: () => this.#beat(),
    })
  }

  /** Monotonic milliseconds: when the last beat that PostgreSQL acknowledged was sent. */
  get lastAcknowledgedSentAtMs(): number {
    return this.#lastAcknowledgedSentAtMs
  }

  /** How often the trust of a beat has ended before the next one was acknowledged. Whoever relied on it before is not trusted any more. */
  get gaps(): number {
    return this.#gaps
  }

  /** Whether the last acknowledged beat still counts. */
  get isTrusted(): boolean {
    const { clock, trustMs } = this.#options
    return clock.monotonicMs() < this.#lastAcknowledgedSentAtMs + trustMs
  }

  async start(): Promise<void> {
    const { database, clock, workerId, host, pid, sealer } = this.#options
    const sentAtMs = clock.monotonicMs()
    await registerWorker(database, { id: workerId, host, pid, sealingKeyId: sealer.keyId })
    this.#lastAcknowledgedSentAtMs = sentAtMs
    this.#beats.start()
  }

  async stop(): Promise<void> {
    await this.#beats.stop()
    await markStopped(this.#options.database, this.#options.workerId)
  }

  async #beat(): Promise<void> {
    const { clock, database, workerId, trustMs } = this.#options
    const sentAtMs = clock.monotonicMs()
    await beat(database, workerId)
    if (clock.monotonicMs() >= this.#lastAcknowledgedSentAtMs + trustMs) {
      this.#gaps += 1
    }
    this.#lastAcknowledgedSentAtMs = sentAtMs
  }
}
