/**
 * Parts that run beside requests: started in order, stopped in reverse.
 *
 * A periodic part does one round at a time; a round that throws is logged and the next one comes at
 * its time. Tests ask for a round instead of waiting.
 */
import type { Clock, Instant } from './clock.ts'
import type { Logger } from './logger.ts'

export interface Service {
  readonly name: string
  start(): Promise<void> | void
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>
}

/** Stops in reverse order. A part that does not stop is logged, and the others are stopped all the same. */
export async function stopAll(
  services: readonly Pick<Service, 'name' | 'stop'>[],
  logger: Logger,
): Promise<void> {
  for (const service of [...services].reverse()) {
    try {
      await service.stop()
    } catch (error) {
      logger.error('service.stop_failed', { service: service.name }, error)
    }
  }
}

export interface PeriodicOptions {
  readonly name: string
  readonly intervalMs: number
  readonly clock: Clock
  readonly logger: Logger
  round(signal: AbortSignal): Promise<void>
}

export class PeriodicService implements Service {
  readonly name: string
  readonly #options: PeriodicOptions
  #stopping = new AbortController()
  #loop: Promise<void> | null = null

  constructor(options: PeriodicOptions) {
    this.name = options.name
    this.#options = options
  }

  start(): void {
    this.#stopping = new AbortController()
    this.#loop = this.#run(this.#stopping.signal)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    this.#loop = null
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger, intervalMs, name } = this.#options
    while (!signal.aborted) {
      try {
        await this.#options.round(signal)
      } catch (error) {
        if (!signal.aborted) {
          logger.error('service.round_failed', { service: name }, error)
        }
      }
      await clock.sleep(intervalMs, signal).catch((reason: unknown) => {
        if (!signal.aborted) {
          throw reason
        }
      })
    }
  }
}

/** How often a part looks, and with what. */
export type RoundsOptions = Pick<PeriodicOptions, 'intervalMs' | 'clock' | 'logger'>

/** A periodic part that looks for what is due, by the database's clock or as if at a moment that a test gives. */
export abstract class DueRounds<Options extends RoundsOptions> implements Service {
  readonly name: string
  protected readonly options: Options
  readonly #rounds: PeriodicService

  constructor(name: string, options: Options) {
    const { intervalMs, clock, logger } = options
    this.name = name
    this.options = options
    this.#rounds = new PeriodicService({
      name,
      intervalMs,
      clock,
      logger,
      round: (signal) => this.round(signal, null),
    })
  }

  /** `now`: null for the database's. */
  protected abstract round(signal: AbortSignal, now: Instant | null): Promise<void>

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
  }

  /** One round, now. */
  async runOnce(now: Instant | null = null): Promise<void> {
    await this.round(new AbortController().signal, now)
  }
}
