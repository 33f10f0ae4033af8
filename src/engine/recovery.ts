/**
 * Hands the runs of a silent worker to another one (I7).
 *
 * Silence is observed, not computed: a process that looked successfully all through `silentAfterMs` of
 * its own monotonic time and saw no beat hands the run over. So a database that was away, or a clock
 * that was set, makes nobody silent. A run that its own worker has dropped (the claim's answer was lost,
 * the attempt broke) is found the same way.
 */
import { announceAlerts, announceProgress } from '../coordination/announce.ts'
import { type Bus, WAKE_CHANNEL } from '../coordination/bus.ts'
import { type Failure, failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { decideTakeOver, MAX_TAKE_OVERS, type TakeOverDecision } from '../domain/run.ts'
import { decideStop } from '../domain/sync.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import { auditRunOfSilentWorker } from '../store/audit.ts'
import { type BreakerParts, recordWithBreaker, type Trip } from '../store/breaker.ts'
import type { Database, Handle } from '../store/database.ts'
import {
  cancelAudited,
  closeRunOfSilentWorker,
  listRunningRuns,
  type RunningRun,
  recoverRun,
  type TakenRun,
} from '../store/workers.ts'

export interface RecoveryOptions extends BreakerParts {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly workerId: string
  readonly intervalMs: number
  readonly silentAfterMs: number
  /** At start all running runs are recovered: the data directory's lock proves that nobody else lives. */
  readonly isAlone: boolean
  /** The runs that this process is at work on. */
  ownRunIds(): ReadonlySet<string>
}

/** Looks that lie further apart, in intervals, and further than half of a silence, are no continuous observation. */
const MAX_INTERVALS_APART = 2.5

interface Observation {
  readonly beatN: number
  readonly sinceMs: number
}

export class Recovery implements Service {
  readonly name = 'recovery'
  readonly #options: RecoveryOptions
  readonly #looks: PeriodicService
  /** By run and epoch: the beat last seen, and since when it has been the last one. */
  #observed = new Map<string, Observation>()
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: RecoveryOptions) {
    this.#options = options
    this.#looks = new PeriodicService({
      name: this.name,
      intervalMs: options.intervalMs,
      clock: options.clock,
      logger: options.logger,
      round: () => this.look(),
    })
  }

  async start(): Promise<void> {
    if (this.#options.isAlone) {
      for (const run of await listRunningRuns(this.#options.database)) {
        await this.#tryTakeOver(run)
      }
    }
    this.#looks.start()
  }

  async stop(): Promise<void> {
    await this.#looks.stop()
  }

  /** One look at all running runs. */
  async look(): Promise<void> {
    const { database, clock, silentAfterMs, intervalMs } = this.#options
    let running: readonly TakenRun[]
    try {
      running = await listRunningRuns(database)
    } catch (error) {
      // Whoever could not look has seen no silence.
      this.#observed.clear()
      throw error
    }
    const nowMs = clock.monotonicMs()
    // Between looks that are far apart nobody looked: a beat may have come and gone, or nobody could beat.
    const maxApartMs = Math.max(MAX_INTERVALS_APART * intervalMs, silentAfterMs / 2)
    const isContinuous = nowMs - this.#lookedAtMs <= maxApartMs
    const before = isContinuous ? this.#observed : new Map<string, Observation>()
    this.#lookedAtMs = nowMs
    this.#observed = new Map()
    for (const run of running) {
      const key = `${run.runId}.${run.epoch}`
      const last = before.get(key)
      const hasSign = !last || this.#showsLife(run, last)
      const observation = hasSign ? { beatN: run.beatN, sinceMs: nowMs } : last
      this.#observed.set(key, observation)
      if (nowMs - observation.sinceMs >= silentAfterMs) {
        await this.#tryTakeOver(run)
      }
    }
  }

  /** One run that cannot be taken over now does not hold up the others; the next look tries it again. */
  async #tryTakeOver(run: TakenRun): Promise<void> {
    try {
      await this.#takeOver(run)
    } catch (error) {
      this.#options.logger.error('run.not_recovered', { runId: run.runId }, error)
    }
  }

  #showsLife(run: RunningRun, last: Observation): boolean {
    if (run.workerId === this.#options.workerId) {
      return this.#options.ownRunIds().has(run.runId)
    }
    return run.beatN !== last.beatN
  }

  async #takeOver(run: TakenRun): Promise<void> {
    const { logger } = this.#options
    const { runId, workerId, takeOvers } = run
    const decision = decideTakeOver({ takeOversInARow: takeOvers, wish: decideStop(run) })
    const done = await carryOut(this.#options, run, decision)
    if (!done) {
      return // it beat again, the run has moved on, or somebody stopped it: the next look sees that
    }
    logger.warn('run.recovered', { runId, workerId, decision, takeOvers: takeOvers + 1 })
    if (done.trip) {
      logger.warn('breaker.tripped', done.trip)
      await announceAlerts(this.#options.bus)
    }
    await this.#announce(done.progress)
  }

  async #announce(progress: RunProgress): Promise<void> {
    const { bus } = this.#options
    await announceProgress(bus, progress)
    await bus.publish(WAKE_CHANNEL, {})
  }
}

interface TakenOver {
  readonly progress: RunProgress
  /** What the breaker made of it, where it failed. */
  readonly trip: Trip | null
}

async function carryOut(
  options: RecoveryOptions,
  run: TakenRun,
  decision: TakeOverDecision,
): Promise<TakenOver | null> {
  const { database } = options
  switch (decision) {
    case 'requeue':
      return withoutTrip(await recoverRun(database, run))
    case 'close':
      return await close(options, run, endedItsWorkers())
    case 'pause':
      return await close(options, run, failure('attestation_rule_not_active'))
    case 'cancel':
      return withoutTrip(await cancelAudited(database, options.ids, run))
    default:
      return unreachable(decision)
  }
}

function withoutTrip(progress: RunProgress | null): TakenOver | null {
  return progress && { progress, trip: null }
}

/** A failed run, like any: the breaker decides in the same transaction (I18), but of a test of a draft (I23). */
async function close(
  options: RecoveryOptions,
  run: TakenRun,
  told: Failure,
): Promise<TakenOver | null> {
  const record = async (tx: Handle) => {
    const failed = await closeRunOfSilentWorker(tx, run, told)
    if (failed) {
      const reason = told.code
      await auditRunOfSilentWorker(tx, options.ids, { action: 'fail', run: failed, reason })
    }
    return failed
  }
  if (run.isTest) {
    const progress = await options.database.transaction('recovery.close', record)
    return progress && { progress, trip: null }
  }
  const parts = { ...options, name: 'recovery.close', syncId: run.syncId }
  const closed = await recordWithBreaker(options.database, parts, record)
  return closed && { progress: closed.recorded, trip: closed.trip }
}

function endedItsWorkers() {
  return failure('stale_job_swept', {
    detail: `The run ended its worker ${MAX_TAKE_OVERS} times in a row without getting further.`,
  })
}
