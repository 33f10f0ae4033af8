/**
 * A sync: its configuration, its states, and what may be done in each.
 *
 * Invariants: runs execute a published version only; a version is named by the digest of its
 * configuration's canonical form; the destination connection and object are fixed at the first
 * publication.
 */
import type { FailureCode } from './failure.ts'
import type { Hash } from './ids.ts'
import { canonicalJson, isJsonObject, type JsonObject } from './json.ts'
import type { RunStatus, StopWish } from './run.ts'
import { readSchedule, type Schedule } from './schedule.ts'

export const SYNC_STATUSES = ['draft', 'active', 'pausing', 'paused'] as const
export type SyncStatus = (typeof SYNC_STATUSES)[number]

const PAUSE_CAUSES = ['person', 'breaker'] as const
export type PauseCause = (typeof PAUSE_CAUSES)[number]

/** What happens to a record that the destination rejects: its page stays open, or it is set aside after some runs. */
const REJECTION_POLICIES = ['HOLD', 'QUARANTINE'] as const
export type RejectionPolicy = (typeof REJECTION_POLICIES)[number]

/** What a row that cannot be read as a record does: it is rejected by itself, or it ends the run. */
const BROKEN_RECORD_POLICIES = ['REJECT', 'FAIL'] as const
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
  /** Null: it runs only when it is asked to. */
  readonly schedule: Schedule | null
  /** Failed runs in a row after which the breaker pauses it; null: as many as the deployment says. */
  readonly breakerThreshold: number | null
}

/** What came into the configuration after versions had been named: where it is null they keep their names. */
const ADDED_MEMBERS: readonly string[] = [
  'schedule',
  'breakerThreshold',
] satisfies (keyof SyncConfig)[]

/** 64 hexadecimal characters: the name of a version. */
export function digestConfig(hash: Hash, config: SyncConfig): string {
  const named = Object.entries(config as unknown as JsonObject).filter(
    ([member, value]) => value !== null || !ADDED_MEMBERS.includes(member),
  )
  return hash(canonicalJson(Object.fromEntries(named)))
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

/** What a running run has to do for people; null: it goes on. Who canceled a run knew of it, so that comes first. */
export function decideStop(facts: {
  readonly syncStatus: SyncStatus
  readonly isCancelRequested: boolean
}): StopWish | null {
  if (facts.isCancelRequested) {
    return 'cancel'
  }
  return facts.syncStatus === 'active' ? null : 'pause'
}

/** Reads a configuration that was stored. Throws RangeError for what this product did not write: that is a bug. */
export function readSyncConfig(stored: JsonObject): SyncConfig {
  const onRejected = REJECTION_POLICIES.find((policy) => policy === stored['onRejected'])
  const onBrokenRecord = BROKEN_RECORD_POLICIES.find(
    (policy) => policy === stored['onBrokenRecord'],
  )
  const { pageSize, breakerThreshold = null } = stored
  const isThreshold = breakerThreshold === null || typeof breakerThreshold === 'number'
  if (!onRejected || !onBrokenRecord || typeof pageSize !== 'number' || !isThreshold) {
    throw new RangeError('A stored sync configuration has another shape than it was written with.')
  }
  return {
    sourceConnectionId: readText(stored, 'sourceConnectionId'),
    stream: readText(stored, 'stream'),
    streamOptions: readObject(stored, 'streamOptions'),
    destinationConnectionId: readText(stored, 'destinationConnectionId'),
    object: readText(stored, 'object'),
    objectOptions: readObject(stored, 'objectOptions'),
    mapping: readObject(stored, 'mapping'),
    onRejected,
    onBrokenRecord,
    pageSize,
    schedule: readSchedule(stored['schedule']),
    breakerThreshold,
  }
}

function readText(stored: JsonObject, member: string): string {
  const value = stored[member]
  if (typeof value !== 'string') {
    throw new RangeError(`A stored sync configuration has no text ${member}.`)
  }
  return value
}

function readObject(stored: JsonObject, member: string): JsonObject {
  const value = stored[member]
  if (!isJsonObject(value)) {
    throw new RangeError(`A stored sync configuration has no object ${member}.`)
  }
  return value
}

export type PublishDecision =
  | { readonly kind: 'publish' }
  /** This very version is the one that runs. */
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'still_pausing' }

/** Publishing makes the draft the version that runs and the sync active, whoever had paused it. */
export function decidePublish(facts: {
  readonly status: SyncStatus
  readonly draftDigest: string
  readonly publishedDigest: string | null
}): PublishDecision {
  if (facts.status === 'pausing') {
    return { kind: 'refuse', why: 'still_pausing' }
  }
  const isSame = facts.status === 'active' && facts.draftDigest === facts.publishedDigest
  return isSame ? { kind: 'noop' } : { kind: 'publish' }
}

export type PauseDecision =
  /** A queued run is failed in the same transaction; a running one stops at its next safe point. */
  | { readonly kind: 'pause'; readonly to: 'paused' | 'pausing'; readonly failsQueuedRun: boolean }
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'not_published' }

/** `inFlight`: the status of the sync's queued or running run, or null. */
export function decidePause(facts: {
  readonly status: SyncStatus
  readonly inFlight: RunStatus | null
}): PauseDecision {
  switch (facts.status) {
    case 'draft':
      return { kind: 'refuse', why: 'not_published' }
    case 'pausing':
    case 'paused':
      return { kind: 'noop' }
    case 'active':
      return {
        kind: 'pause',
        to: facts.inFlight === 'running' ? 'pausing' : 'paused',
        failsQueuedRun: facts.inFlight === 'queued',
      }
  }
}

export type ResumeDecision =
  | { readonly kind: 'resume' }
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'not_published' | 'still_pausing' | 'breaker' }

/** Only what a person paused can be resumed; after the breaker somebody mends the cause and publishes again. */
export function decideResume(facts: {
  readonly status: SyncStatus
  readonly pauseCause: PauseCause | null
}): ResumeDecision {
  switch (facts.status) {
    case 'draft':
      return { kind: 'refuse', why: 'not_published' }
    case 'active':
      return { kind: 'noop' }
    case 'pausing':
      return { kind: 'refuse', why: 'still_pausing' }
    case 'paused':
      return facts.pauseCause === 'breaker'
        ? { kind: 'refuse', why: 'breaker' }
        : { kind: 'resume' }
  }
}

export type RunDecision =
  | { readonly kind: 'start' }
  | { readonly kind: 'refuse'; readonly why: 'not_published' | 'paused' }

/** Whether a person may start a run of the sync. A run in flight is another question: the database answers it. */
export function decideRun(status: SyncStatus): RunDecision {
  switch (status) {
    case 'draft':
      return { kind: 'refuse', why: 'not_published' }
    case 'pausing':
    case 'paused':
      return { kind: 'refuse', why: 'paused' }
    case 'active':
      return { kind: 'start' }
  }
}

export type RetryDecision =
  | RunDecision
  | { readonly kind: 'refuse'; readonly why: 'already_running'; readonly runId: string }
  /** It did not fail: it is under way, succeeded, or was canceled. */
  | { readonly kind: 'refuse'; readonly why: 'not_failed' }
  /** It tested a draft: another test is started instead. */
  | { readonly kind: 'refuse'; readonly why: 'test_run' }
  /** A retry has already put it right. */
  | { readonly kind: 'refuse'; readonly why: 'resolved'; readonly runId: string }
  /** It was retried, and the latest retry ended without success: that one is to be retried. */
  | { readonly kind: 'refuse'; readonly why: 'retried'; readonly runId: string }

/**
 * Whether a run may be retried. `inFlight`: the sync's queued or running run. `latestRetry`: the last of
 * the chain of retries that starts with this run.
 */
export function decideRetry(facts: {
  readonly syncStatus: SyncStatus
  readonly runStatus: RunStatus
  readonly isTest: boolean
  readonly resolvedByRunId: string | null
  readonly inFlight: { readonly id: string } | null
  readonly latestRetry: { readonly id: string } | null
}): RetryDecision {
  if (facts.inFlight) {
    return { kind: 'refuse', why: 'already_running', runId: facts.inFlight.id }
  }
  if (facts.isTest) {
    return { kind: 'refuse', why: 'test_run' }
  }
  if (facts.runStatus !== 'failed' && facts.runStatus !== 'partial') {
    return { kind: 'refuse', why: 'not_failed' }
  }
  if (facts.resolvedByRunId !== null) {
    return { kind: 'refuse', why: 'resolved', runId: facts.resolvedByRunId }
  }
  if (facts.latestRetry) {
    return { kind: 'refuse', why: 'retried', runId: facts.latestRetry.id }
  }
  return decideRun(facts.syncStatus)
}
