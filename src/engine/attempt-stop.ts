/**
 * Why an attempt stops before the end of its source. Thrown where it is noticed, decided upon in one
 * place (attempt.ts).
 */

import { ConnectorError } from '../connectors/connector.ts'
import { CoordinationUnavailableError } from '../coordination/lease.ts'
import { type Failure, failure, type Step } from '../domain/failure.ts'
import { decideStop, type SyncStatus } from '../domain/sync.ts'
import { unreachable } from '../runtime/assert.ts'
import { UnknownKeyError } from '../runtime/seal.ts'
import { WordedError } from '../runtime/worded-error.ts'
import { MissingPartitionError } from '../store/partitions.ts'
import { findUnavailable } from '../store/unavailable.ts'

export type StopCause =
  /** The attempt failed: the catalogue says what follows. `retryAfterMs`: the wait the other system asked for. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly retryAfterMs: number | null }
  /** PostgreSQL refused our epoch: the run is another's. Nothing is written any more, not even the end. */
  | { readonly kind: 'fenced_off' }
  /** A person asked for its end; the run is canceled. */
  | { readonly kind: 'canceled' }
  /** This process is stopping; the run is handed back. */
  | { readonly kind: 'draining' }
  /** The database was away or out of something: nobody's fault who owns the run, which is handed back. */
  | { readonly kind: 'interrupted'; readonly failure: Failure }

export class AttemptStop extends WordedError {
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

/** The stop that people asked for, or null: the attempt goes on. */
export function stopForPeople(facts: {
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
}): AttemptStop | null {
  const wish = decideStop(facts)
  switch (wish) {
    case null:
      return null
    case 'cancel':
      return new AttemptStop({ kind: 'canceled' })
    case 'pause':
      return failAttempt(failure('attestation_rule_not_active'))
    default:
      return unreachable(wish)
  }
}

/**
 * Work that changes nothing, such as a read: what it throws once the signal is aborted is the stop, whatever
 * a connector makes of the signal, and no failure of its own.
 */
export async function unlessStopped<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  // A connector that only listens would not hear of a stop that came before it was asked.
  signal.throwIfAborted()
  try {
    return await work()
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

/** Names the step in which something failed. */
export async function atStep<T>(step: Step, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new AttemptStop(stopCauseOf(error, step), { cause: error })
  }
}

/** Classifies whatever an attempt threw. `step`: what it was doing, where that is known. */
export function stopCauseOf(error: unknown, step: Step | null): StopCause {
  if (error instanceof AttemptStop) {
    return error.stop
  }
  const at = step ? { step } : {}
  if (error instanceof ConnectorError) {
    const told = failure(error.code, { ...at, detail: error.message })
    return { kind: 'failed', failure: told, retryAfterMs: error.retryAfterMs }
  }
  if (error instanceof CoordinationUnavailableError) {
    const told = failure('lease_unavailable', { ...at, detail: error.message })
    return { kind: 'failed', failure: told, retryAfterMs: null }
  }
  const unavailable = findUnavailable(error)
  if (unavailable) {
    const told = failure('unclassified_exception', { ...at, detail: unavailable.message })
    return { kind: 'interrupted', failure: told }
  }
  if (error instanceof MissingPartitionError || error instanceof UnknownKeyError) {
    const told = failure('unclassified_exception', { ...at, detail: error.message })
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
