/** Figures of a bench: one JSON line each, and whether they reach their bar. */

export interface Figure {
  readonly bench: string
  readonly figure: string
  readonly value: number
  readonly unit: string
  /** The least (or, for memory, the most) that is acceptable; left out for what is only told. */
  readonly atLeast?: number
  readonly atMost?: number
}

/** Prints the figure; false when it misses its bar. */
export function report(figure: Figure): boolean {
  const isReached =
    (figure.atLeast === undefined || figure.value >= figure.atLeast) &&
    (figure.atMost === undefined || figure.value <= figure.atMost)
  const value = Number(figure.value.toPrecision(4))
  console.log(JSON.stringify({ ...figure, value, isReached }))
  return isReached
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/** `share`: such as 0.99. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN
}
