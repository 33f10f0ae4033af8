/** A promise that a test resolves: what tests wait on instead of sleeping. */
export interface Signal {
  readonly reached: Promise<void>
  reach(): void
}

export function createSignal(): Signal {
  let reach: () => void = () => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  return { reached, reach: () => reach() }
}
