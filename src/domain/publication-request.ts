/**
 * Requests to publish a version, for those who may not publish and where two people have to agree.
 *
 * Invariants (I22): what is approved is the very version that was requested; nobody approves or refuses a request
 * that was made with the same token; a closed request never changes.
 */
import type { SyncStatus } from './sync.ts'

export const PUBLICATION_REQUEST_STATUSES = [
  'open',
  'approved',
  'refused',
  'withdrawn',
  'superseded',
] as const
export type PublicationRequestStatus = (typeof PUBLICATION_REQUEST_STATUSES)[number]

/** What people make of a request. */
export type RequestVerdict = 'approved' | 'refused' | 'withdrawn'

export type RequestDecision =
  /** `supersedes`: an open request names a version that the draft is not any more. */
  | { readonly kind: 'request'; readonly supersedes: boolean }
  /** This very version is requested already. */
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'nothing_to_publish' }

/** Whether the draft of a sync may be requested. `requestedDigest`: that of the open request, or null. */
export function decideRequest(facts: {
  readonly status: SyncStatus
  readonly draftDigest: string
  readonly publishedDigest: string | null
  readonly requestedDigest: string | null
}): RequestDecision {
  if (facts.status === 'active' && facts.draftDigest === facts.publishedDigest) {
    return { kind: 'refuse', why: 'nothing_to_publish' }
  }
  return facts.requestedDigest === facts.draftDigest
    ? { kind: 'noop' }
    : { kind: 'request', supersedes: facts.requestedDigest !== null }
}

export type VerdictDecision =
  | { readonly kind: 'close' }
  /** Somebody did it before. */
  | { readonly kind: 'noop' }
  | { readonly kind: 'refuse'; readonly why: 'own_request' }
  | {
      readonly kind: 'refuse'
      readonly why: 'closed'
      readonly status: Exclude<PublicationRequestStatus, 'open'>
    }

/** Who wants it published does not say so a second time: four eyes are two tokens, whatever their roles. */
export function decideVerdict(facts: {
  readonly status: PublicationRequestStatus
  readonly verdict: RequestVerdict
  /** It was made with the token that speaks now. */
  readonly isOwn: boolean
}): VerdictDecision {
  const { status, verdict } = facts
  if (facts.isOwn && verdict !== 'withdrawn') {
    return { kind: 'refuse', why: 'own_request' }
  }
  if (status === 'open') {
    return { kind: 'close' }
  }
  return status === verdict ? { kind: 'noop' } : { kind: 'refuse', why: 'closed', status }
}
