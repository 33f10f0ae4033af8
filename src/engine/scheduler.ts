/**
 * Starts the runs of scheduled syncs when their slots are due.
 *
 * Any number of processes do this at once, and none needs to know of the others: a slot is fired by
 * whoever moves it on in the database (I14). What was due while nobody was there is not fired slot by
 * slot: the oldest one starts a run that stands for all of them, marked as catching up. A slot whose run could
 * only fail is refused: a failed run is recorded, before any worker could see it. One that only this process cannot
 * tell is no failure of the sync: it is left to the others, for some minutes.
 */
import { announceAlerts, announceRuns } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import { failure } from '../domain/failure.ts'
import { decideTick, decideUntold, readSchedule, type Tick } from '../domain/schedule.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import { type Instant, instantAt } from '../runtime/clock.ts'
import { cronEngine } from '../runtime/cron.ts'
import { DueRounds, type RoundsOptions } from '../runtime/service.ts'
import type { BreakerParts } from '../store/breaker.ts'
import type { Database } from '../store/database.ts'
import {
  type DueSlot,
  type FiredSlot,
  type FireResult,
  fireSlots,
  listDueSlots,
  type RefusedSlot,
} from '../store/schedules.ts'
import { type RefuseResult, refuse, untold } from './refuse-slot.ts'

export interface SchedulerOptions extends RoundsOptions, BreakerParts {
  readonly database: Database
  readonly bus: Bus
}

/** What is to be done with slots that are due. */
interface Plan {
  readonly fired: readonly FiredSlot[]
  readonly refused: readonly RefusedSlot[]
  /** Left to others, with what keeps this process from telling them. */
  readonly left: readonly { readonly slot: DueSlot; readonly error: unknown }[]
}

/** Slots that one statement fires; their syncs are held for as long as it takes. */
const SLOTS_PER_LOOK = 200

export class Scheduler extends DueRounds<SchedulerOptions> {
  /** Slots that the look before left to others, by their syncs, and since when: of these is told once, and not each second. */
  #left: ReadonlyMap<string, { readonly slotMs: number; readonly leftMs: number }> = new Map()

  constructor(options: SchedulerOptions) {
    super('scheduler', options)
  }

  protected async round(signal: AbortSignal, now: Instant | null): Promise<void> {
    let after: DueSlot | null = null
    const allLeft = new Map<string, { readonly slotMs: number; readonly leftMs: number }>()
    do {
      const due: readonly DueSlot[] = await listDueSlots(this.options.database, {
        limit: SLOTS_PER_LOOK,
        now,
        after,
      })
      const { fired, refused, left } = this.#plan(due)
      for (const { slot, error } of left) {
        const { syncId, slotMs } = slot
        const leftMs = this.#leftSince(slot)
        allLeft.set(syncId, { slotMs, leftMs: leftMs ?? slot.nowMs })
        if (leftMs === null) {
          this.options.logger.warn('schedule.left', { syncId }, error)
        }
      }
      await this.#fireAll(fired, signal)
      await this.#refuseAll(refused, signal)
      after = due.length === SLOTS_PER_LOOK ? (due.at(-1) ?? null) : null
    } while (after !== null && !signal.aborted)
    this.#left = allLeft
  }

  /** One sync's trouble does not keep the others from their runs. */
  #plan(due: readonly DueSlot[]): Plan {
    const fired: FiredSlot[] = []
    const refused: RefusedSlot[] = []
    const left: { slot: DueSlot; error: unknown }[] = []
    for (const slot of due) {
      const { syncId, slotMs, missingTool } = slot
      const asked = { runId: this.options.ids.next(), syncId, slotMs }
      try {
        const tick = tickOf(slot)
        if (missingTool === null) {
          fired.push({ ...asked, ...tick })
        } else {
          const told = failure('connection_missing', { subject: missingTool })
          refused.push({ ...asked, ...tick, failure: told })
        }
      } catch (error) {
        const decision = decideUntold({ ...slot, leftMs: this.#leftSince(slot) })
        if (decision.kind === 'leave') {
          left.push({ slot, error })
          continue
        }
        this.options.logger.error('schedule.not_told', { syncId }, error)
        const { nextSlotMs } = decision
        refused.push({ ...asked, nextSlotMs, isCatchingUp: false, failure: untold(error) })
      }
    }
    return { fired, refused, left }
  }

  /** Null: this process has not left it to the others yet. */
  #leftSince({ syncId, slotMs }: DueSlot): number | null {
    const left = this.#left.get(syncId)
    return left?.slotMs === slotMs ? left.leftMs : null
  }

  /** Each in a transaction of its own, after those that start a run: the breaker ends it after a few of them. */
  async #refuseAll(slots: readonly RefusedSlot[], signal: AbortSignal): Promise<void> {
    for (const slot of slots) {
      if (signal.aborted) {
        return
      }
      try {
        await this.#tellRefused(slot, await refuse(this.options, slot))
      } catch (error) {
        this.options.logger.error('schedule.not_fired', { syncId: slot.syncId }, error)
      }
    }
  }

  async #tellRefused(slot: RefusedSlot, result: RefuseResult): Promise<void> {
    const { logger, bus } = this.options
    const { syncId } = slot
    switch (result.kind) {
      case 'refused': {
        const { runId } = result.progress
        logger.warn('run.refused', { ...tellSlot(slot), runId, code: slot.failure.code })
        if (result.trip) {
          logger.warn('breaker.tripped', result.trip)
          await announceAlerts(bus)
        }
        await announceRuns(bus, [result.progress])
        return
      }
      case 'coalesced':
      case 'rested':
        this.#log({ kind: result.kind, syncId }, slot)
        return
      case 'left':
        return
      default:
        unreachable(result)
    }
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

  #log(result: FireResult, slot: Moment | undefined): void {
    const { logger } = this.options
    const told = slot ? tellSlot(slot) : { syncId: result.syncId }
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

type Moment = Pick<FiredSlot, 'syncId' | 'slotMs' | 'isCatchingUp'>

function tellSlot({ syncId, slotMs }: Moment) {
  return { syncId, slotAt: instantAt(slotMs).toISOString() }
}

/** Throws RangeError for a schedule that this process cannot tell the next slot of. */
function tickOf(slot: DueSlot): Tick {
  const schedule = readSchedule(slot.schedule)
  assert(schedule !== null, `The sync ${slot.syncId} has a slot and no schedule.`)
  return decideTick(cronEngine, { schedule, anchorMs: slot.anchorMs }, slot)
}
