/** Chance with a seed: the same seed makes the same files, syncs and plans. */

export interface Chance {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number
  isTrue(probability: number): boolean
  pick<T>(choices: readonly [T, ...T[]]): T
  /** A chance of its own, so that what draws from it does not disturb the others. */
  fork(): Chance
}

/** mulberry32: small, fast, and good enough to choose where to kill. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    whole,
    isTrue: (probability) => next() < probability,
    pick: (choices) => choices[whole(0, choices.length - 1)] ?? choices[0],
    fork: () => createChance(Math.floor(next() * 4_294_967_296)),
  }
}
