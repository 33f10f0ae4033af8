/** A bus whose listeners can be counted, and whose messages can be lost as an outage would lose them. */
import type { Bus } from '../../src/coordination/bus.ts'

export interface WatchedBus extends Bus {
  /** Listeners of channels and of gaps together. */
  countListeners(): number
  /** Resolves when so many listeners are there. */
  whenListeners(count: number): Promise<void>
  /** Until `recover`, what is published is lost. */
  loseMessages(): void
  /** Messages are heard again; listeners of gaps are told unless it is `silent`. */
  recover(options?: { readonly isSilent: boolean }): void
}

export function watchBus(bus: Bus): WatchedBus {
  let listeners = 0
  let isLosing = false
  const gapListeners = new Set<() => void>()
  let waiting: { readonly count: number; resolve(): void }[] = []
  const change = (by: number) => {
    listeners += by
    waiting.filter(({ count }) => count === listeners).forEach(({ resolve }) => resolve())
    waiting = waiting.filter(({ count }) => count !== listeners)
  }
  return {
    publish: (channel, message) =>
      isLosing ? Promise.resolve() : bus.publish(channel, message),
    subscribe: async (channel, listener) => {
      const unsubscribe = await bus.subscribe(channel, listener)
      change(1)
      let isActive = true
      return async () => {
        await unsubscribe()
        if (isActive) {
          isActive = false
          change(-1)
        }
      }
    },
    onGap: (listener) => {
      gapListeners.add(listener)
      change(1)
      return () => {
        if (gapListeners.delete(listener)) {
          change(-1)
        }
      }
    },
    countListeners: () => listeners,
    whenListeners: (count) =>
      listeners === count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
    loseMessages: () => {
      isLosing = true
    },
    recover: (options) => {
      isLosing = false
      if (!options?.isSilent) {
        gapListeners.forEach((listener) => listener())
      }
    },
  }
}
