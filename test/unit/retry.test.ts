import { describe, expect, it } from 'vitest'
import { ConnectorError } from '../../src/connectors/connector.ts'
import {
  decideAfterFailure,
  decideAfterInterruption,
  decideCallWait,
  MAX_CALL_TRIES,
  MAX_FREE_INTERRUPTIONS,
  MAX_WAIT_INSIDE_ATTEMPT_MS,
} from '../../src/domain/retry.ts'
import { stopCauseOf } from '../../src/engine/attempt-stop.ts'
import { drawChance, systemRandom } from '../../src/runtime/random.ts'

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

describe('a wait that the other system named', () => {
  const CHANCES = Array.from({ length: 500 }, () => drawChance(systemRandom))

  it.each([40, 2_000, MAX_WAIT_INSIDE_ATTEMPT_MS])(
    'of %i ms is never cut short, and not over for everybody in the same millisecond',
    (askedMs) => {
      const waits = CHANCES.map((chance) => decideCallWait(1, askedMs, chance) ?? 0)
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(askedMs)
      expect(Math.max(...waits)).toBeLessThanOrEqual(askedMs + Math.min(askedMs / 4, 5_000))
      const milliseconds = new Set(waits.map(Math.floor))
      expect(milliseconds.size).toBeGreaterThan(Math.min(askedMs / 8, 200))
    },
  )

  it('ends the attempt where it is longer than what is sat out, or after the last try', () => {
    expect(decideCallWait(1, MAX_WAIT_INSIDE_ATTEMPT_MS + 1, 0.5)).toBeNull()
    expect(decideCallWait(MAX_CALL_TRIES, 10, 0.5)).toBeNull()
  })

  it('counts for the next attempt where it is longer than the backoff, and is spread there, too', () => {
    const decide = (retryAfterMs: number | null, chance: number) =>
      decideAfterFailure(
        {
          ...{ code: 'provider_rate_limited', attemptsSpent: 0, attemptAllowance: 5 },
          ...{ retryAfterMs, chance },
        },
        POLICY,
      )
    expect(decide(null, 1)).toEqual({ verb: 'postpone', delayMs: 60_000 })
    expect(decide(600_000, 0)).toEqual({ verb: 'postpone', delayMs: 600_000 })
    expect(decide(600_000, 1)).toEqual({ verb: 'postpone', delayMs: 605_000 })
  })

  it('is kept of what a connector throws', () => {
    const error = new ConnectorError('provider_rate_limited', 'Slower.', { retryAfterMs: 90_000 })
    expect(stopCauseOf(error, 'reading')).toMatchObject({ kind: 'failed', retryAfterMs: 90_000 })
  })
})

describe('a wait that nobody named', () => {
  it('grows with the tries and is spread over its second half', () => {
    expect([1, 2, 3].map((tries) => decideCallWait(tries, null, 0))).toEqual([250, 500, 1_000])
    expect([1, 2, 3].map((tries) => decideCallWait(tries, null, 1))).toEqual([500, 1_000, 2_000])
  })
})
