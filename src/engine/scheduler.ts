/**
 * Starts the runs of scheduled syncs when their slots are due.
 *
 * Any number of processes do this at once, and none needs to know of the others: a slot is fired by
 * whoever moves it on in the database (I14). What was due while nobody was there is not fired slot by
 * slot: the oldest one starts a run that stands for all of them, marked as catching up.
 */
import { announceRuns } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import { decideTick } from '../domain/schedule.ts'
import { unreachable } from '../runtime/assert.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import type { IdSource } from '../runtime/random.ts'
import { DueRounds, type RoundsOptions } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import {
  type DueSlot,
  type FiredSlot,
  type FireResult,
  fireSlots,
  listDueSlots,
} from '../store/schedules.ts'

export interface SchedulerOptions extends RoundsOptions {
  readonly database: Database
  readonly bus: Bus
  readonly ids: IdSource
}

/** Slots that one statement fires; their syncs are held for as long as it takes. */
const SLOTS_PER_LOOK = 200

export class Scheduler extends DueRounds<SchedulerOptions> {
  constructor(options: SchedulerOptions) {
    super('scheduler', options)
  }

  protected async round(signal: AbortSignal, now: Instant | null): Promise<void> {
    let after: DueSlot | null = null
    do {
      const due: readonly DueSlot[] = await listDueSlots(this.options.database, {
        limit: SLOTS_PER_LOOK,
        now,
        after,
      })
      await this.#fireAll(this.#decideTicks(due), signal)
      after = due.length === SLOTS_PER_LOOK ? (due.at(-1) ?? null) : null
    } while (after !== null && !signal.aborted)
  }

  /** One sync's trouble does not keep the others from their runs. */
  #decideTicks(due: readonly DueSlot[]): readonly FiredSlot[] {
    return due.flatMap((slot) => {
      const { syncId, slotMs } = slot
      try {
        const tick = decideTick(cronEngine, slot, slot)
        return [{ runId: this.options.ids.next(), syncId, slotMs, ...tick }]
      } catch (error) {
        this.options.logger.error('schedule.not_fired', { syncId }, error)
        return []
      }
    })
  }

  /**
   * In one statement: one a slot took seconds for some thousand that are due at once, and more the further
   * away the database is. What it refuses as a whole is halved until the guilty slot is alone.
   */
  async #fireAll(slots: readonly FiredSlot[], signal: AbortSignal): Promise<void> {
    const [first] = slots
    if (!first || signal.aborted) {
      return
    }
    let results: readonly FireResult[]
    try {
      results = await fireSlots(this.options.database, slots)
    } catch (error) {
      if (slots.length === 1) {
        this.options.logger.error('schedule.not_fired', { syncId: first.syncId }, error)
        return
      }
      const half = Math.ceil(slots.length / 2)
      await this.#fireAll(slots.slice(0, half), signal)
      await this.#fireAll(slots.slice(half), signal)
      return
    }
    await this.#tell(slots, results)
  }

  async #tell(slots: readonly FiredSlot[], results: readonly FireResult[]): Promise<void> {
    const bySync = new Map(slots.map((slot) => [slot.syncId, slot]))
    for (const result of results) {
      this.#log(result, bySync.get(result.syncId))
    }
    await announceRuns(
      this.options.bus,
      results.flatMap((result) => (result.kind === 'started' ? [result.progress] : [])),
    )
  }

  #log(result: FireResult, slot: FiredSlot | undefined): void {
    const { logger } = this.options
    const { syncId } = result
    const told = { syncId, slotAt: slot ? instantAt(slot.slotMs).toISOString() : null }
    switch (result.kind) {
      case 'started': {
        const { runId } = result.progress
        const isCatchingUp = slot?.isCatchingUp ?? false
        logger.info('run.enqueued', { ...told, runId, cause: 'schedule', isCatchingUp })
        return
      }
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
