/** A bus whose listeners can be counted, and whose messages can be lost as an outage would lose them. */
import type { Bus } from '../../src/coordination/bus.ts'

export interface WatchedBus extends Bus {
  /** Listeners of channels and of gaps together. */
  countListeners(): number
  /** Resolves when so many listeners are there. */
  whenListeners(count: number): Promise<void>
  /** Until `recover`, what is published is lost. */
  loseMessages(): void
  /** Messages are heard again, and listeners of gaps are told. */
  recover(): void
}

export function watchBus(bus: Bus): WatchedBus {
  let listeners = 0
  let isLosing = false
  const gapListeners = new Set<() => void>()
  let waiting: { readonly count: number; resolve(): void }[] = []
  const change = (by: number) => {
    listeners += by
    const isMet = ({ count }: { readonly count: number }) => count === listeners
    for (const { resolve } of waiting.filter(isMet)) {
      resolve()
    }
    waiting = waiting.filter((wait) => !isMet(wait))
  }
  return {
    publish: (channel, message) => (isLosing ? Promise.resolve() : bus.publish(channel, message)),
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
      const forget = bus.onGap(listener)
      return () => {
        forget()
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
    recover: () => {
      isLosing = false
      for (const listener of gapListeners) {
        listener()
      }
    },
  }
}
