import { describe, expect, it } from 'vitest'
import {
  describeFailure,
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  failure,
  MAX_DETAIL_LENGTH,
} from '../../src/domain/failure.ts'

/** The contract's table (but for ADR 0007): code, owner, retried, the mutation that follows. */
const CONTRACT = `
lease_conflict TAJO no -
lease_lost TAJO yes retry
lease_unavailable TAJO yes retry
stale_job_swept TAJO new_run retry
provider_rate_limited TAJO yes -
provider_unavailable TAJO yes -
connection_missing CUSTOMER no reconnect
connection_unauthorized CUSTOMER no reconnect
destination_rejected CUSTOMER no retry
node_failed CUSTOMER yes retry
attestation_rule_not_active CUSTOMER no resume
attestation_publication_not_attested CUSTOMER no publish
unclassified_exception TAJO yes retry`

describe('the failure catalogue', () => {
  it('has the codes, owners, retries and next mutations of the contract', () => {
    const rows = FAILURE_CODES.map((code) => {
      const { owner, retried, next } = FAILURE_CATALOGUE[code]
      return `\n${code} ${owner} ${retried} ${next ?? '-'}`
    })
    expect(rows.join('')).toBe(CONTRACT)
  })

  it.each(FAILURE_CODES)('says what happened and what to do: %s', (code) => {
    const { happened, todo, causes } = FAILURE_CATALOGUE[code]
    expect(causes).toMatch(/^[A-Z].{20,}\.$/)
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
