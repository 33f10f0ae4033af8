import { describe, expect, it } from 'vitest'
import { decideNotice } from '../../src/domain/alert-notice.ts'

const HOUR_MS = 3_600_000
const first = { tries: 1, ageMs: 0, isRepetition: false }
const refused = { kind: 'refused', reason: 'It answered with status 400.' } as const
const unknown = { kind: 'unknown', reason: 'It did not answer in time.' } as const

describe('a notice', () => {
  it('that was taken is sent, however old it is', () => {
    const old = { ...first, ageMs: 1_000 * HOUR_MS }
    expect(decideNotice({ kind: 'sent' }, old)).toEqual({ kind: 'mark_sent' })
  })

  it.each([
    [1, 30_000],
    [2, 60_000],
    [3, 120_000],
    [7, 1_920_000],
    [8, HOUR_MS],
    [500, HOUR_MS],
  ])('that was refused in its try %i is tried again in %i ms', (tries, waitMs) => {
    expect(decideNotice(refused, { ...first, tries })).toEqual({
      kind: 'postpone',
      remaining: null,
      waitMs,
      mayHaveArrived: false,
      reason: refused.reason,
    })
  })

  it('without an answer may have arrived, and so it stays, whatever the next tries bring', () => {
    expect(decideNotice(unknown, first)).toMatchObject({ mayHaveArrived: true })
    const second = { ...first, tries: 2, isRepetition: true }
    expect(decideNotice(refused, second)).toMatchObject({ mayHaveArrived: true })
  })

  it('is given up after three days, and not before', () => {
    const { reason } = refused
    const at = (ageMs: number) => decideNotice(refused, { ...first, tries: 80, ageMs })
    expect(at(72 * HOUR_MS - 1).kind).toBe('postpone')
    expect(at(72 * HOUR_MS)).toEqual({ kind: 'give_up', reason })
  })

  it('is not given up before its tenth try, however old it is: for days nobody may have been there to try', () => {
    const at = (tries: number) => decideNotice(refused, { ...first, tries, ageMs: 100 * HOUR_MS })
    expect(at(9).kind).toBe('postpone')
    expect(at(10).kind).toBe('give_up')
  })

  it('that reached some of its recipients is tried again for the others, and is no repetition to them', () => {
    const remaining = ['duty@example.com']
    const outcome = { kind: 'sent_in_part' as const, remaining, reason: 'Greylisted.' }
    const decision = decideNotice(outcome, first)
    expect(decision).toMatchObject({ kind: 'postpone', remaining, mayHaveArrived: false })
  })

  it('to one who wants nothing any more is given up at once', () => {
    const reason = 'It answered with status 410.'
    expect(decideNotice({ kind: 'gone', reason }, first)).toEqual({ kind: 'give_up', reason })
  })
})
