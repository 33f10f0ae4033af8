/** When a clock that is off is worth a line in the log. */
import { describe, expect, it } from 'vitest'
import {
  CLOCK_NOTICE_INTERVAL_MS,
  decideClockNotice,
  NOTED_CLOCK_DIFFERENCE_MS,
} from '../../src/domain/clock-difference.ts'

const exactly = (differenceMs: number) => ({ differenceMs, uncertaintyMs: 0 })
const given = (differenceMs: number) => ({ differenceMs, givenAtMs: 0 })

describe('a clock', () => {
  it.each([
    [1_000, 0, 'nothing_new'],
    [-1_000, 0, 'nothing_new'],
    [1_001, 0, 'differs'],
    [-1_001, 0, 'differs'],
    [1_500, 500, 'nothing_new'],
    [1_501, 500, 'differs'],
  ])('that is off by %i ms, give or take %i, %s', (differenceMs, uncertaintyMs, decision) => {
    expect(decideClockNotice({ differenceMs, uncertaintyMs }, null, 0)).toBe(decision)
  })

  it('that stays off is told of again when an hour has passed', () => {
    const at = (nowMs: number) => decideClockNotice(exactly(5_000), given(5_000), nowMs)
    expect(at(CLOCK_NOTICE_INTERVAL_MS - 1)).toBe('nothing_new')
    expect(at(CLOCK_NOTICE_INTERVAL_MS)).toBe('differs')
  })

  it.each([
    [1_500, 2_500, 'nothing_new'],
    [1_500, 2_501, 'differs'],
    [1_500, -1_500, 'differs'],
    [20_000, 30_000, 'nothing_new'],
    [20_000, 30_001, 'differs'],
    [20_000, 9_999, 'differs'],
  ])('that was off by %i ms and is by %i now: %s', (before, now, decision) => {
    expect(decideClockNotice(exactly(now), given(before), 1)).toBe(decision)
  })

  it('that is off by just about the bound is told of once, until it is well below it', () => {
    const last = given(NOTED_CLOCK_DIFFERENCE_MS + 1)
    for (const [differenceMs, decision] of [
      [999, 'nothing_new'],
      [1_002, 'nothing_new'],
      [501, 'nothing_new'],
      [500, 'agrees'],
      [-500, 'agrees'],
    ] as const) {
      expect(decideClockNotice(exactly(differenceMs), last, 1)).toBe(decision)
    }
    expect(decideClockNotice({ differenceMs: 0, uncertaintyMs: 501 }, last, 1)).toBe('nothing_new')
  })
})
