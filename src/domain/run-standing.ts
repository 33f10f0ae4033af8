/**
 * Where a run stands, in one word that history is filtered by: its status; of a failed run the failure instead, and of
 * a partial one whether the destination refused records or only doubts are left. The database keeps the word beside
 * the run (`run.standing`), so that one index finds the runs of any status, failure and owner.
 */
import { FAILURE_CATALOGUE, FAILURE_CODES, type FailureCode, type FailureOwner } from './failure.ts'
import type { RunStatus } from './run.ts'

export type RunStanding =
  | Exclude<RunStatus, 'partial' | 'failed'>
  | 'partial_refused'
  | 'partial_in_doubt'
  | FailureCode

interface Meaning {
  readonly status: RunStatus
  readonly code: FailureCode | null
  /** As `ownerOf` says. */
  readonly owner: FailureOwner | null
}

const MEANINGS: ReadonlyMap<RunStanding, Meaning> = new Map<RunStanding, Meaning>([
  ...(['queued', 'running', 'succeeded', 'canceled'] as const).map(
    (status) => [status, { status, code: null, owner: null }] as const,
  ),
  ['partial_refused', { status: 'partial', code: null, owner: 'CUSTOMER' }],
  ['partial_in_doubt', { status: 'partial', code: null, owner: 'TAJO' }],
  ...FAILURE_CODES.map(
    (code) => [code, { status: 'failed', code, owner: FAILURE_CATALOGUE[code].owner }] as const,
  ),
])

export const RUN_STANDINGS: readonly RunStanding[] = [...MEANINGS.keys()]

/** What is not given, or empty, does not restrict. */
export interface StandingFilter {
  readonly statuses?: readonly RunStatus[]
  readonly codes?: readonly FailureCode[]
  readonly owner?: FailureOwner
}

/** The standings that fit all that is given; null: any does. */
export function standingsOf(filter: StandingFilter): readonly RunStanding[] | null {
  const { statuses = [], codes = [], owner } = filter
  if (statuses.length === 0 && codes.length === 0 && owner === undefined) {
    return null
  }
  return [...MEANINGS]
    .filter(
      ([, meaning]) =>
        (statuses.length === 0 || statuses.includes(meaning.status)) &&
        (codes.length === 0 || (meaning.code !== null && codes.includes(meaning.code))) &&
        (owner === undefined || meaning.owner === owner),
    )
    .map(([standing]) => standing)
}
