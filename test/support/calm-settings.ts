/**
 * Settings for tests that stop workers by hand: nobody loses trust or falls silent because the machine is slow,
 * so that what happens is what the test makes happen.
 */
import type { AttemptSettings } from '../../src/engine/attempt.ts'
import type { EngineSettings } from '../../src/engine/engine.ts'
import { BREAKER_PARTS } from './store-seed.ts'

export const CALM_SETTINGS: AttemptSettings = {
  leaseLifeMs: 120_000,
  leaseRenewalMs: 40_000,
  beatTrustMs: 59_000,
  retentionMs: 7 * 24 * 3_600_000,
  quarantineAfterRuns: 3,
  retry: { firstBackoffMs: 50, backoffFactor: 2 },
  breaker: BREAKER_PARTS.breaker,
}

/** At work on one run such an engine claims no other, nor the same one again. */
export const ONE_SLOT: EngineSettings = {
  slots: 1,
  pollMs: 50,
  beatMs: 100,
  silentAfterMs: 60_000,
  schedulerMs: 1_000,
  drainDeadlineMs: 15_000,
}
