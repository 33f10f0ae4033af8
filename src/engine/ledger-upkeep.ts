/**
 * Keeps the ledger's partitions: a week ahead at all times, and none that no key counts in any more. Rejected
 * records and pages that have ended are forgotten with the keys of their time, and what people asked for by a key of
 * their own a week after it was done.
 */
import { TEST_RECORDS_LIFE_MS } from '../domain/test-run.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import { forgetCommandKeys } from '../store/command-keys.ts'
import type { Database } from '../store/database.ts'
import { forgetEndedPages } from '../store/ended-pages.ts'
import { dropExpiredPartitions, makePartitions } from '../store/partitions.ts'
import { forgetEnded } from '../store/quarantine.ts'
import { forgetTestRecords } from '../store/test-runs.ts'

export interface LedgerUpkeepOptions {
  readonly database: Database
  readonly clock: Clock
  readonly logger: Logger
  readonly retentionMs: number
}

const INTERVAL_MS = 60 * 60 * 1000
/** Longer than anybody repeats a request of which he does not know what became. */
const COMMAND_KEY_LIFE_MS = 7 * 24 * 60 * 60 * 1000

export class LedgerUpkeep implements Service {
  readonly name = 'ledger-upkeep'
  readonly #options: LedgerUpkeepOptions
  readonly #rounds: PeriodicService

  constructor(options: LedgerUpkeepOptions) {
    this.#options = options
    this.#rounds = new PeriodicService({
      name: this.name,
      intervalMs: INTERVAL_MS,
      clock: options.clock,
      logger: options.logger,
      round: () => this.runOnce(),
    })
  }

  /** The partitions are there before anything is delivered. */
  async start(): Promise<void> {
    await makePartitions(this.#options.database)
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
  }

  async runOnce(): Promise<void> {
    const { database, logger, retentionMs } = this.#options
    for (const partition of await makePartitions(database)) {
      logger.info('ledger.partition_made', { partition })
    }
    for (const partition of await dropExpiredPartitions(database, retentionMs)) {
      logger.info('ledger.partition_dropped', { partition })
    }
    const records = await forgetEnded(database, retentionMs)
    if (records > 0) {
      logger.info('rejected_records.forgotten', { records })
    }
    const pages = await forgetEndedPages(database, retentionMs)
    if (pages > 0) {
      logger.info('ended_pages.forgotten', { pages })
    }
    const keys = await forgetCommandKeys(database, COMMAND_KEY_LIFE_MS)
    if (keys > 0) {
      logger.info('command_keys.forgotten', { keys })
    }
    const tests = await forgetTestRecords(database, TEST_RECORDS_LIFE_MS)
    if (tests > 0) {
      logger.info('test_records.forgotten', { tests })
    }
  }
}
