/**
 * Closes the runs of scheduled syncs that stopped reporting, and queues another. One that somebody asked to
 * cancel is canceled, as its attempt would have done, and nothing takes its place.
 *
 * One run of a sync is in flight at a time, so a run that stays "running" with nobody at work on it takes
 * in every tick after it: the schedule stands still, and nothing fails.
 *
 * Recovery hands a silent worker's run on within seconds; this is what is left when that did not happen,
 * for whatever reason, for an hour. A run that is closed has failed, so the breaker decides whether there is
 * another one. Invariants: nothing is closed that holds its lease, whose worker has been seen to beat, or that
 * this process is at work on; who could not look (at the database, or at the lease) has seen nothing.
 */
import { announceAlerts, announceRun } from '../coordination/announce.ts'
import type { Bus } from '../coordination/bus.ts'
import type { Leases } from '../coordination/lease.ts'
import { formatLeaseToken, leaseName } from '../domain/lease.ts'
import type { Instant } from '../runtime/clock.ts'
import { DueRounds, type RoundsOptions } from '../runtime/service.ts'
import type { BreakerParts } from '../store/breaker.ts'
import type { Database } from '../store/database.ts'
import { listLongAttempts, type SweptRun, sweepRun } from '../store/sweeps.ts'
import { cancelAudited, type RunningRun, type TakenRun } from '../store/workers.ts'

export interface SweepOptions extends RoundsOptions, BreakerParts {
  readonly database: Database
  readonly leases: Leases
  readonly bus: Bus
  readonly workerId: string
  readonly stuckAfterMs: number
  /** How often workers beat, and how long no beat must be seen. */
  readonly beatMs: number
  readonly silentAfterMs: number
  /** The runs that this process is at work on. */
  ownRunIds(): ReadonlySet<string>
}

export class Sweep extends DueRounds<SweepOptions> {
  constructor(options: SweepOptions) {
    super('sweep', options)
  }

  protected async round(signal: AbortSignal, now: Instant | null): Promise<void> {
    for (const run of await this.#findSilent(signal, now)) {
      if (!(await this.#holdsLease(run))) {
        await this.#tryClose(run)
      }
    }
  }

  /** One run that cannot be closed now does not keep the others from it; the next sweep tries it again. */
  async #tryClose(run: TakenRun): Promise<void> {
    try {
      await this.#close(run)
    } catch (error) {
      this.options.logger.error('run.not_swept', { runId: run.runId }, error)
    }
  }

  /**
   * Silence is observed, not computed: candidates are looked at again and again for `silentAfterMs` of
   * this process's monotonic time. A look that fails ends the sweep; the next one begins anew.
   */
  async #findSilent(signal: AbortSignal, now: Instant | null): Promise<readonly TakenRun[]> {
    const { clock, beatMs, silentAfterMs } = this.options
    let silent = await this.#look(now)
    const sinceMs = clock.monotonicMs()
    while (silent.length > 0 && clock.monotonicMs() - sinceMs < silentAfterMs) {
      await clock.sleep(beatMs, signal)
      const seen = silent
      const again = await this.#look(now)
      silent = again.filter((run) => seen.some((before) => this.#isUnchanged(before, run)))
    }
    return silent
  }

  async #look(now: Instant | null): Promise<readonly TakenRun[]> {
    const { database, stuckAfterMs } = this.options
    const own = this.options.ownRunIds()
    const long = await listLongAttempts(database, { stuckAfterMs, now })
    return long.filter((run) => !own.has(run.runId))
  }

  /** A run of this process's own that it is not at work on was dropped, however well this process beats. */
  #isUnchanged(before: RunningRun, run: RunningRun): boolean {
    const isSame = before.runId === run.runId && before.epoch === run.epoch
    return isSame && (run.workerId === this.options.workerId || before.beatN === run.beatN)
  }

  /** Throws when Redis is out of reach: then nothing is closed. */
  async #holdsLease({ syncId, epoch, runId }: RunningRun): Promise<boolean> {
    const holder = await this.options.leases.findHolder(leaseName(syncId))
    return holder === formatLeaseToken({ epoch, runId })
  }

  async #close(run: TakenRun): Promise<void> {
    const { bus, logger } = this.options
    const { runId, syncId, workerId, isCancelRequested } = run
    const swept = isCancelRequested ? await this.#cancel(run) : await this.#sweep(run)
    if (!swept) {
      return // it has moved on, its worker has beaten after all, or it was canceled: the next sweep sees that
    }
    const { closed, queued, trip } = swept
    const told = { runId, syncId, workerId, isCanceled: isCancelRequested }
    logger.warn('run.swept', { ...told, nextRunId: queued?.runId ?? null })
    if (trip) {
      logger.warn('breaker.tripped', trip)
      await announceAlerts(bus)
    }
    await announceRun(bus, closed)
    if (queued) {
      await announceRun(bus, queued)
    }
  }

  #sweep(run: RunningRun): Promise<SweptRun | null> {
    return sweepRun(this.options.database, this.options, run)
  }

  async #cancel(run: RunningRun): Promise<SweptRun | null> {
    const { database, ids } = this.options
    const closed = await cancelAudited(database, ids, run)
    return closed && { closed, queued: null, trip: null }
  }
}
