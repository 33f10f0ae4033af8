/**
 * Calls of other people's systems that a person waits for: a test of a connection, a look before a publication.
 *
 * Invariants: never within a transaction; so many at once in a process and in a workspace, and no more; whoever asked
 * has an answer within the time that was given, also where a connector does not heed its signal. Such a call counts until it
 * has ended: else there would be ever more of them.
 */
import type { Clock } from '../runtime/clock.ts'
import { Busy } from './refusals.ts'

/** Of a process: calls that hang must not take everything from it. */
const MAX_AT_ONCE = 16
/** Of a workspace: it waits for its own slow systems, and not for those of others. */
const MAX_OF_WORKSPACE = 4
const MAX_WAITING = 500
/** One document may ask for many: they take no places from others. */
const MAX_WAITING_OF_WORKSPACE = 100

/** The time was over before the other system had answered. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'

  constructor(atMostMs: number) {
    super(`There was no answer within ${atMostMs / 1000} s.`)
  }
}

interface Waiter {
  readonly workspaceId: string
  resume(): void
}

export class OutsideCalls {
  readonly #clock: Clock
  #underWay: readonly string[] = []
  #waiting: readonly Waiter[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Does the work when it is its turn. Rejects with {@link OutOfTime}, with {@link Busy} where its turn does not come, or
   * with what the work throws.
   */
  async within<T>(
    given: { readonly workspaceId: string; readonly atMostMs: number },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { workspaceId, atMostMs } = given
    const [late, over] = [new AbortController(), new AbortController()]
    this.#clock.sleep(atMostMs, over.signal).then(
      () => late.abort(new OutOfTime(atMostMs)),
      () => undefined,
    )
    try {
      await this.#enter(workspaceId, late.signal)
      const working = this.#untilItEnds(workspaceId, () => {
        late.signal.throwIfAborted()
        return work(late.signal)
      })
      return await orAborted(working, late.signal)
    } finally {
      over.abort()
    }
  }

  async #enter(workspaceId: string, signal: AbortSignal): Promise<void> {
    if (this.#hasRoom(workspaceId)) {
      this.#underWay = [...this.#underWay, workspaceId]
      return
    }
    const own = this.#waiting.filter((waiter) => waiter.workspaceId === workspaceId)
    if (this.#waiting.length >= MAX_WAITING || own.length >= MAX_WAITING_OF_WORKSPACE) {
      throw new Busy(TOO_MANY)
    }
    await new Promise<void>((resolve, reject) => {
      const waiter = { workspaceId, resume: resolve }
      this.#waiting = [...this.#waiting, waiter]
      signal.addEventListener(
        'abort',
        () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiter)
          reject(new Busy(TOO_MANY))
        },
        { once: true },
      )
    })
  }

  async #untilItEnds<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      this.#leave(workspaceId)
    }
  }

  /** Lets in who has waited longest of those that there is room for. */
  #leave(workspaceId: string): void {
    const index = this.#underWay.indexOf(workspaceId)
    this.#underWay = this.#underWay.filter((_, at) => at !== index)
    const next = this.#waiting.find((waiter) => this.#hasRoom(waiter.workspaceId))
    if (next) {
      this.#waiting = this.#waiting.filter((each) => each !== next)
      this.#underWay = [...this.#underWay, next.workspaceId]
      next.resume()
    }
  }

  #hasRoom(workspaceId: string): boolean {
    const own = this.#underWay.filter((each) => each === workspaceId)
    return this.#underWay.length < MAX_AT_ONCE && own.length < MAX_OF_WORKSPACE
  }
}

const TOO_MANY =
  'Too many tools are being asked at this moment, so nothing was done: send the request again.'

/** Rejects as soon as the signal is aborted, whatever the work makes of it. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return await Promise.race([work, aborted])
}
