/**
 * The pool of one process: claims due runs, at most as many as it has free slots.
 *
 * Invariants: one claim loop a process; a wake-up only says "look now", so a lost one costs at most one
 * poll interval; once the drain has begun nothing is claimed, what a claim under way brings is handed back,
 * and `stop` resolves when every attempt has ended. A run that went back to the queue wakes the others.
 */
import { type Bus, type Unsubscribe, WAKE_CHANNEL } from '../coordination/bus.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { type ClaimedRun, claimRuns } from '../store/runs.ts'
import type { Drain } from './drain.ts'

export interface PoolOptions {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly logger: Logger
  readonly workerId: string
  readonly drain: Drain
  /** Runs at once. */
  readonly slots: number
  /** How long a lost wake-up can go unnoticed. */
  readonly pollMs: number
  /** Whether this worker's beats come through: an attempt that may not write would only be spent. */
  isTrusted(): boolean
  runAttempt(claimed: ClaimedRun, signal: AbortSignal): Promise<void>
}

const FIRST_WORKSPACE = '00000000-0000-0000-0000-000000000000'

export class Pool implements Service {
  readonly name = 'pool'
  readonly #options: PoolOptions
  /** By claim: a run that was taken over may be claimed again while its first attempt is still ending. */
  readonly #attempts = new Map<ClaimedRun, Promise<void>>()
  #unsubscribe: Unsubscribe | null = null
  #stopListeningForGaps: (() => void) | null = null
  #loop: Promise<void> | null = null
  #wake = new AbortController()
  #isWoken = false
  #lastWorkspaceId = FIRST_WORKSPACE

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** The runs that this process is at work on. */
  get runIds(): ReadonlySet<string> {
    return new Set([...this.#attempts.keys()].map(({ runId }) => runId))
  }

  async start(): Promise<void> {
    const { bus } = this.#options
    this.#unsubscribe = await bus.subscribe(WAKE_CHANNEL, () => this.wake())
    this.#stopListeningForGaps = bus.onGap(() => this.wake())
    this.#options.drain.signal.addEventListener('abort', () => this.wake(), { once: true })
    this.#loop = this.#run()
  }

  /** Looks for due runs now. */
  wake(): void {
    this.#isWoken = true
    this.#wake.abort()
  }

  async stop(): Promise<void> {
    this.#options.drain.begin()
    this.#stopListeningForGaps?.()
    await this.#unsubscribe?.()
    await this.#loop
    await Promise.all(this.#attempts.values())
  }

  async #run(): Promise<void> {
    const { signal } = this.#options.drain
    while (!signal.aborted) {
      this.#isWoken = false
      const claims = await this.#claim()
      if (claims === 0 && !this.#isWoken) {
        await this.#rest()
      }
    }
  }

  /** Returns how many runs were claimed. */
  async #claim(): Promise<number> {
    const { logger, slots, drain } = this.#options
    const free = slots - this.#attempts.size
    if (free <= 0 || !this.#options.isTrusted()) {
      return 0
    }
    try {
      const begun = await this.#claimAfter(this.#lastWorkspaceId, free)
      const wasLastPart = this.#lastWorkspaceId === FIRST_WORKSPACE
      if (begun < free && !wasLastPart && !drain.signal.aborted) {
        this.#lastWorkspaceId = FIRST_WORKSPACE
        return begun + (await this.#claimAfter(FIRST_WORKSPACE, free - begun))
      }
      return begun
    } catch (error) {
      logger.error('pool.claim_failed', {}, error)
      return 0
    }
  }

  /** Claims and begins; the next claim goes on behind the last workspace of this one. */
  async #claimAfter(afterWorkspaceId: string, slots: number): Promise<number> {
    const { database, workerId } = this.#options
    const claimed = await claimRuns(database, { workerId, slots, afterWorkspaceId })
    for (const run of claimed) {
      this.#begin(run)
      this.#lastWorkspaceId = run.workspaceId
    }
    return claimed.length
  }

  #begin(claimed: ClaimedRun): void {
    const { logger } = this.#options
    const { runId, syncId, workspaceId, epoch } = claimed
    logger.info('run.claimed', { runId, syncId, workspaceId, epoch })
    this.#attempts.set(claimed, this.#attempt(claimed))
  }

  async #attempt(claimed: ClaimedRun): Promise<void> {
    try {
      await this.#options.runAttempt(claimed, this.#options.drain.signal)
    } catch (error) {
      // The run stays `running` and is no longer in `runIds`: recovery finds it dropped.
      this.#options.logger.error('attempt.broken', { runId: claimed.runId }, error)
    } finally {
      this.#attempts.delete(claimed)
      this.wake()
    }
  }

  async #rest(): Promise<void> {
    this.#wake = new AbortController()
    await this.#options.clock.sleep(this.#options.pollMs, this.#wake.signal).catch(() => undefined)
  }
}
