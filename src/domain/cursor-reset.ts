/**
 * Reading a sync's source again from its beginning: when that is allowed, and what of it is written again.
 *
 * A page that is read again from the same place has the same keys, so what the ledger still knows is
 * replayed and not sent. Other settings give other places or other records, and so other keys.
 */
import { canonicalJson, type JsonObject } from './json.ts'
import type { SyncConfig } from './sync.ts'

export type ResetDecision =
  | { readonly kind: 'reset' }
  /** Nothing was read yet. */
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly runId: string }

export function decideReset(facts: {
  readonly inFlight: { readonly id: string } | null
  readonly reached: string | null
  readonly openPages: number
}): ResetDecision {
  if (facts.inFlight) {
    return { kind: 'refuse', runId: facts.inFlight.id }
  }
  return facts.reached === null && facts.openPages === 0 ? { kind: 'noop' } : { kind: 'reset' }
}

/** Why the ledger does not protect everything. */
export type ProtectionGap = 'expired' | 'settings_changed'

export interface Protection {
  /** From this moment on what was delivered begins to be written again; null: nothing is protected. */
  readonly untilMs: number | null
  readonly gaps: readonly ProtectionGap[]
}

/**
 * What the ledger protects from being written again. Moments by the database's clock, as a run's start
 * stands for its deliveries: none of them is older.
 */
export function findProtection(facts: {
  /** The start of the oldest run whose deliveries still count; null: none does. */
  readonly oldestCountingMs: number | null
  /** Whether there were deliveries that do not count any more. */
  readonly hasExpired: boolean
  /** The versions under which was delivered what still counts. */
  readonly versions: readonly SyncConfig[]
  /** What the next run executes; null: nothing is published. */
  readonly current: SyncConfig | null
  readonly retentionMs: number
}): Protection {
  const { oldestCountingMs, hasExpired, versions, current, retentionMs } = facts
  const isSame = versions.every((version) => current !== null && hasSameKeys(version, current))
  return {
    untilMs: oldestCountingMs === null ? null : oldestCountingMs + retentionMs,
    gaps: [
      ...(hasExpired ? (['expired'] as const) : []),
      ...(isSame ? [] : (['settings_changed'] as const)),
    ],
  }
}

/** Whether two versions give a record that did not change the same delivery key. */
export function hasSameKeys(a: SyncConfig, b: SyncConfig): boolean {
  return canonicalJson(keySettings(a)) === canonicalJson(keySettings(b))
}

function keySettings(config: SyncConfig): JsonObject {
  const { sourceConnectionId, stream, streamOptions, mapping, pageSize } = config
  return { sourceConnectionId, stream, streamOptions, mapping, pageSize }
}
