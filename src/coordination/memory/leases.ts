/**
 * Leases of a process that is alone: the embedded default.
 *
 * Invariant: the same answers as Redis would give (test/contract/leases.test.ts runs on both). They end
 * with the process, which is right: so did whoever held them.
 */
import type { Clock } from '../../runtime/clock.ts'
import type { Leases } from '../lease.ts'

interface HeldLease {
  readonly token: string
  readonly endsAtMs: number
}

export function createMemoryLeases(clock: Clock): Leases {
  const held = new Map<string, HeldLease>()

  const findToken = (name: string): string | null => {
    const lease = held.get(name)
    if (!lease) {
      return null
    }
    if (clock.monotonicMs() >= lease.endsAtMs) {
      held.delete(name)
      return null
    }
    return lease.token
  }
  const put = (name: string, token: string, lifeMs: number): void => {
    held.set(name, { token, endsAtMs: clock.monotonicMs() + lifeMs })
  }
  const swap = (name: string, expected: readonly (string | null)[], change: () => void) => {
    const isExpected = expected.includes(findToken(name))
    if (isExpected) {
      change()
    }
    return Promise.resolve(isExpected)
  }

  return {
    take: (name, token, lifeMs) => {
      const heldBy = findToken(name)
      if (heldBy !== null && heldBy !== token) {
        return Promise.resolve({ kind: 'held', heldBy })
      }
      put(name, token, lifeMs)
      return Promise.resolve({ kind: 'taken' })
    },
    replace: (name, heldBy, token, lifeMs) =>
      swap(name, [null, heldBy, token], () => put(name, token, lifeMs)),
    renew: (name, token, lifeMs) => swap(name, [token], () => put(name, token, lifeMs)),
    release: (name, token) => swap(name, [token], () => held.delete(name)),
    findHolder: (name) => Promise.resolve(findToken(name)),
  }
}
