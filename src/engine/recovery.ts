/**
 * Hands the runs of a silent worker to another one (I7).
 *
 * Silence is observed, not computed: a process that looked successfully all through `silentAfterMs` of
 * its own monotonic time and saw no beat hands the run over. So a database that was away, or a clock
 * that was set, makes nobody silent. A run that its own worker has dropped (the claim's answer was lost,
 * the attempt broke) is found the same way.
 */
import { type Bus, runChannel, WAKE_CHANNEL } from '../coordination/bus.ts'
import { failure } from '../domain/failure.ts'
import { progressToMessage, type RunProgress } from '../domain/progress.ts'
import { decideTakeOver, MAX_TAKE_OVERS } from '../domain/run.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService, type Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import {
  closeRunOfSilentWorker,
  listRunningRuns,
  type RunningRun,
  recoverRun,
} from '../store/workers.ts'

export interface RecoveryOptions {
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
        await this.#takeOver(run)
      }
    }
    this.#looks.start()
  }

  async stop(): Promise<void> {
    await this.#looks.stop()
  }

  /** One look at all running runs. */
  async look(): Promise<void> {
    const { database, clock, silentAfterMs } = this.#options
    let running: readonly RunningRun[]
    try {
      running = await listRunningRuns(database)
    } catch (error) {
      // Whoever could not look has seen no silence.
      this.#observed.clear()
      throw error
    }
    const nowMs = clock.monotonicMs()
    const before = this.#observed
    this.#observed = new Map()
    for (const run of running) {
      const key = `${run.runId}.${run.epoch}`
      const last = before.get(key)
      const hasSign = !last || this.#showsLife(run, last)
      const observation = hasSign ? { beatN: run.beatN, sinceMs: nowMs } : last
      this.#observed.set(key, observation)
      if (nowMs - observation.sinceMs >= silentAfterMs) {
        await this.#takeOver(run)
      }
    }
  }

  #showsLife(run: RunningRun, last: Observation): boolean {
    if (run.workerId === this.#options.workerId) {
      return this.#options.ownRunIds().has(run.runId)
    }
    return run.beatN !== last.beatN
  }

  async #takeOver(run: RunningRun): Promise<void> {
    const { database, logger } = this.#options
    const { runId, workerId, takeOvers } = run
    const decision = decideTakeOver(takeOvers)
    const progress =
      decision === 'requeue'
        ? await recoverRun(database, run)
        : await closeRunOfSilentWorker(database, run, endedItsWorkers())
    if (!progress) {
      return // it beat again, or the run has moved on
    }
    logger.warn('run.recovered', { runId, workerId, decision, takeOvers: takeOvers + 1 })
    await this.#announce(progress)
  }

  async #announce(progress: RunProgress): Promise<void> {
    const { bus } = this.#options
    await bus.publish(runChannel(progress.runId), progressToMessage(progress))
    await bus.publish(WAKE_CHANNEL, {})
  }
}

function endedItsWorkers() {
  return failure('stale_job_swept', {
    detail: `The run ended its worker ${MAX_TAKE_OVERS} times in a row without getting further.`,
  })
}
