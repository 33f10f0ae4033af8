/**
 * Starts the runs of scheduled syncs when their slots are due.
 *
 * Any number of processes do this at once, and none needs to know of the others: a slot is fired by
 * whoever moves it on in the database (I14). What was due while nobody was there is not fired slot by
 * slot: the oldest one starts a run that stands for all of them, marked as catching up.
 */
import { announceRun } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import { decideTick } from '../domain/schedule.ts'
import { unreachable } from '../runtime/assert.ts'
import { type Clock, type Instant, instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import type { Logger } from '../runtime/logger.ts'
import type { IdSource } from '../runtime/random.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { type DueSlot, fireSlot, listDueSlots } from '../store/schedules.ts'

export interface SchedulerOptions {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly ids: IdSource
  readonly intervalMs: number
}

/** Slots that one look takes in. */
const SLOTS_PER_LOOK = 200

export class Scheduler implements Service {
  readonly name = 'scheduler'
  readonly #options: SchedulerOptions
  readonly #rounds: PeriodicService

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#rounds = new PeriodicService({
      name: this.name,
      intervalMs: options.intervalMs,
      clock: options.clock,
      logger: options.logger,
      round: (signal) => this.#round(signal, null),
    })
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
  }

  /** Fires what is due, by the database's clock or at the moment that a test gives. */
  async runOnce(now: Instant | null = null): Promise<void> {
    await this.#round(new AbortController().signal, now)
  }

  async #round(signal: AbortSignal, now: Instant | null): Promise<void> {
    let after: DueSlot | null = null
    do {
      const due: readonly DueSlot[] = await listDueSlots(this.#options.database, {
        limit: SLOTS_PER_LOOK,
        now,
        after,
      })
      for (const slot of due) {
        if (signal.aborted) {
          return
        }
        await this.#tryToFire(slot)
      }
      after = due.length === SLOTS_PER_LOOK ? (due.at(-1) ?? null) : null
    } while (after !== null)
  }

  /** One sync's trouble does not keep the others from their runs. */
  async #tryToFire(slot: DueSlot): Promise<void> {
    try {
      await this.#fire(slot)
    } catch (error) {
      this.#options.logger.error('schedule.not_fired', { syncId: slot.syncId }, error)
    }
  }

  async #fire(slot: DueSlot): Promise<void> {
    const { database, bus, ids, logger } = this.#options
    const { syncId, slotMs } = slot
    const { nextSlotMs, isCatchingUp } = decideTick(cronEngine, slot, slot)
    const runId = ids.next()
    const result = await fireSlot(database, { runId, syncId, slotMs, nextSlotMs, isCatchingUp })
    const told = { syncId, slotAt: instantAt(slotMs).toISOString() }
    switch (result?.kind) {
      case undefined:
        return // another process has fired it, or somebody is changing the sync: the next look tells
      case 'started':
        logger.info('run.enqueued', { ...told, runId, cause: 'schedule', isCatchingUp })
        await announceRun(bus, result.progress)
        return
      case 'coalesced':
        logger.info('schedule.coalesced', told)
        return
      case 'rested':
        logger.info('schedule.rested', told)
        return
      default:
        unreachable(result)
    }
  }
}
