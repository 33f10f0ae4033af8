/**
 * Waits for its turn before anything is reserved: other calls of the connection, in this process and others, count
 * too, and a host that is dead is left alone for a while.
 */
import type { DestinationWriter } from '../connectors/destination.ts'
import { failure } from '../domain/failure.ts'
import { MAX_WAIT_INSIDE_ATTEMPT_MS } from '../domain/retry.ts'
import type { Clock } from '../runtime/clock.ts'
import { failAttempt } from './attempt-stop.ts'

export interface TurnContext {
  readonly writer: DestinationWriter
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** For one call, all waits together; then the attempt ends, and the next one asks again. */
const MAX_TURN_WAIT_MS = 10 * 60_000

/** Resolves when one call of so many records may be made. Throws an attempt's stop. */
export async function waitForTurn(
  { writer, clock, signal }: TurnContext,
  records: number,
): Promise<void> {
  const endsAtMs = clock.monotonicMs() + MAX_TURN_WAIT_MS
  for (;;) {
    signal.throwIfAborted()
    const turn = await writer.takeTurn(records)
    if (turn.kind === 'go') {
      return
    }
    const { waitMs, reason } = turn
    if (waitMs > MAX_WAIT_INSIDE_ATTEMPT_MS || clock.monotonicMs() + waitMs > endsAtMs) {
      throw failAttempt(failure(turn.failure, { step: 'writing', detail: reason }), waitMs)
    }
    await clock.sleep(waitMs, signal)
  }
}
