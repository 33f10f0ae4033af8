/**
 * Measures how far this process's clock is off the database's, and says so in the log: when it begins and when
 * it ends, when it jumps, and once an hour in between. How unhealthy it makes the process is health.ts's.
 */
import {
  type ClockDifference,
  type ClockNotice,
  decideClockNotice,
} from '../domain/clock-difference.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { measureClockDifference } from '../store/workers.ts'

export interface ClockWatchOptions {
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
}

const INTERVAL_MS = 60_000
/** A question that had to wait for others says little: it is asked again. */
const MAX_QUESTIONS = 3
const CERTAIN_ENOUGH_MS = 100

export class ClockWatch implements Service {
  readonly name = 'clock-watch'
  readonly #options: ClockWatchOptions
  readonly #rounds: PeriodicService
  #last: ClockNotice | null = null

  constructor(options: ClockWatchOptions) {
    this.#options = options
    this.#rounds = new PeriodicService({
      ...options,
      name: this.name,
      intervalMs: INTERVAL_MS,
      round: () => this.runOnce(),
    })
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
  }

  async runOnce(): Promise<void> {
    const { clock, logger } = this.#options
    const measured = await this.#measure()
    const nowMs = clock.monotonicMs()
    const decision = decideClockNotice(measured, this.#last, nowMs)
    if (decision === 'nothing_new') {
      return
    }
    const { differenceMs, uncertaintyMs } = measured
    if (decision === 'agrees') {
      this.#last = null
      logger.info('clock.agrees', { differenceMs, uncertaintyMs })
    } else {
      this.#last = { differenceMs, givenAtMs: nowMs }
      logger.warn('clock.differs', { differenceMs, uncertaintyMs })
    }
  }

  /** The most certain of a few answers. */
  async #measure(): Promise<ClockDifference> {
    const { database, clock } = this.#options
    let best = await measureClockDifference(database, clock)
    for (let n = 1; n < MAX_QUESTIONS && best.uncertaintyMs > CERTAIN_ENOUGH_MS; n += 1) {
      const next = await measureClockDifference(database, clock)
      best = next.uncertaintyMs < best.uncertaintyMs ? next : best
    }
    return best
  }
}
