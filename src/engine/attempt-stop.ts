/**
 * Why an attempt stops before the end of its source. Thrown where it is noticed, decided upon in one
 * place (attempt.ts).
 */

import { ConnectorError } from '../connectors/source.ts'
import { CoordinationUnavailableError } from '../coordination/lease.ts'
import { type Failure, failure, type Step } from '../domain/failure.ts'

export type StopCause =
  /** The attempt failed: the catalogue says what follows. `retryAfterMs`: the wait the other system asked for. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly retryAfterMs: number | null }
  /** PostgreSQL refused our epoch: the run is another's. Nothing is written any more, not even the end. */
  | { readonly kind: 'fenced_off' }
  /** This process is stopping; the run is handed back. */
  | { readonly kind: 'draining' }

export class AttemptStop extends Error {
  override readonly name = 'AttemptStop'
  readonly stop: StopCause

  constructor(stop: StopCause, options?: ErrorOptions) {
    super(stop.kind === 'failed' ? stop.failure.code : stop.kind, options)
    this.stop = stop
  }
}

export function failAttempt(told: Failure, retryAfterMs: number | null = null): AttemptStop {
  return new AttemptStop({ kind: 'failed', failure: told, retryAfterMs })
}

/** Classifies whatever an attempt threw. `step`: what it was doing, where that is known. */
export function stopCauseOf(error: unknown, step: Step | null): StopCause {
  if (error instanceof AttemptStop) {
    return error.stop
  }
  const at = step ? { step } : {}
  if (error instanceof ConnectorError) {
    const told = failure(error.code, { ...at, detail: error.message })
    return { kind: 'failed', failure: told, retryAfterMs: null }
  }
  if (error instanceof CoordinationUnavailableError) {
    const told = failure('lease_unavailable', { ...at, detail: error.message })
    return { kind: 'failed', failure: told, retryAfterMs: null }
  }
  // The message of an unknown error may hold personal data (a driver's repeats the parameters).
  const told = failure('unclassified_exception', { ...at, detail: nameError(error) })
  return { kind: 'failed', failure: told, retryAfterMs: null }
}

function nameError(error: unknown): string {
  if (!(error instanceof Error)) {
    return typeof error
  }
  const root = error.cause instanceof Error ? error.cause : error
  const code = 'code' in root && typeof root.code === 'string' ? ` ${root.code}` : ''
  return `${root.name}${code}`
}
