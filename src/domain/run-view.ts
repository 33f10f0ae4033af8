/** What a person is told about a run beside its status: how it turned out, whose turn it is, whether it went quiet. */
import type { Counters } from './delivery.ts'
import {
  FAILURE_CATALOGUE,
  type FailureCode,
  type FailureOwner,
  type NextMutation,
} from './failure.ts'
import type { RunStatus } from './run.ts'
import type { PauseCause } from './sync.ts'

/** How a finished run turned out. Statuses may grow; these do not. */
const RUN_OUTCOMES = ['success', 'partial', 'failure', 'canceled'] as const
export type RunOutcome = (typeof RUN_OUTCOMES)[number]

/** Null: it has not finished. */
export function outcomeOf(status: RunStatus): RunOutcome | null {
  switch (status) {
    case 'queued':
    case 'running':
      return null
    case 'succeeded':
      return 'success'
    case 'partial':
      return 'partial'
    case 'failed':
      return 'failure'
    case 'canceled':
      return 'canceled'
  }
}

/** Who has to act on a run of the DLQ; null for any other run. Records only in doubt are Tajo's to settle. */
export function ownerOf(run: {
  readonly status: RunStatus
  readonly failureCode: FailureCode | null
  readonly rejected: Counters['rejected']
  readonly quarantined: Counters['quarantined']
}): FailureOwner | null {
  if (run.status === 'partial') {
    return run.rejected + run.quarantined > 0 ? 'CUSTOMER' : 'TAJO'
  }
  return run.failureCode === null ? null : FAILURE_CATALOGUE[run.failureCode].owner
}

/**
 * With which mutation a person goes on. After a pause that depends on the sync as it is now (`pauseCause`: null,
 * it is active again): what a person paused is resumed, what the breaker paused is published again.
 */
export function nextMutationOf(
  code: FailureCode,
  { pauseCause }: { readonly pauseCause: PauseCause | null },
): NextMutation | null {
  const { next } = FAILURE_CATALOGUE[code]
  if (next !== 'resume') {
    return next
  }
  switch (pauseCause) {
    case null:
      return 'retry'
    case 'person':
      return 'resume'
    case 'breaker':
      return 'publish'
  }
}

/** `silentMs`: since its last progress, or null when it never reported any. */
export function progressNote(
  run: { readonly status: RunStatus; readonly silentMs: number | null },
  staleAfterMs: number,
): string | null {
  const isQuiet = run.status === 'running' && (run.silentMs ?? 0) > staleAfterMs
  return isQuiet ? 'Waiting for a fresh progress update' : null
}

/** Whether another attempt of this run is coming: a worker had it before, and it is queued again. */
export function willRetry(run: { readonly status: RunStatus; readonly claims: number }): boolean {
  return run.status === 'queued' && run.claims > 0
}
