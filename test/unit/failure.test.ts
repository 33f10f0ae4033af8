import { describe, expect, it } from 'vitest'
import {
  describeFailure,
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  failure,
  MAX_DETAIL_LENGTH,
} from '../../src/domain/failure.ts'

/** The contract's table: code, owner, retried. */
const CONTRACT = `
lease_conflict TAJO no
lease_lost TAJO yes
lease_unavailable TAJO yes
stale_job_swept TAJO new_run
provider_rate_limited TAJO yes
provider_unavailable TAJO yes
connection_missing CUSTOMER no
connection_unauthorized CUSTOMER no
destination_rejected CUSTOMER no
node_failed CUSTOMER yes
attestation_rule_not_active CUSTOMER no
attestation_publication_not_attested CUSTOMER no
unclassified_exception TAJO yes`

describe('the failure catalogue', () => {
  it('has the codes, owners and retries of the contract', () => {
    const rows = FAILURE_CODES.map((code) => {
      const { owner, retried } = FAILURE_CATALOGUE[code]
      return `\n${code} ${owner} ${retried}`
    })
    expect(rows.join('')).toBe(CONTRACT)
  })

  it.each(FAILURE_CODES)('says what happened and what to do: %s', (code) => {
    const { happened, todo } = FAILURE_CATALOGUE[code]
    expect(happened).toMatch(/^[A-Z].{10,}$/)
    expect(todo).toMatch(/^[A-Z].{5,}\.$/)
  })

  it('has the two sentences that are fixed to the letter', () => {
    expect(describeFailure(failure('lease_lost'))).toBe(
      'The run lost its slot part-way through and stopped to avoid writing twice.',
    )
    expect(describeFailure(failure('lease_conflict'))).toBe(
      'Another run of this sync was already in progress',
    )
  })
})

describe('a failure', () => {
  it('names its tool or its step in the sentence', () => {
    expect(describeFailure(failure('connection_missing', { subject: 'brevo' }))).toBe(
      'A tool that the sync uses (brevo) is not connected in this workspace.',
    )
    expect(describeFailure(failure('node_failed', { step: 'mapping' }))).toBe(
      'A step failed while mapping.',
    )
  })

  it.each(FAILURE_CODES)('leaves no placeholder in its sentence: %s', (code) => {
    expect(describeFailure(failure(code))).not.toMatch(/[{}]/)
  })

  it('keeps a bounded detail, and null for what it was not told', () => {
    const told = failure('node_failed', { detail: 'x'.repeat(MAX_DETAIL_LENGTH + 1) })
    expect(told.detail).toHaveLength(MAX_DETAIL_LENGTH)
    expect(failure('lease_lost')).toEqual({
      code: 'lease_lost',
      step: null,
      subject: null,
      detail: null,
    })
  })
})
