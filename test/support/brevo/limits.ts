/** How much Brevo takes: contacts by the second and the hour, everything else by the hour, each counted apart. */
export interface BrevoAllowance {
  readonly limit: number
  readonly remaining: number
  readonly resetS: number
}

interface Window {
  readonly limit: number
  readonly lengthMs: number
  n: number
  used: number
}

export class BrevoLimits {
  /** False: everything is let through. */
  isOn = false
  /** False: nothing is said of what is left, as on some endpoints. */
  hasHeaders = true
  /** The unit of `x-sib-ratelimit-reset` is not documented. */
  resetUnit: 's' | 'ms' = 's'
  readonly #contacts: readonly Window[]
  readonly #others: readonly Window[]
  readonly #nowMs: () => number
  #advancedMs = 0

  /** `nowMs` not given: the clock stands still until it is advanced. */
  constructor(nowMs: () => number = () => 0) {
    this.#nowMs = nowMs
    this.#contacts = [windowOf(10, 1_000), windowOf(36_000, 3_600_000)]
    this.#others = [windowOf(100, 3_600_000)]
  }

  advance(ms: number): void {
    this.#advancedMs += ms
  }

  /** Counts one request. `isRefused`: it was one too many. */
  take(path: string): BrevoAllowance & { readonly isRefused: boolean } {
    const nowMs = this.#nowMs() + this.#advancedMs
    const windows = path.startsWith('/contacts') ? this.#contacts : this.#others
    for (const window of windows) {
      const n = Math.floor(nowMs / window.lengthMs)
      if (n !== window.n) {
        window.n = n
        window.used = 0
      }
    }
    const full = windows.find(({ used, limit }) => used >= limit)
    const told = full ?? windows[0] ?? windowOf(1, 1)
    if (!full) {
      for (const window of windows) {
        window.used += 1
      }
    }
    const resetMs = told.lengthMs - (nowMs % told.lengthMs)
    return {
      limit: told.limit,
      remaining: told.limit - told.used,
      resetS: this.resetUnit === 's' ? Math.ceil(resetMs / 1_000) : resetMs,
      isRefused: full !== undefined && this.isOn,
    }
  }

  headersOf({ limit, remaining, resetS }: BrevoAllowance): Readonly<Record<string, string>> {
    return this.hasHeaders && this.isOn
      ? {
          'x-sib-ratelimit-limit': String(limit),
          'x-sib-ratelimit-remaining': String(remaining),
          'x-sib-ratelimit-reset': String(resetS),
        }
      : {}
  }
}

function windowOf(limit: number, lengthMs: number): Window {
  return { limit, lengthMs, n: 0, used: 0 }
}
