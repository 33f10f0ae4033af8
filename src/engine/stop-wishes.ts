/**
 * Tells the attempts of this process that people asked their runs to stop: one look at the database for
 * all of them, every few seconds and whenever the bus says so.
 *
 * An attempt learns of a pause or a cancel with every checkpoint; this is for the times between, when it
 * waits for a source, or between two tries of a call. Invariant: while the database answers, an attempt
 * that is to stop knows within {@link STOP_LOOK_MS}, whatever became of the message on the bus (I15). The
 * attempt's signal is its own, fed by the drain and by what is seen here: one made by `AbortSignal.any`
 * may be collected before it fires.
 */
import { setMaxListeners } from 'node:events'
import { type Bus, STOP_CHANNEL, type Unsubscribe } from '../coordination/bus.ts'
import { STOP_LOOK_MS } from '../domain/run.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import type { ClaimedRun } from '../store/runs.ts'
import { listUnwantedRuns } from '../store/stop-wishes.ts'
import { stopForPeople } from './attempt-stop.ts'

export interface StopWishesOptions {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly workerId: string
}

export class StopWishes implements Service {
  readonly name = 'stop-wishes'
  readonly #options: StopWishesOptions
  readonly #looks: PeriodicService
  /** By claim: a run that was taken over may be claimed again while its first attempt is still ending. */
  readonly #attempts = new Map<ClaimedRun, AbortController>()
  #unsubscribe: Unsubscribe | null = null

  constructor(options: StopWishesOptions) {
    this.#options = options
    this.#looks = new PeriodicService({
      name: this.name,
      intervalMs: STOP_LOOK_MS,
      clock: options.clock,
      logger: options.logger,
      round: () => this.look(),
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#options.bus.subscribe(STOP_CHANNEL, () => {
      this.look().catch((error: unknown) => {
        this.#options.logger.warn('stop_wishes.look_failed', {}, error)
      })
    })
    this.#looks.start()
  }

  async stop(): Promise<void> {
    await this.#unsubscribe?.()
    await this.#looks.stop()
  }

  /** One look at what is wanted of this process's runs. */
  async look(): Promise<void> {
    if (this.#attempts.size === 0) {
      return
    }
    const { database, workerId } = this.#options
    for (const unwanted of await listUnwantedRuns(database, workerId)) {
      const stop = stopForPeople(unwanted)
      for (const [{ runId, epoch }, stopping] of this.#attempts) {
        if (stop && runId === unwanted.runId && epoch === unwanted.epoch) {
          stopping.abort(stop)
        }
      }
    }
  }

  /** Does an attempt's work under a signal of its own, which is aborted with the attempt's stop as its reason. */
  async watch(
    claimed: ClaimedRun,
    drainSignal: AbortSignal,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const stopping = new AbortController()
    // As many may listen as there are attempts, and calls of one attempt.
    setMaxListeners(0, drainSignal, stopping.signal)
    const drain = () => stopping.abort(drainSignal.reason)
    drainSignal.addEventListener('abort', drain)
    if (drainSignal.aborted) {
      drain()
    }
    this.#attempts.set(claimed, stopping)
    try {
      await work(stopping.signal)
    } finally {
      this.#attempts.delete(claimed)
      drainSignal.removeEventListener('abort', drain)
    }
  }
}
