/**
 * The limiter of a process that is alone: the embedded default, and what a process counts by while Redis is out of reach.
 *
 * Invariant: the same answers as Redis would give (test/contract/limiter.test.ts runs on both).
 */
import { assert } from '../../runtime/assert.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  CIRCUIT_LIFE_MS,
  DEAD_CALLS_IN_A_ROW,
  type LimitedBucket,
  type LimitedToll,
  type Limiter,
  MAX_BLOCK_MS,
  type Passage,
  PROBE_INTERVAL_MS,
} from '../limiter.ts'

interface Level {
  readonly tokens: number
  readonly atMs: number
  readonly blockedUntilMs: number
  /** From then on it is full and unblocked, which is what one counts as that is not there. */
  readonly fullAtMs: number
}

interface Circuit {
  readonly deadInARow: number
  readonly probeAtMs: number
  readonly forgottenAtMs: number
}

type Hold = Pick<Extract<Passage, { kind: 'wait' }>, 'waitMs' | 'held'>

/** Of each kind. Then those that mean nothing any more are forgotten, and if there are none, the oldest one. */
const MAX_KEPT = 10_000

export function createMemoryLimiter(clock: Clock): Limiter {
  const levels = new Map<string, Level>()
  const circuits = new Map<string, Circuit>()

  const findLevel = ({ key, capacity, refillPerSecond }: LimitedBucket) => {
    assert(capacity > 0 && refillPerSecond > 0, 'A bucket holds something and is filled again.')
    const kept = levels.get(key)
    const nowMs = clock.monotonicMs()
    const refilled = kept ? kept.tokens + ((nowMs - kept.atMs) * refillPerSecond) / 1000 : capacity
    return {
      tokens: Math.min(capacity, refilled),
      blockedUntilMs: kept?.blockedUntilMs ?? 0,
    }
  }
  const keepLevel = (bucket: LimitedBucket, tokens: number, blockedUntilMs: number) => {
    const atMs = clock.monotonicMs()
    const fullAtMs = atMs + ((bucket.capacity - tokens) / bucket.refillPerSecond) * 1000
    makeRoom(levels, (level) => level.fullAtMs <= atMs && level.blockedUntilMs <= atMs)
    levels.set(bucket.key, { tokens, atMs, blockedUntilMs, fullAtMs })
  }
  const findCircuit = (host: string): Circuit | null => {
    const circuit = circuits.get(host)
    return circuit && circuit.forgottenAtMs > clock.monotonicMs() ? circuit : null
  }
  const keepCircuit = (host: string, deadInARow: number, probeAtMs: number) => {
    const nowMs = clock.monotonicMs()
    makeRoom(circuits, (circuit) => circuit.forgottenAtMs <= nowMs)
    circuits.set(host, { deadInARow, probeAtMs, forgottenAtMs: nowMs + CIRCUIT_LIFE_MS })
  }
  /** What the toll waits for; null: nothing. */
  const findHold = ({ bucket, tokens }: LimitedToll): Hold | null => {
    const level = findLevel(bucket)
    const blockedMs = level.blockedUntilMs - clock.monotonicMs()
    if (blockedMs > 0) {
      return { waitMs: blockedMs, held: 'blocked' }
    }
    const missing = Math.min(tokens, bucket.capacity) - level.tokens
    return missing > 0 ? { waitMs: (missing / bucket.refillPerSecond) * 1000, held: 'short' } : null
  }

  const pass = (host: string, tolls: readonly LimitedToll[]): Passage => {
    const nowMs = clock.monotonicMs()
    const circuit = findCircuit(host)
    const isOpen = circuit !== null && circuit.deadInARow >= DEAD_CALLS_IN_A_ROW
    const dead: Hold | null =
      isOpen && circuit.probeAtMs > nowMs
        ? { waitMs: circuit.probeAtMs - nowMs, held: 'dead' }
        : null
    const holds = [dead, ...tolls.map(findHold)].filter((hold) => hold !== null)
    const [longest] = holds.sort((one, two) => two.waitMs - one.waitMs)
    if (longest) {
      return { ...longest, kind: 'wait', waitMs: Math.max(1, Math.ceil(longest.waitMs)) }
    }
    for (const { bucket, tokens } of tolls) {
      if (tokens > 0) {
        keepLevel(bucket, findLevel(bucket).tokens - Math.min(tokens, bucket.capacity), 0)
      }
    }
    if (isOpen) {
      keepCircuit(host, circuit.deadInARow, nowMs + PROBE_INTERVAL_MS)
    }
    return { kind: 'go', isSuspect: circuit !== null }
  }
  return {
    pass: (host, tolls) => Promise.resolve(pass(host, tolls)),
    lower: (bucket, available) => {
      const { tokens, blockedUntilMs } = findLevel(bucket)
      if (available < tokens) {
        keepLevel(bucket, Math.max(0, available), blockedUntilMs)
      }
      return Promise.resolve()
    },
    block: (bucket, forMs) => {
      const { tokens, blockedUntilMs } = findLevel(bucket)
      const untilMs = clock.monotonicMs() + Math.min(forMs, MAX_BLOCK_MS)
      keepLevel(bucket, tokens, Math.max(blockedUntilMs, untilMs))
      return Promise.resolve()
    },
    note: (host, went) => {
      if (went === 'answered') {
        circuits.delete(host)
      } else {
        const circuit = findCircuit(host)
        const deadInARow = (circuit?.deadInARow ?? 0) + 1
        const opens = deadInARow === DEAD_CALLS_IN_A_ROW
        const probeAtMs = opens ? clock.monotonicMs() + PROBE_INTERVAL_MS : circuit?.probeAtMs
        keepCircuit(host, deadInARow, probeAtMs ?? 0)
      }
      return Promise.resolve()
    },
  }
}

function makeRoom<Kept>(kept: Map<string, Kept>, isOver: (one: Kept) => boolean): void {
  if (kept.size < MAX_KEPT) {
    return
  }
  for (const [key, one] of kept) {
    if (isOver(one)) {
      kept.delete(key)
    }
  }
  const [oldest] = kept.keys()
  if (kept.size >= MAX_KEPT && oldest !== undefined) {
    kept.delete(oldest)
  }
}
