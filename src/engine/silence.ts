/** When a destination that leaves calls without an answer counts as unavailable. */
import type { Outcome } from '../domain/delivery.ts'

/** Calls in a row without any answer after which a destination of class `none` counts as unavailable. */
const MAX_SILENT_CALLS = 3
export const SILENT = `The destination did not answer ${MAX_SILENT_CALLS} calls in a row.`

/**
 * Counts the calls in a row that nobody answered. A dead destination must not turn a whole source into
 * deliveries in doubt, each of which a person would have to settle.
 */
export class Silence {
  #calls = 0

  /** True when the destination counts as unavailable. */
  note(outcomes: readonly Outcome[]): boolean {
    this.#calls = outcomes.every((outcome) => outcome.kind === 'unknown') ? this.#calls + 1 : 0
    return this.#calls >= MAX_SILENT_CALLS
  }

  end(): void {
    this.#calls = 0
  }
}
