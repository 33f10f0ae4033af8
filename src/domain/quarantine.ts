/**
 * Rejected records: when they are set aside, and what people may do with those that are.
 *
 * Invariants: a record is set aside only for having been rejected in so many runs; what was set aside is
 * sent again only when a person brings it back, and never once a later record of its identity has been
 * delivered (I11).
 */
import type { SyncStatus } from './sync.ts'
import { decideRun } from './sync.ts'

/**
 * `held`: in its open page, tried again by every run. `quarantined`: set aside. `redriving`: brought back, to
 * be sent by the next run. `delivered`, `discarded`: over.
 */
export const REJECTION_STATES = [
  'held',
  'quarantined',
  'redriving',
  'delivered',
  'discarded',
] as const
export type RejectionState = (typeof REJECTION_STATES)[number]

/** Runs that reject a record before it is set aside, unless configured otherwise. */
export const QUARANTINE_AFTER_RUNS = 3

/** Most records of a sync that are set aside at once; what is rejected beyond them is held. */
export const MAX_SET_ASIDE = 100_000
/** Most bytes of JSON of a row that are kept for sending it again. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024
/** Most bytes of JSON that are kept of one page in one run; what is beyond them waits for the next run. */
export const MAX_PAGE_PAYLOAD_BYTES = 32 * 1024 * 1024

export interface SetAsideRecord {
  readonly state: RejectionState
  readonly isSuperseded: boolean
  /** Its row was kept, so that it can be sent again. */
  readonly hasPayload: boolean
  /** It was sent after it had been brought back, and nobody knows what became of that. */
  readonly isUnanswered: boolean
}

/** What bringing one record back comes to. */
export type RedriveItem = 'redrive' | 'noop' | 'no_payload'

export type RedriveDecision =
  /** For each record, in their order, what is done with it; a run is queued. */
  | { readonly kind: 'start'; readonly items: readonly RedriveItem[] }
  | { readonly kind: 'noop'; readonly items: readonly RedriveItem[] }
  | { readonly kind: 'refuse'; readonly why: 'not_published' | 'paused' }
  | { readonly kind: 'refuse'; readonly why: 'already_running'; readonly runId: string }

/** `inFlight`: the sync's queued or running run. */
export function decideRedrive(facts: {
  readonly records: readonly SetAsideRecord[]
  readonly inFlight: { readonly id: string } | null
  readonly syncStatus: SyncStatus
}): RedriveDecision {
  const { records, inFlight, syncStatus } = facts
  const items = records.map((record) => decideItem(record, inFlight !== null))
  if (!items.includes('redrive')) {
    return { kind: 'noop', items }
  }
  if (inFlight) {
    return { kind: 'refuse', why: 'already_running', runId: inFlight.id }
  }
  const run = decideRun(syncStatus)
  return run.kind === 'refuse' ? run : { kind: 'start', items }
}

function decideItem(record: SetAsideRecord, isRunning: boolean): RedriveItem {
  if (record.isSuperseded) {
    return 'noop'
  }
  switch (record.state) {
    case 'held':
    case 'delivered':
    case 'discarded':
      return 'noop'
    case 'quarantined':
      return record.hasPayload ? 'redrive' : 'no_payload'
    case 'redriving':
      // Brought back before: with a run in flight it is on its way, else it takes another run.
      return isRunning ? 'noop' : 'redrive'
  }
}

/** What giving one record up comes to. `in_doubt`: it was sent, and may have been written. */
export type DiscardItem = 'discard' | 'noop' | 'in_doubt'

export type DiscardDecision =
  /** For each record, in their order, what is done with it. */
  | { readonly kind: 'discard' | 'noop'; readonly items: readonly DiscardItem[] }
  | { readonly kind: 'refuse'; readonly runId: string }

/** `inFlight`: the sync's queued or running run. */
export function decideDiscard(facts: {
  readonly records: readonly SetAsideRecord[]
  readonly inFlight: { readonly id: string } | null
}): DiscardDecision {
  const { records, inFlight } = facts
  const items = records.map((record): DiscardItem => {
    const { state, isSuperseded, isUnanswered } = record
    if (isSuperseded || (state !== 'quarantined' && state !== 'redriving')) {
      return 'noop'
    }
    return isUnanswered ? 'in_doubt' : 'discard'
  })
  if (!items.includes('discard')) {
    return { kind: 'noop', items }
  }
  return inFlight ? { kind: 'refuse', runId: inFlight.id } : { kind: 'discard', items }
}
