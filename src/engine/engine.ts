/**
 * The engine of one process: its parts in the order in which they start.
 *
 * The heartbeat comes before the pool (a claimed run needs a beating worker) and stops after it (a
 * draining attempt must still be trusted).
 */

import type { Service } from '../runtime/service.ts'
import type { AttemptParts } from './attempt.ts'
import { runAttempt } from './attempt.ts'
import { Heartbeat } from './heartbeat.ts'
import { LedgerUpkeep } from './ledger-upkeep.ts'
import { Pool } from './pool.ts'
import { Recovery } from './recovery.ts'

export interface EngineSettings {
  readonly slots: number
  readonly pollMs: number
  readonly beatMs: number
  readonly silentAfterMs: number
}

export interface EngineOptions extends Omit<AttemptParts, 'beatSentAtMs'> {
  readonly engine: EngineSettings
  readonly host: string
  readonly pid: number
  /** No other process uses the database. */
  readonly isAlone: boolean
}

export class Engine implements Service {
  readonly name = 'engine'
  readonly #services: readonly Service[]

  constructor(options: EngineOptions) {
    const { engine, settings } = options
    const heartbeat = new Heartbeat({ ...options, intervalMs: engine.beatMs })
    const parts: AttemptParts = {
      ...options,
      beatSentAtMs: () => heartbeat.lastAcknowledgedSentAtMs,
    }
    const pool = new Pool({
      ...options,
      slots: engine.slots,
      pollMs: engine.pollMs,
      runAttempt: (claimed, signal) => runAttempt(parts, claimed, signal),
    })
    const recovery = new Recovery({
      ...options,
      intervalMs: engine.beatMs,
      silentAfterMs: engine.silentAfterMs,
      ownRunIds: () => pool.runIds,
    })
    const upkeep = new LedgerUpkeep({ ...options, retentionMs: settings.retentionMs })
    this.#services = [upkeep, heartbeat, recovery, pool]
  }

  async start(): Promise<void> {
    for (const service of this.#services) {
      await service.start()
    }
  }

  async stop(): Promise<void> {
    for (const service of [...this.#services].reverse()) {
      await service.stop()
    }
  }
}
