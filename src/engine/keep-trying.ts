/**
 * Records what must not be lost while the database is away for a moment: how an attempt ended, and what a
 * destination has answered.
 *
 * Invariant: it is tried until it is recorded, but not past a drain's deadline, nor for ever.
 */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

export interface KeepTryingParts {
  readonly clock: Clock
  readonly logger: Logger
  /** Aborted when this process does not wait for a database any more that is away. */
  readonly lateSignal: AbortSignal
}

export interface KeepTryingOptions {
  readonly runId: string
  /** The event that is logged when a try fails. */
  readonly event: string
  /** Whether another try may end better. */
  isWorthAnother(error: unknown): boolean
}

/** Longest wait between two tries. */
const MAX_WAIT_MS = 5_000
/** With the waits between them about ten minutes. */
const MAX_TRIES = 120

/** Throws the last try's error when the database stayed away. */
export async function keepTrying<T>(
  parts: KeepTryingParts,
  options: KeepTryingOptions,
  record: () => Promise<T>,
): Promise<T> {
  const { clock, logger, lateSignal } = parts
  for (let tries = 1; ; tries += 1) {
    try {
      return await record()
    } catch (error) {
      if (tries >= MAX_TRIES || lateSignal.aborted || !options.isWorthAnother(error)) {
        throw error
      }
      logger.warn(options.event, { runId: options.runId, tries }, error)
      // Woken by the deadline it tries a last time.
      await clock.sleep(Math.min(100 * 2 ** tries, MAX_WAIT_MS), lateSignal).catch(() => undefined)
    }
  }
}
