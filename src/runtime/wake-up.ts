/** A wait that somebody else can cut short. A wake-up that comes while nobody waits is kept for the next wait. */
import type { Clock } from './clock.ts'

export class WakeUp {
  #isWoken = false
  #waiting: AbortController | null = null

  wake(): void {
    this.#isWoken = true
    this.#waiting?.abort()
  }

  /** True: it was woken. False: nothing happened for so long. */
  async wait(clock: Clock, forMs: number): Promise<boolean> {
    const waiting = new AbortController()
    this.#waiting = waiting
    try {
      if (!this.#isWoken) {
        await clock.sleep(forMs, waiting.signal)
      }
    } catch (error) {
      if (!waiting.signal.aborted) {
        throw error
      }
    } finally {
      this.#waiting = null
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    return isWoken
  }
}
