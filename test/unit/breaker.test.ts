import { describe, expect, it } from 'vitest'
import {
  type BreakerFacts,
  type CountedRun,
  decideBreaker,
  describeTrip,
  isCounted,
} from '../../src/domain/breaker.ts'
import { FAILURE_CATALOGUE, FAILURE_CODES, failure } from '../../src/domain/failure.ts'
import { RUN_CAUSES, RUN_STATUSES } from '../../src/domain/run.ts'
import { SYNC_STATUSES } from '../../src/domain/sync.ts'

const AWAY = failure('provider_unavailable')
const failed = (runId: string): CountedRun => ({ runId, failure: AWAY })
const good = (runId: string): CountedRun => ({ runId, failure: null })
const FIVE = ['e', 'd', 'c', 'b', 'a'].map(failed)

const decide = (given: Partial<BreakerFacts>) =>
  decideBreaker({ syncStatus: 'active', threshold: 5, lastRuns: FIVE, ...given })

describe('the breaker', () => {
  it('trips at the fifth failed run in a row, and names it and the others', () => {
    expect(decide({})).toEqual({
      kind: 'trip',
      runId: 'e',
      failure: AWAY,
      runIds: ['e', 'd', 'c', 'b', 'a'],
    })
  })

  it.each([
    ['there are fewer', FIVE.slice(0, 4)],
    ['there are none', []],
    ['the newest one did not fail', [good('e'), ...FIVE.slice(1)]],
    ['the oldest one did not fail', [...FIVE.slice(0, 4), good('a')]],
    ['one in between did not fail', [...FIVE.slice(0, 2), good('c'), ...FIVE.slice(3)]],
  ])('rests where %s', (_, lastRuns) => {
    expect(decide({ lastRuns })).toEqual({ kind: 'rest' })
  })

  it('does not look behind its threshold', () => {
    const lastRuns = [failed('c'), failed('b'), good('a')]
    expect(decide({ lastRuns, threshold: 2 })).toMatchObject({ kind: 'trip', runIds: ['c', 'b'] })
    expect(decide({ lastRuns, threshold: 3 })).toEqual({ kind: 'rest' })
    expect(decide({ lastRuns, threshold: 1 })).toMatchObject({ kind: 'trip', runIds: ['c'] })
  })

  it.each(SYNC_STATUSES.filter((status) => status !== 'active'))(
    'does nothing to a sync that is %s',
    (syncStatus) => {
      expect(decide({ syncStatus })).toEqual({ kind: 'rest' })
    },
  )
})

describe('a run', () => {
  const run = { status: 'failed', cause: 'schedule', failureCode: 'node_failed' } as const

  it.each(RUN_STATUSES)('that is %s counts only when it has ended by itself', (status) => {
    const counts = ['succeeded', 'partial', 'failed'].includes(status)
    expect(isCounted({ ...run, status, failureCode: null })).toBe(counts)
  })

  it.each(FAILURE_CODES)('that failed with %s counts unless it got no slot', (failureCode) => {
    const leases = ['lease_conflict', 'lease_lost', 'lease_unavailable']
    expect(isCounted({ ...run, failureCode })).toBe(!leases.includes(failureCode))
  })

  it.each(RUN_CAUSES)('counts, whoever asked for it, unless it tests a draft (%s)', (cause) => {
    expect(isCounted({ ...run, cause })).toBe(cause !== 'test')
  })
})

describe('what people are told', () => {
  const tell = (given: Partial<Parameters<typeof describeTrip>[0]>) =>
    describeTrip({ syncName: 'Customers "EU"', runId: 'r', failure: AWAY, failedRuns: 5, ...given })

  it('is what happened, what to do and who has to, and the run', () => {
    const told = failure('connection_missing', { subject: 'CRM', detail: 'a technical detail' })
    expect(tell({ failure: told })).toEqual({
      title: 'A sync was paused after 5 failed runs in a row',
      message: [
        'The failure circuit breaker paused the sync "Customers \\"EU\\"", because its last 5 runs failed.',
        'What happened in the last one: A tool that the sync uses (CRM) is not connected in this workspace.',
        'What to do: Connect it, then run the sync again.',
        'This is for whoever owns the sync and its connections.',
        'The sync stays paused until somebody publishes it again, once the cause is mended.',
        'The id of the run is run_r.',
      ].join(' '),
    })
  })

  it.each(FAILURE_CODES)('are full sentences for %s', (code) => {
    const { title, message } = tell({ failure: failure(code, { step: 'reading' }), failedRuns: 1 })
    expect(title).toBe('A sync was paused after a failed run')
    expect(message).toContain('because its last run failed. What happened in the last one: ')
    expect(message).toContain(`What to do: ${FAILURE_CATALOGUE[code].todo} This is for `)
    expect(message).toMatch(/^[^{}]+\.$/)
  })
})
