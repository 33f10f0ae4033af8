import { describe, expect, it } from 'vitest'
import { isFinal, RUN_STATUSES } from '../../src/domain/run.ts'
import {
  nextMutationOf,
  outcomeOf,
  ownerOf,
  progressNote,
  willRetry,
} from '../../src/domain/run-view.ts'

describe('what is told of a run', () => {
  it.each(RUN_STATUSES)('that is %s has an outcome exactly when it is final', (status) => {
    expect(outcomeOf(status) !== null).toBe(isFinal(status))
  })

  it.each([
    ['failed', 'connection_missing', 0, 0, 'CUSTOMER'],
    ['failed', 'lease_lost', 5, 0, 'TAJO'],
    ['partial', null, 1, 0, 'CUSTOMER'],
    ['partial', null, 0, 1, 'CUSTOMER'],
    ['partial', null, 0, 0, 'TAJO'],
    ['succeeded', null, 0, 0, null],
    ['queued', null, 0, 0, null],
  ] as const)(
    '%s, %s with %i rejected and %i quarantined is for %s to act on',
    (status, failureCode, rejected, quarantined, owner) => {
      expect(ownerOf({ status, failureCode, rejected, quarantined })).toBe(owner)
    },
  )

  it.each([
    ['attestation_rule_not_active', null, 'retry'],
    ['attestation_rule_not_active', 'person', 'resume'],
    ['attestation_rule_not_active', 'breaker', 'publish'],
    ['connection_unauthorized', 'breaker', 'reconnect'],
    ['lease_conflict', null, null],
  ] as const)('after %s, paused by %s, it goes on with %s', (code, pauseCause, next) => {
    expect(nextMutationOf(code, { pauseCause })).toBe(next)
  })

  it.each([
    ['running', 120_001, 'Waiting for a fresh progress update'],
    ['running', 120_000, null],
    ['running', null, null],
    ['queued', 500_000, null],
    ['succeeded', 500_000, null],
  ] as const)('%s and silent for %s ms says %s', (status, silentMs, note) => {
    expect(progressNote({ status, silentMs }, 120_000)).toBe(note)
  })

  it.each([
    ['queued', 0, false],
    ['queued', 1, true],
    ['running', 1, false],
    ['failed', 2, false],
  ] as const)('%s after %i claims', (status, claims, expected) => {
    expect(willRetry({ status, claims })).toBe(expected)
  })
})
