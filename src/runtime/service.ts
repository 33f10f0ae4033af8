/**
 * Parts that run beside requests: started in order, stopped in reverse.
 *
 * A periodic part does one round at a time; a round that throws is logged and the next one comes at
 * its time. Tests call `runOnce` instead of waiting.
 */
import type { Clock } from './clock.ts'
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

  /** One round, now. Throws what the round throws. */
  runOnce(signal: AbortSignal = this.#stopping.signal): Promise<void> {
    return this.#options.round(signal)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger, intervalMs, name } = this.#options
    while (!signal.aborted) {
      try {
        await this.runOnce(signal)
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
