import { describe, expect, it } from 'vitest'
import { decideAfterInterruption, MAX_FREE_INTERRUPTIONS } from '../../src/domain/retry.ts'

const POLICY = { firstBackoffMs: 60_000, backoffFactor: 2 }

describe('an attempt that lost its database', () => {
  it('is followed at once the first time, and then after growing waits, until it counts', () => {
    const decisions = Array.from({ length: MAX_FREE_INTERRUPTIONS + 2 }, (_, inARow) =>
      decideAfterInterruption(inARow, POLICY),
    )
    expect(decisions).toEqual([
      { verb: 'release', delayMs: 0 },
      { verb: 'release', delayMs: 60_000 },
      { verb: 'release', delayMs: 120_000 },
      { verb: 'release', delayMs: 240_000 },
      { verb: 'release', delayMs: 480_000 },
      { verb: 'count' },
      { verb: 'count' },
    ])
  })
})
