/**
 * A clock that only a test moves: trust, silence and waits are tested at their exact millisecond, and
 * nothing is waited for.
 */
import type { Clock } from '../../src/runtime/clock.ts'
import { createSignal, type Signal } from './signal.ts'

export interface HandClock extends Clock {
  /** Moves the time on and wakes who has slept long enough. */
  advance(ms: number): void
  /** Resolves when so many sleep: whoever was woken has done its work. */
  asleep(count?: number): Promise<void>
}

interface Sleeper {
  readonly endsAtMs: number
  wake(): void
}

const BEGINNING = Date.UTC(2026, 0, 1)

export function createHandClock(): HandClock {
  let nowMs = 0
  let sleepers: Sleeper[] = []
  let waiting: { readonly count: number; readonly signal: Signal }[] = []

  const add = (sleeper: Sleeper) => {
    sleepers.push(sleeper)
    const isMet = ({ count }: { count: number }) => sleepers.length >= count
    for (const { signal } of waiting.filter(isMet)) {
      signal.reach()
    }
    waiting = waiting.filter((one) => !isMet(one))
  }
  const remove = (sleeper: Sleeper) => {
    sleepers = sleepers.filter((one) => one !== sleeper)
  }
  return {
    now: () => new Date(BEGINNING + nowMs),
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason)
          return
        }
        const stop = () => {
          remove(sleeper)
          reject(signal?.reason)
        }
        const wake = () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        }
        const sleeper = { endsAtMs: nowMs + ms, wake }
        signal?.addEventListener('abort', stop)
        add(sleeper)
      }),
    deadline: (ms) => {
      const controller = new AbortController()
      const late = new DOMException('The operation timed out.', 'TimeoutError')
      add({ endsAtMs: nowMs + ms, wake: () => controller.abort(late) })
      return controller.signal
    },
    advance: (ms) => {
      nowMs += ms
      const due = sleepers.filter((sleeper) => sleeper.endsAtMs <= nowMs)
      sleepers = sleepers.filter((sleeper) => sleeper.endsAtMs > nowMs)
      for (const sleeper of due) {
        sleeper.wake()
      }
    },
    asleep: async (count = 1) => {
      if (sleepers.length < count) {
        const signal = createSignal()
        waiting.push({ count, signal })
        await signal.reached
      }
    },
  }
}
