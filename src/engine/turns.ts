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
const MAX_PATIENCE_MS = 10 * 60_000
/**
 * A turn comes sooner or later; who waits for a host that is dead holds a slot that others can use, and waits for one
 * look at it and its answer, unless the writer knows better.
 */
const PATIENCE_MS = {
  provider_rate_limited: MAX_PATIENCE_MS,
  provider_unavailable: MAX_WAIT_INSIDE_ATTEMPT_MS + 30_000,
} as const
/** Somebody else may find a dead host alive before it is our turn to look: then all go on. */
const LOOK_AGAIN_MS = 5_000

/** Resolves when one call of so many records may be made. Throws an attempt's stop. */
export async function waitForTurn(
  { writer, clock, signal }: TurnContext,
  records: number,
): Promise<void> {
  const beganAtMs = clock.monotonicMs()
  for (;;) {
    signal.throwIfAborted()
    const turn = await writer.takeTurn(records)
    if (turn.kind === 'go') {
      return
    }
    const { waitMs, reason, patienceMs = PATIENCE_MS[turn.failure] } = turn
    const isDead = turn.failure === 'provider_unavailable' && turn.patienceMs === undefined
    const nextMs = isDead ? Math.min(waitMs, LOOK_AGAIN_MS) : waitMs
    const togetherMs = clock.monotonicMs() - beganAtMs + nextMs
    const mostMs = Math.min(patienceMs, MAX_PATIENCE_MS)
    if (waitMs > MAX_WAIT_INSIDE_ATTEMPT_MS || togetherMs > mostMs) {
      throw failAttempt(failure(turn.failure, { step: 'writing', detail: reason }), waitMs)
    }
    await clock.sleep(nextMs, signal)
  }
}
