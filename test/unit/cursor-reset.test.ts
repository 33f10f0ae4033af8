import { describe, expect, it } from 'vitest'
import { decideReset, findProtection, hasSameKeys } from '../../src/domain/cursor-reset.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'

const config: SyncConfig = {
  sourceConnectionId: 'source',
  stream: 'a.csv',
  streamOptions: {},
  destinationConnectionId: 'destination',
  object: '/contacts',
  objectOptions: {},
  mapping: { a: { $path: 'a' } },
  onRejected: 'HOLD',
  onBrokenRecord: 'REJECT',
  pageSize: 500,
  schedule: null,
  breakerThreshold: null,
}

describe('resetting a cursor', () => {
  it.each([
    [{ inFlight: null, reached: 'x', openPages: 0 }, { kind: 'reset' }],
    [{ inFlight: null, reached: null, openPages: 1 }, { kind: 'reset' }],
    [{ inFlight: null, reached: null, openPages: 0 }, { kind: 'noop' }],
    [
      { inFlight: { id: 'r' }, reached: 'x', openPages: 0 },
      { kind: 'refuse', runId: 'r' },
    ],
    [
      { inFlight: { id: 'r' }, reached: null, openPages: 0 },
      { kind: 'refuse', runId: 'r' },
    ],
  ] as const)('%o: %o', (facts, decision) => {
    expect(decideReset(facts)).toEqual(decision)
  })
})

describe('what the ledger protects', () => {
  const facts = {
    oldestCountingMs: 1_000,
    hasExpired: false,
    versions: [config],
    current: config,
    retentionMs: 500,
  }

  it('is protected until the oldest delivery that counts is forgotten', () => {
    expect(findProtection(facts)).toEqual({ untilMs: 1_500, gaps: [] })
  })

  it('is nothing where no delivery counts', () => {
    const nothing = { ...facts, oldestCountingMs: null, versions: [], hasExpired: true }
    expect(findProtection(nothing)).toEqual({ untilMs: null, gaps: ['expired'] })
  })

  it.each([
    ['stream', { stream: 'b.csv' }],
    ['source', { sourceConnectionId: 'other' }],
    ['stream options', { streamOptions: { delimiter: ';' } }],
    ['page size', { pageSize: 499 }],
    ['mapping', { mapping: { a: { $path: 'b' } } }],
  ] as const)('has a gap when the %s changed', (_, changed) => {
    const versions = [config, { ...config, ...changed }]
    expect(findProtection({ ...facts, versions }).gaps).toEqual(['settings_changed'])
  })

  it('does not depend on what no key depends on', () => {
    const other: SyncConfig = { ...config, onBrokenRecord: 'FAIL', objectOptions: { path: 'PAGE' } }
    expect(hasSameKeys(config, other)).toBe(true)
  })
})
