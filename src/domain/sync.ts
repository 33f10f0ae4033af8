/**
 * A sync: its configuration, its states, and what may be done in each.
 *
 * Invariants: runs execute a published version only; a version is named by the digest of its
 * configuration's canonical form; the destination connection and object are fixed at the first
 * publication.
 */

import type { FailureCode } from './failure.ts'
import { type Hash, toHex } from './ids.ts'
import { canonicalJson, type JsonObject } from './json.ts'

export const SYNC_STATUSES = ['draft', 'active', 'pausing', 'paused'] as const
export type SyncStatus = (typeof SYNC_STATUSES)[number]

export const PAUSE_CAUSES = ['person', 'breaker'] as const
export type PauseCause = (typeof PAUSE_CAUSES)[number]

/** What happens to a record that the destination rejects: its page stays open, or it is set aside after some runs. */
export const REJECTION_POLICIES = ['HOLD', 'QUARANTINE'] as const
export type RejectionPolicy = (typeof REJECTION_POLICIES)[number]

/** What a row that cannot be read as a record does: it is rejected by itself, or it ends the run. */
export const BROKEN_RECORD_POLICIES = ['REJECT', 'FAIL'] as const
export type BrokenRecordPolicy = (typeof BROKEN_RECORD_POLICIES)[number]

/** Everything about a sync that a version fixes. */
export interface SyncConfig {
  readonly sourceConnectionId: string
  readonly stream: string
  readonly streamOptions: JsonObject
  readonly destinationConnectionId: string
  readonly object: string
  readonly objectOptions: JsonObject
  /** As saved; compiled by domain/mapping. */
  readonly mapping: JsonObject
  readonly onRejected: RejectionPolicy
  readonly onBrokenRecord: BrokenRecordPolicy
  /** Records, 1 to 10,000. */
  readonly pageSize: number
}

/** 64 hexadecimal characters: the name of a version. */
export function digestConfig(hash: Hash, config: SyncConfig): string {
  return toHex(hash(canonicalJson(config as unknown as JsonObject)))
}

/** What a queued or running run needs to be true of its sync; null: it may go on. */
export function decideStanding(facts: {
  readonly status: SyncStatus
  readonly publicationId: string | null
  readonly runPublicationId: string | null
}): FailureCode | null {
  if (facts.status === 'paused' || facts.status === 'pausing') {
    return 'attestation_rule_not_active'
  }
  const isCurrent = facts.publicationId !== null && facts.publicationId === facts.runPublicationId
  return isCurrent && facts.status === 'active' ? null : 'attestation_publication_not_attested'
}
