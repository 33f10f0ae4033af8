/**
 * A slot at which no run is queued, because it could only fail: a tool of the sync is not connected, or nobody
 * could tell for some minutes when the sync is to run next.
 *
 * Invariant: it is not passed over in silence. A run is recorded that has failed, in one transaction with the
 * slot that moves on and with what the breaker makes of it (I18): nobody else sees these failures.
 */
import { type Failure, failure } from '../domain/failure.ts'
import type { RunProgress } from '../domain/progress.ts'
import { applyBreaker, type BreakerParts, type Trip } from '../store/breaker.ts'
import type { Database } from '../store/database.ts'
import { holdSlot, type RefusedSlot, refuseSlot } from '../store/schedules.ts'

export type RefuseResult =
  | { readonly kind: 'refused'; readonly progress: RunProgress; readonly trip: Trip | null }
  /** A run of the sync is queued or running: this slot is counted, and nothing is recorded. */
  | { readonly kind: 'coalesced' }
  /** The sync is not active: its slots rest until it is. */
  | { readonly kind: 'rested' }
  /** Somebody else has fired it or holds the sync, or what was missing is there: the next look finds what is left. */
  | { readonly kind: 'left' }

export async function refuse(
  parts: BreakerParts & { readonly database: Database },
  slot: RefusedSlot,
): Promise<RefuseResult> {
  return await parts.database.transaction('refuseSlot.refuse', async (tx) => {
    const held = await holdSlot(tx, slot)
    const isMissing = slot.failure.code === 'connection_missing'
    if (!held || (isMissing && held.syncStatus === 'active' && held.missingTool === null)) {
      return { kind: 'left' }
    }
    const progress = await refuseSlot(tx, slot)
    if (!progress) {
      return { kind: held.syncStatus === 'active' ? 'coalesced' : 'rested' }
    }
    return { kind: 'refused', progress, trip: await applyBreaker(tx, parts, slot.syncId) }
  })
}

/** What is recorded of a slot that nobody can tell the next one of. */
export function untold(error: unknown): Failure {
  const why = error instanceof RangeError ? error.message : 'unknown'
  return failure('unclassified_exception', {
    detail: `The schedule does not tell when the sync is to run next: ${why}`,
  })
}
