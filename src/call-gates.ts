/**
 * The gates that connectors are given: what the limiter of all processes says, in the connectors' words.
 *
 * Stands here because neither of the two rooms may know the other. Invariants: a gate only ever delays; it waits by
 * the clock, for a bounded time and until its signal; a bucket is its connection's, a circuit its
 * connection's with one host.
 */
import type { Bucket, CallGate, OpenGate, Turn } from './connectors/call-gate.ts'
import { ConnectorError } from './connectors/connector.ts'
import type { LimitedBucket, Limiter, Passage } from './coordination/limiter.ts'
import { spreadWait } from './domain/retry.ts'
import { assert, unreachable } from './runtime/assert.ts'
import type { Clock } from './runtime/clock.ts'
import { drawChance, type Random } from './runtime/random.ts'

export interface OpenGateOptions {
  readonly limiter: Limiter
  readonly clock: Clock
  readonly random: Random
}

export function createOpenGate({ limiter, clock, random }: OpenGateOptions): OpenGate {
  return ({ connectionId, host }) => {
    const limited = (bucket: Bucket): LimitedBucket => ({
      key: `${connectionId}:${bucket.name}`,
      capacity: bucket.capacity,
      refillPerSecond: bucket.refillPerSecond,
    })
    // Of this connection alone: whoever names a host as his own must not close it to others.
    const circuit = `${connectionId}@${host}`
    // That a call was answered says something only where one has died; else it would be told with every call.
    let isSuspect = true
    const take: CallGate['take'] = async (tolls) => {
      const names = new Set(tolls.map(({ bucket }) => bucket.name))
      assert(names.size === tolls.length, 'The tolls of a call are of different buckets.')
      const asked = tolls.map(({ bucket, tokens }) => ({ bucket: limited(bucket), tokens }))
      const passage = await limiter.pass(circuit, asked)
      isSuspect ||= passage.kind === 'wait' || passage.isSuspect
      return passage.kind === 'go' ? { kind: 'go' } : toWait(passage, host, drawChance(random))
    }
    return {
      take,
      enter: async (tolls, { signal, atMostMs }) => {
        const endsAtMs = clock.monotonicMs() + atMostMs
        for (;;) {
          signal.throwIfAborted()
          const turn = await take(tolls)
          if (turn.kind === 'go') {
            return
          }
          const { waitMs, failure, reason } = turn
          if (clock.monotonicMs() + waitMs > endsAtMs) {
            throw new ConnectorError(failure, reason, { retryAfterMs: waitMs })
          }
          await clock.sleep(waitMs, signal)
        }
      },
      // What a header says may be no number.
      correct: async (bucket, available) => {
        if (Number.isFinite(available)) {
          await limiter.lower(limited(bucket), available)
        }
      },
      block: async (bucket, forMs) => {
        if (forMs > 0) {
          await limiter.block(limited(bucket), forMs)
        }
      },
      note: async (went) => {
        if (went === 'dead' || isSuspect) {
          isSuspect = went === 'dead'
          await limiter.note(circuit, went)
        }
      },
    }
  }
}

function toWait(
  { held, waitMs }: Extract<Passage, { kind: 'wait' }>,
  host: string,
  chance: number,
): Turn {
  switch (held) {
    case 'dead':
      return {
        kind: 'wait',
        waitMs,
        failure: 'provider_unavailable',
        reason: `${host} has not answered for a while, so it is asked once a minute only, until it answers.`,
      }
    case 'blocked':
      return {
        kind: 'wait',
        // Whoever waits for the same moment must not come back in the same millisecond.
        waitMs: spreadWait(waitMs, chance),
        failure: 'provider_rate_limited',
        reason: `${host} asked for a pause, which is not over yet.`,
      }
    case 'short':
      return {
        kind: 'wait',
        waitMs,
        failure: 'provider_rate_limited',
        reason: `The calls that this connection may make to ${host} are used up for the moment.`,
      }
    default:
      return unreachable(held)
  }
}
