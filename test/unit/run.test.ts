import { describe, expect, it } from 'vitest'
import {
  decideCancel,
  decideTakeOver,
  FINAL_RUN_STATUSES,
  isAllowed,
  isFinal,
  MAX_TAKE_OVERS,
  RUN_STATUSES,
  RUN_TRANSITIONS,
  type RunStatus,
  type RunVerb,
  stopsWithinMs,
} from '../../src/domain/run.ts'

/** Written out beside the product's table: which verb may act on a run in which state. */
const ALLOWED: Record<RunVerb, Record<RunStatus, boolean>> = {
  refuse: row(),
  claim: row('queued'),
  complete: row('running'),
  postpone: row('running'),
  fail: row('queued', 'running'),
  release: row('running'),
  recover: row('running'),
  sweep: row('running'),
  cancel: row('queued', 'running'),
}

function row(...allowed: RunStatus[]): Record<RunStatus, boolean> {
  const is = (status: RunStatus) => allowed.includes(status)
  return {
    queued: is('queued'),
    running: is('running'),
    succeeded: is('succeeded'),
    partial: is('partial'),
    failed: is('failed'),
    canceled: is('canceled'),
  }
}

const verbs = Object.keys(RUN_TRANSITIONS) as RunVerb[]
const pairs = verbs.flatMap((verb) => RUN_STATUSES.map((status) => ({ verb, status })))

describe('the verbs of a run', () => {
  it.each(pairs)('$verb on a run that is $status', ({ verb, status }) => {
    expect(isAllowed(verb, status)).toBe(ALLOWED[verb][status])
  })

  it.each(FINAL_RUN_STATUSES)('none acts on a run that is %s', (status) => {
    expect(verbs.filter((verb) => isAllowed(verb, status))).toEqual([])
    expect(isFinal(status)).toBe(true)
  })

  it.each(['queued', 'running'] as const)(
    'a run that is %s can still be failed and canceled',
    (status) => {
      expect(isFinal(status)).toBe(false)
      expect(isAllowed('fail', status) && isAllowed('cancel', status)).toBe(true)
    },
  )

  it('those that take a run from a worker, or give it to one, raise the fence, and no others', () => {
    expect(verbs.filter((verb) => RUN_TRANSITIONS[verb].raisesFence)).toEqual([
      'claim',
      'recover',
      'sweep',
    ])
  })

  it('every state but the first is reached by a verb', () => {
    const reached = new Set<RunStatus>(verbs.flatMap((verb) => [...RUN_TRANSITIONS[verb].to]))
    expect(reached).toEqual(new Set(RUN_STATUSES))
  })
})

describe('a take-over', () => {
  it('queues the run again until the fifth in a row, which closes it', () => {
    const decisions = Array.from({ length: 7 }, (_, takeOversInARow) =>
      decideTakeOver({ takeOversInARow, wish: null }),
    )
    expect(decisions.slice(0, MAX_TAKE_OVERS - 1)).toEqual(Array(4).fill('requeue'))
    expect(decisions.slice(MAX_TAKE_OVERS - 1)).toEqual(Array(3).fill('close'))
  })

  it.each(['cancel', 'pause'] as const)(
    'carries out a %s, whatever else would become of the run',
    (wish) => {
      expect(decideTakeOver({ takeOversInARow: 0, wish })).toBe(wish)
      expect(decideTakeOver({ takeOversInARow: MAX_TAKE_OVERS, wish })).toBe(wish)
    },
  )
})

describe('canceling', () => {
  it.each([
    ['queued', false, 'cancel'],
    ['running', false, 'request'],
    ['running', true, 'noop'],
    ['succeeded', false, 'noop'],
    ['partial', false, 'noop'],
    ['failed', false, 'noop'],
    ['canceled', true, 'noop'],
  ] as const)('a run that is %s, asked before: %s', (status, isCancelRequested, kind) => {
    expect(decideCancel({ status, isCancelRequested })).toEqual({ kind })
  })

  it('promises a stop only after the call under way, and after a take-over', () => {
    expect(stopsWithinMs(0)).toBe(30_000)
    expect(stopsWithinMs(300_000)).toBeGreaterThan(300_000)
  })
})
