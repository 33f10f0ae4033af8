/**
 * Holds the lease of one attempt: takes it, renews it, tells whether it may still be trusted.
 *
 * Invariant: `assertTrusted` answers from this process's own monotonic clock, so it can be asked
 * immediately before each request is written; once trust has ended it never comes back (I1).
 */
import { CoordinationUnavailableError, type Leases } from '../coordination/lease.ts'
import { failure } from '../domain/failure.ts'
import {
  decideHeldLease,
  formatLeaseToken,
  type LeaseToken,
  leaseName,
  trustEndsAtMs,
} from '../domain/lease.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { PeriodicService } from '../runtime/service.ts'
import { failAttempt } from './attempt-stop.ts'

export interface LeaseKeeperOptions {
  readonly leases: Leases
  readonly clock: Clock
  readonly logger: Logger
  readonly syncId: string
  readonly token: LeaseToken
  readonly lifeMs: number
  readonly renewalMs: number
  readonly beatTrustMs: number
  /** When the worker's last acknowledged beat was sent, in monotonic milliseconds. */
  beatSentAtMs(): number
  /** How often the worker's trust has ended so far. */
  beatGaps(): number
}

/** Tries to take a lease that changes hands at the same moment. */
const MAX_TAKE_TRIES = 3

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #name: string
  readonly #token: string
  readonly #renewals: PeriodicService
  readonly #gapsAtStart: number
  #sentAtMs = Number.NEGATIVE_INFINITY
  #isLost = false

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#gapsAtStart = options.beatGaps()
    this.#name = leaseName(options.syncId)
    this.#token = formatLeaseToken(options.token)
    this.#renewals = new PeriodicService({
      name: 'lease-renewal',
      intervalMs: options.renewalMs,
      clock: options.clock,
      logger: options.logger,
      round: () => this.#renew(),
    })
  }

  /** Throws an attempt's stop: `lease_conflict` when another run holds it, `lease_unavailable` when Redis is out of reach. */
  async take(): Promise<void> {
    const { leases, clock, lifeMs, token } = this.#options
    for (let tries = 0; tries < MAX_TAKE_TRIES; tries += 1) {
      const sentAtMs = clock.monotonicMs()
      const taken = await leases.take(this.#name, this.#token, lifeMs)
      if (taken.kind === 'taken' || (await this.#replace(taken.heldBy, token))) {
        this.#sentAtMs = sentAtMs
        this.#renewals.start()
        return
      }
    }
    throw failAttempt(failure('lease_unavailable', { detail: 'The lease kept changing hands.' }))
  }

  /** Throws `lease_lost` when this attempt may not write any more. No I/O. */
  assertTrusted(): void {
    const { clock, lifeMs, beatTrustMs } = this.#options
    const endsAtMs = trustEndsAtMs({
      leaseSentAtMs: this.#sentAtMs,
      leaseLifeMs: lifeMs,
      beatSentAtMs: this.#options.beatSentAtMs(),
      beatTrustMs,
    })
    const hadGap = this.#options.beatGaps() !== this.#gapsAtStart
    if (this.#isLost || hadGap || clock.monotonicMs() >= endsAtMs) {
      this.#isLost = true
      throw failAttempt(failure('lease_lost'))
    }
  }

  /** Asks Redis whether the lease is still ours. Throws `lease_lost`, or when Redis is out of reach. */
  async verify(): Promise<void> {
    this.assertTrusted()
    if ((await this.#options.leases.findHolder(this.#name)) !== this.#token) {
      this.#isLost = true
      throw failAttempt(failure('lease_lost'))
    }
  }

  /** Stops renewing and gives the lease back, if it is still ours. */
  async release(): Promise<void> {
    await this.#renewals.stop()
    try {
      await this.#options.leases.release(this.#name, this.#token)
    } catch (error) {
      if (!(error instanceof CoordinationUnavailableError)) {
        throw error
      }
      // It runs out by itself, and the next run's higher epoch may replace it at once.
      this.#options.logger.warn('lease.not_released', { syncId: this.#options.syncId }, error)
    }
  }

  async #replace(heldBy: string, token: LeaseToken): Promise<boolean> {
    const decision = decideHeldLease(heldBy, token)
    if (decision.kind === 'conflict') {
      throw failAttempt(failure('lease_conflict'))
    }
    const { leases, lifeMs } = this.#options
    return await leases.replace(this.#name, decision.heldBy, this.#token, lifeMs)
  }

  async #renew(): Promise<void> {
    const { clock, leases, lifeMs } = this.#options
    const sentAtMs = clock.monotonicMs()
    const isRenewed = await leases.renew(this.#name, this.#token, lifeMs)
    if (isRenewed && clock.monotonicMs() < this.#sentAtMs + lifeMs) {
      this.#sentAtMs = sentAtMs
    } else {
      this.#isLost = true
    }
  }
}
