/**
 * The failure catalogue: the one table from which the API, the docs and the tests are made.
 *
 * Invariant: every failure that a person sees is a code of this table, with what happened, what to do
 * next and who has to do it. A cause that no code fits is `unclassified_exception`. What is kept of its technical
 * detail is scrubbed here, whoever tells it.
 */
import { scrub } from './scrub.ts'

const FAILURE_OWNERS = ['CUSTOMER', 'TAJO'] as const
export type FailureOwner = (typeof FAILURE_OWNERS)[number]

/** What follows a failure: `yes`, another attempt of the run; `new_run`, a run queued by the sweep; `no`, a person. */
export type FailureRetry = 'yes' | 'new_run' | 'no'

/** The mutations with which a person goes on after a failure; `resume` is another one by now where run-view.ts says so. */
const NEXT_MUTATIONS = ['retry', 'reconnect', 'publish', 'resume'] as const
export type NextMutation = (typeof NEXT_MUTATIONS)[number]

interface FailureEntry {
  /** One sentence; `{subject}` stands for the tool or step that the failure names. */
  readonly happened: string
  readonly todo: string
  readonly owner: FailureOwner
  readonly retried: FailureRetry
  /** Null: nobody has to do anything, or it comes by itself. */
  readonly next: NextMutation | null
  /** Where it comes from, in a few sentences for whoever owns the sync. */
  readonly causes: string
}

export const FAILURE_CATALOGUE = {
  lease_conflict: {
    happened: 'Another run of this sync was already in progress',
    todo: 'Nothing: that run finishes, and the next scheduled run starts as usual.',
    owner: 'TAJO',
    retried: 'no',
    next: null,
    causes:
      'Two workers met over one sync, as after a network fault between them. The one that came second stopped before it wrote anything.',
  },
  lease_lost: {
    happened: 'The run lost its slot part-way through and stopped to avoid writing twice.',
    todo: 'Run the sync again.',
    owner: 'TAJO',
    retried: 'yes',
    next: 'retry',
    causes:
      'The worker was paused, cut off or too slow to prove that the sync was still its own, so another one may have taken over. What it had delivered is remembered and not sent again.',
  },
  lease_unavailable: {
    happened: 'The sync could not get a run slot.',
    todo: 'Run it again; if it repeats, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
    next: 'retry',
    causes:
      'The service in which runs reserve their sync (Redis) was out of reach. Nothing was sent meanwhile.',
  },
  stale_job_swept: {
    happened: 'The run stopped reporting progress and was closed.',
    todo: 'Run the sync again.',
    owner: 'TAJO',
    retried: 'new_run',
    next: 'retry',
    causes:
      "The run's worker fell silent for an hour, or the run ended its worker five times in a row without getting further. In the first case a new run is queued at once if the sync is active; in the second none is, because it would end its worker again.",
  },
  provider_rate_limited: {
    happened: 'The other system asked us to slow down.',
    todo: 'Nothing: wait for the next scheduled run.',
    owner: 'TAJO',
    retried: 'yes',
    next: null,
    causes:
      'The other system answered 425 or 429, or asked for a wait. A wait of up to a minute is sat out within the run; a longer one is kept before the next attempt.',
  },
  provider_unavailable: {
    happened: 'The other system was unavailable or did not answer in time.',
    todo: 'Nothing; if it lasts a whole day, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
    next: null,
    causes:
      'The connection was refused, broke or timed out, the answer was a 5xx or a page of a proxy, or an import did not finish. What may have been written is not taken for a failure: it is asked for, sent again with its key, or shown as in doubt.',
  },
  connection_missing: {
    happened: 'A tool that the sync uses ({subject}) is not connected in this workspace.',
    todo: 'Connect it, then run the sync again.',
    owner: 'CUSTOMER',
    retried: 'no',
    next: 'reconnect',
    causes: 'One of the two connections of the sync is not there, or was disconnected.',
  },
  connection_unauthorized: {
    happened: 'The other system refused our access.',
    todo: 'Reconnect it for a fresh authorisation, then run the sync again.',
    owner: 'CUSTOMER',
    retried: 'no',
    next: 'reconnect',
    causes:
      'The other system answered 401 or 403: the credentials were revoked, have expired, or lack a permission.',
  },
  destination_rejected: {
    happened: 'The destination rejected every record of this run.',
    todo: "Check the field mapping against the destination's required fields and formats, then run the sync again.",
    owner: 'CUSTOMER',
    retried: 'no',
    next: 'retry',
    causes:
      "The run sent at least one record for the first time, and the destination refused every one of them. The reasons stand in the run's rejected records. A changed mapping takes effect when it is published.",
  },
  node_failed: {
    happened: 'A step failed while {subject}.',
    todo: 'Open the run to see which step failed and why, mend it, and run the sync again.',
    owner: 'CUSTOMER',
    retried: 'yes',
    next: 'retry',
    causes:
      'Something that belongs to the sync or to the other system is not as it must be: a file that is missing or broken, a mapping that does not fit, an address whose name does not exist or whose certificate cannot be trusted, a path that answers 404, an answer in another form than the API should give. The detail names it.',
  },
  attestation_rule_not_active: {
    happened: 'This sync is paused.',
    todo: 'Resume it to run it; after a pause by the failure circuit breaker, mend the cause and publish again.',
    owner: 'CUSTOMER',
    retried: 'no',
    next: 'resume',
    causes:
      'The sync was paused, by a person or by the failure circuit breaker, while this run was queued or running.',
  },
  attestation_publication_not_attested: {
    happened: 'This version of the sync is not published.',
    todo: 'Publish it: changes do not run until published.',
    owner: 'CUSTOMER',
    retried: 'no',
    next: 'publish',
    causes:
      'The version that this run was queued for is not the published one any more, or nothing is published.',
  },
  unclassified_exception: {
    happened: 'The sync failed for a reason that is not yet classified.',
    todo: 'Run it again; if it repeats, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
    next: 'retry',
    causes:
      "Something went wrong on our side: a bug, or the database of this installation was away for too long. The log has it under the run's id.",
  },
} as const satisfies Record<string, FailureEntry>

export type FailureCode = keyof typeof FAILURE_CATALOGUE
export const FAILURE_CODES = Object.keys(FAILURE_CATALOGUE) as readonly FailureCode[]

/** The steps of a run that a failure can name; the wording completes "failed while …". */
const STEPS = ['reading', 'mapping', 'writing'] as const
export type Step = (typeof STEPS)[number]

/** Longest technical detail that is kept with a failure, in characters. */
export const MAX_DETAIL_LENGTH = 2_000

/** One failure of one attempt or run. */
export interface Failure {
  readonly code: FailureCode
  readonly step: Step | null
  /** The tool that the failure names (`connection_missing`), else null. */
  readonly subject: string | null
  /** Technical detail without personal data and secrets. */
  readonly detail: string | null
}

export function failure(
  code: FailureCode,
  facts: { step?: Step; subject?: string; detail?: string } = {},
): Failure {
  return {
    code,
    step: facts.step ?? null,
    subject: facts.subject ?? null,
    detail: facts.detail === undefined ? null : scrub(facts.detail).slice(0, MAX_DETAIL_LENGTH),
  }
}

/** The sentence a person reads: the catalogue's, with the tool or step in its place. */
export function describeFailure(told: Failure): string {
  const subject = told.subject ?? told.step ?? 'one of its parts'
  return FAILURE_CATALOGUE[told.code].happened.replace('{subject}', subject)
}
