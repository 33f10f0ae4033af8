/**
 * The failure catalogue: the one table from which the API, the docs and the tests are made.
 *
 * Invariant: every failure that a person sees is a code of this table, with what happened, what to do
 * next and who has to do it. A cause that no code fits is `unclassified_exception`.
 */

const FAILURE_OWNERS = ['CUSTOMER', 'TAJO'] as const
export type FailureOwner = (typeof FAILURE_OWNERS)[number]

/** What follows a failure: `yes`, another attempt of the run; `new_run`, a run queued by the sweep; `no`, a person. */
export type FailureRetry = 'yes' | 'new_run' | 'no'

interface FailureEntry {
  /** One sentence; `{subject}` stands for the tool or step that the failure names. */
  readonly happened: string
  readonly todo: string
  readonly owner: FailureOwner
  readonly retried: FailureRetry
}

export const FAILURE_CATALOGUE = {
  lease_conflict: {
    happened: 'Another run of this sync was already in progress',
    todo: 'Nothing: that run finishes, and the next scheduled run starts as usual.',
    owner: 'TAJO',
    retried: 'no',
  },
  lease_lost: {
    happened: 'The run lost its slot part-way through and stopped to avoid writing twice.',
    todo: 'Run the sync again.',
    owner: 'TAJO',
    retried: 'yes',
  },
  lease_unavailable: {
    happened: 'The sync could not get a run slot.',
    todo: 'Run it again; if it repeats, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
  },
  stale_job_swept: {
    happened: 'The run stopped reporting progress and was closed.',
    todo: 'Run the sync again.',
    owner: 'TAJO',
    retried: 'new_run',
  },
  provider_rate_limited: {
    happened: 'The other system asked us to slow down.',
    todo: 'Nothing: wait for the next scheduled run.',
    owner: 'TAJO',
    retried: 'yes',
  },
  provider_unavailable: {
    happened: 'The other system was unavailable or did not answer in time.',
    todo: 'Nothing; if it lasts a whole day, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
  },
  connection_missing: {
    happened: 'A tool that the sync uses ({subject}) is not connected in this workspace.',
    todo: 'Connect it, then run the sync again.',
    owner: 'CUSTOMER',
    retried: 'no',
  },
  connection_unauthorized: {
    happened: 'The other system refused our access.',
    todo: 'Reconnect it for a fresh authorisation, then run the sync again.',
    owner: 'CUSTOMER',
    retried: 'no',
  },
  destination_rejected: {
    happened: 'The destination rejected every record of this run.',
    todo: "Check the field mapping against the destination's required fields and formats, then run the sync again.",
    owner: 'CUSTOMER',
    retried: 'no',
  },
  node_failed: {
    happened: 'A step failed while {subject}.',
    todo: 'Open the run to see which step failed and why, mend it, and run the sync again.',
    owner: 'CUSTOMER',
    retried: 'yes',
  },
  attestation_rule_not_active: {
    happened: 'This sync is paused.',
    todo: 'Resume it to run it; after a pause by the failure circuit breaker, mend the cause and publish again.',
    owner: 'CUSTOMER',
    retried: 'no',
  },
  attestation_publication_not_attested: {
    happened: 'This version of the sync is not published.',
    todo: 'Publish it: changes do not run until published.',
    owner: 'CUSTOMER',
    retried: 'no',
  },
  unclassified_exception: {
    happened: 'The sync failed for a reason that is not yet classified.',
    todo: 'Run it again; if it repeats, send us the run id.',
    owner: 'TAJO',
    retried: 'yes',
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
    detail: facts.detail?.slice(0, MAX_DETAIL_LENGTH) ?? null,
  }
}

/** The sentence a person reads: the catalogue's, with the tool or step in its place. */
export function describeFailure(told: Failure): string {
  const subject = told.subject ?? told.step ?? 'one of its parts'
  return FAILURE_CATALOGUE[told.code].happened.replace('{subject}', subject)
}
