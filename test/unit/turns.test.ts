/** How long one call waits for its turn, by a clock that only the test moves. */
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/connectors/call-gate.ts'
import type { DestinationWriter } from '../../src/connectors/destination.ts'
import { AttemptStop } from '../../src/engine/attempt-stop.ts'
import { waitForTurn } from '../../src/engine/turns.ts'
import { createHandClock } from '../support/hand-clock.ts'

type Wait = Extract<Turn, { kind: 'wait' }>

/** Waits again and again as long as it is let. Returns how long that was, and what ended it. */
async function waitOn({ waitMs, failure }: Pick<Wait, 'waitMs' | 'failure'>) {
  const clock = createHandClock()
  const { signal } = new AbortController()
  const takeTurn = () =>
    Promise.resolve({ kind: 'wait', waitMs, failure, reason: 'Not yet.' } as const)
  const writer = { takeTurn } as unknown as DestinationWriter
  let stop: unknown = null
  const waiting = waitForTurn({ writer, clock, signal }, 1).catch((error: unknown) => {
    stop = error
  })
  while (stop === null) {
    const asked = await Promise.race([waiting, clock.asleep().then(() => 'asleep')])
    if (asked === 'asleep') {
      clock.advance(Math.min(waitMs, failure === 'provider_unavailable' ? 5_000 : waitMs))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { waitedMs: clock.monotonicMs(), stop }
}

describe('the turn of one call', () => {
  it.each([
    ['provider_rate_limited', 60_001, 0],
    ['provider_rate_limited', 60_000, 600_000],
    ['provider_rate_limited', 7_000, 595_000],
    ['provider_unavailable', 60_001, 0],
    ['provider_unavailable', 60_000, 90_000],
    ['provider_unavailable', 4_000, 88_000],
  ] as const)(
    'with %s and waits of %i ms is waited for for %i ms',
    async (failure, waitMs, expectedMs) => {
      const { waitedMs, stop } = await waitOn({ failure, waitMs })
      expect(waitedMs).toBe(expectedMs)
      expect(stop).toBeInstanceOf(AttemptStop)
      expect((stop as AttemptStop).stop).toMatchObject({
        kind: 'failed',
        failure: { code: failure, detail: 'Not yet.' },
        retryAfterMs: waitMs,
      })
    },
  )
})
