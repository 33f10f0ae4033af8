/**
 * The engine of one process: its parts in the order in which they start.
 *
 * The heartbeat comes before the pool (a claimed run needs a beating worker) and stops after it (a
 * draining attempt must still be trusted).
 */

import type { Logger } from '../runtime/logger.ts'
import { type Service, stopAll } from '../runtime/service.ts'
import { type AttemptParts, runAttempt } from './attempt.ts'
import { Drain } from './drain.ts'
import { Heartbeat } from './heartbeat.ts'
import { LedgerUpkeep } from './ledger-upkeep.ts'
import { Pool } from './pool.ts'
import { Recovery } from './recovery.ts'
import { Scheduler } from './scheduler.ts'
import { SealingUpkeep } from './sealing-upkeep.ts'
import { StopWishes } from './stop-wishes.ts'

export interface EngineSettings {
  readonly slots: number
  readonly pollMs: number
  readonly beatMs: number
  readonly silentAfterMs: number
  readonly drainDeadlineMs: number
  /** How often schedules are looked at. */
  readonly schedulerMs: number
}

export interface EngineOptions
  extends Omit<AttemptParts, 'beatSentAtMs' | 'beatGaps' | 'lateSignal'> {
  readonly engine: EngineSettings
  readonly host: string
  readonly pid: number
  /** No other process uses the database. */
  readonly isAlone: boolean
}

export class Engine implements Service {
  readonly name = 'engine'
  readonly #services: readonly Service[]
  readonly #drain: Drain
  readonly #logger: Logger
  readonly #pool: Pool

  constructor(options: EngineOptions) {
    const { engine, settings } = options
    const { breaker } = settings
    const drain: Drain = new Drain({
      ...options,
      deadlineMs: engine.drainDeadlineMs,
      stillRunning: () => pool.runIds,
    })
    const stopWishes = new StopWishes(options)
    const heartbeat = new Heartbeat({
      ...options,
      intervalMs: engine.beatMs,
      trustMs: settings.beatTrustMs,
    })
    const parts: AttemptParts = {
      ...options,
      lateSignal: drain.lateSignal,
      beatSentAtMs: () => heartbeat.lastAcknowledgedSentAtMs,
      beatGaps: () => heartbeat.gaps,
    }
    const pool: Pool = new Pool({
      ...options,
      drain,
      slots: engine.slots,
      pollMs: engine.pollMs,
      isTrusted: () => heartbeat.isTrusted,
      runAttempt: (claimed, drainSignal) =>
        stopWishes.watch(claimed, drainSignal, (signal) => runAttempt(parts, claimed, signal)),
    })
    const recovery = new Recovery({
      ...options,
      breaker,
      intervalMs: engine.beatMs,
      silentAfterMs: engine.silentAfterMs,
      ownRunIds: () => pool.runIds,
    })
    const upkeep = new LedgerUpkeep({ ...options, retentionMs: settings.retentionMs })
    const scheduler = new Scheduler({ ...options, breaker, intervalMs: engine.schedulerMs })
    const sealing = new SealingUpkeep(options)
    this.#services = [upkeep, heartbeat, recovery, stopWishes, pool, scheduler, sealing]
    this.#pool = pool
    this.#drain = drain
    this.#logger = options.logger
  }

  /** The runs that this process is at work on. */
  get runIds(): ReadonlySet<string> {
    return this.#pool.runIds
  }

  async start(): Promise<void> {
    for (const service of this.#services) {
      await service.start()
    }
  }

  /** No run is claimed from now on, and the attempts stop at their next safe points. */
  beginDrain(): void {
    this.#drain.begin()
  }

  async stop(): Promise<void> {
    this.beginDrain()
    await stopAll(this.#services, this.#logger)
    this.#drain.end()
  }
}
