import { describe, expect, it } from 'vitest'
import { canonicalJson, type JsonObject } from '../../src/domain/json.ts'
import { RUN_STATUSES } from '../../src/domain/run.ts'
import {
  decidePause,
  decidePublish,
  decideResume,
  decideRetry,
  decideRun,
  decideStop,
  digestConfig,
  readSyncConfig,
  type SyncConfig,
} from '../../src/domain/sync.ts'
import { sha256 } from '../../src/runtime/hash.ts'

const config: SyncConfig = {
  sourceConnectionId: 'source',
  stream: 'a.csv',
  streamOptions: {},
  destinationConnectionId: 'destination',
  object: '/contacts',
  objectOptions: { path: 'PAGE' },
  mapping: { a: { $path: 'a' } },
  onRejected: 'HOLD',
  onBrokenRecord: 'REJECT',
  pageSize: 500,
  schedule: null,
  breakerThreshold: null,
}

describe('publishing', () => {
  it.each([
    ['draft', null, { kind: 'publish' }],
    ['active', 'old', { kind: 'publish' }],
    ['active', 'new', { kind: 'noop' }],
    ['paused', 'old', { kind: 'publish' }],
    ['paused', 'new', { kind: 'publish' }],
    ['pausing', 'new', { kind: 'refuse', why: 'still_pausing' }],
  ] as const)('a sync that is %s with %s published', (status, publishedDigest, decision) => {
    expect(decidePublish({ status, draftDigest: 'new', publishedDigest })).toEqual(decision)
  })
})

describe('pausing', () => {
  it.each([
    ['draft', null, { kind: 'refuse', why: 'not_published' }],
    ['active', null, { kind: 'pause', to: 'paused', failsQueuedRun: false }],
    ['active', 'queued', { kind: 'pause', to: 'paused', failsQueuedRun: true }],
    ['active', 'running', { kind: 'pause', to: 'pausing', failsQueuedRun: false }],
    ['pausing', 'running', { kind: 'noop' }],
    ['paused', null, { kind: 'noop' }],
  ] as const)('a sync that is %s with a run %s', (status, inFlight, decision) => {
    expect(decidePause({ status, inFlight })).toEqual(decision)
  })
})

describe('a running run', () => {
  it.each([
    ['active', false, null],
    ['pausing', false, 'pause'],
    ['paused', false, 'pause'],
    ['active', true, 'cancel'],
    ['pausing', true, 'cancel'],
  ] as const)(
    'of a sync that is %s, canceled: %s, is to %s',
    (syncStatus, isCancelRequested, wish) => {
      expect(decideStop({ syncStatus, isCancelRequested })).toBe(wish)
    },
  )
})

describe('resuming', () => {
  it.each([
    ['draft', null, { kind: 'refuse', why: 'not_published' }],
    ['active', null, { kind: 'noop' }],
    ['pausing', 'person', { kind: 'refuse', why: 'still_pausing' }],
    ['paused', 'person', { kind: 'resume' }],
    ['paused', 'breaker', { kind: 'refuse', why: 'breaker' }],
  ] as const)('a sync that is %s, paused by %s', (status, pauseCause, decision) => {
    expect(decideResume({ status, pauseCause })).toEqual(decision)
  })
})

describe('running', () => {
  it.each([
    ['draft', { kind: 'refuse', why: 'not_published' }],
    ['active', { kind: 'start' }],
    ['pausing', { kind: 'refuse', why: 'paused' }],
    ['paused', { kind: 'refuse', why: 'paused' }],
  ] as const)('a sync that is %s', (status, decision) => {
    expect(decideRun(status)).toEqual(decision)
  })
})

describe('retrying', () => {
  const facts = {
    syncStatus: 'active',
    runStatus: 'failed',
    isTest: false,
    resolvedByRunId: null,
    inFlight: null,
    latestRetry: null,
  } as const

  it.each(RUN_STATUSES)(
    'a run that is %s starts one only after failed and partial',
    (runStatus) => {
      const expected = ['failed', 'partial'].includes(runStatus)
        ? { kind: 'start' }
        : { kind: 'refuse', why: 'not_failed' }
      expect(decideRetry({ ...facts, runStatus })).toEqual(expected)
    },
  )

  it.each(RUN_STATUSES)('is refused for a test run that is %s', (runStatus) => {
    const decision = decideRetry({ ...facts, runStatus, isTest: true })
    expect(decision).toEqual({ kind: 'refuse', why: 'test_run' })
  })

  it('is refused for a run under way, before anything else is looked at', () => {
    const decision = decideRetry({
      syncStatus: 'paused',
      runStatus: 'succeeded',
      isTest: true,
      resolvedByRunId: 'r',
      inFlight: { id: 'other' },
      latestRetry: { id: 'latest' },
    })
    expect(decision).toEqual({ kind: 'refuse', why: 'already_running', runId: 'other' })
  })

  it('is refused for a run that was put right, with the retry that did it', () => {
    const decision = decideRetry({ ...facts, resolvedByRunId: 'good', latestRetry: { id: 'good' } })
    expect(decision).toEqual({ kind: 'refuse', why: 'resolved', runId: 'good' })
  })

  it('is refused for a run that was retried, with the latest retry', () => {
    const decision = decideRetry({ ...facts, latestRetry: { id: 'latest' } })
    expect(decision).toEqual({ kind: 'refuse', why: 'retried', runId: 'latest' })
  })

  it('is refused as the sync stands', () => {
    expect(decideRetry({ ...facts, syncStatus: 'paused' })).toEqual({
      kind: 'refuse',
      why: 'paused',
    })
  })
})

describe('a stored configuration', () => {
  it('comes back as it was, whatever the order of its members', () => {
    const stored = Object.fromEntries(Object.entries(config).reverse())
    expect(readSyncConfig(stored)).toEqual(config)
    expect(digestConfig(sha256, readSyncConfig(stored))).toBe(digestConfig(sha256, config))
  })

  it('without a schedule or a threshold is one from before there were any, and has the name it had then', () => {
    const { schedule: _, breakerThreshold: __, ...stored } = config
    expect(readSyncConfig(stored)).toEqual(config)
    expect(digestConfig(sha256, readSyncConfig(stored))).toBe(
      'e0bea49ac89117c8e49a0f15f8a4c1781c65ddb9f6b61a3f37f37b85dca28040',
    )
  })

  it('whose schedule is of another shape is a bug', () => {
    const stored = { ...config, schedule: { kind: 'lunar' } } as unknown as JsonObject
    expect(() => readSyncConfig(stored)).toThrow(RangeError)
  })

  it('with a schedule and without a threshold has the name it had before there were any', () => {
    const schedule = { kind: 'interval', everyMs: 60_000 } as const
    const { breakerThreshold: _, ...stored } = { ...config, schedule }
    const read = readSyncConfig(stored as unknown as JsonObject)
    expect(read).toEqual({ ...config, schedule })
    expect(digestConfig(sha256, read)).toBe(sha256(canonicalJson(stored as unknown as JsonObject)))
  })

  it.each(['5', true, {}])('whose threshold is %j is a bug', (breakerThreshold) => {
    const stored = { ...config, breakerThreshold } as unknown as JsonObject
    expect(() => readSyncConfig(stored)).toThrow(RangeError)
  })

  it.each(
    Object.keys(config).filter((member) => !['schedule', 'breakerThreshold'].includes(member)),
  )('without %s is a bug', (member) => {
    const { [member]: _, ...rest } = config as unknown as Record<string, never>
    expect(() => readSyncConfig(rest)).toThrow(RangeError)
  })

  it('has another digest for each change', () => {
    const changes: Partial<SyncConfig>[] = [
      {},
      { stream: 'b.csv' },
      { object: '/people' },
      { pageSize: 1 },
      { onRejected: 'QUARANTINE' },
      { onBrokenRecord: 'FAIL' },
      { mapping: { a: { $path: 'b' } } },
      { objectOptions: {} },
      { schedule: { kind: 'interval', everyMs: 60_000 } },
      { schedule: { kind: 'interval', everyMs: 120_000 } },
      { breakerThreshold: 5 },
      { breakerThreshold: 6 },
    ]
    const digests = changes.map((change) => digestConfig(sha256, { ...config, ...change }))
    expect(new Set(digests).size).toBe(changes.length)
  })
})
