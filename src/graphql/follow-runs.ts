/**
 * The runs of a workspace or a sync as a stream: those in flight, then each change of each run.
 *
 * Invariants: no change is lost and no run steps back; of a client that is slow, or many runs at once, the
 * newest state of each run is told. The bus carries hints only: one on a run that is known is passed on,
 * any other one makes the database be asked. It is asked besides after a gap, and regularly however much
 * is heard, as a hint on one run says nothing of those on others that were lost. An event carries the
 * position of a look all of whose news were told before it: whoever goes on from there misses nothing.
 */
import { type Push, Repeater, type Stop } from '@repeaterjs/repeater'
import type { Bus } from '../coordination/bus.ts'
import { progressFromMessage, type RunProgress } from '../domain/progress.ts'
import type { Clock } from '../runtime/clock.ts'
import { WakeUp } from '../runtime/wake-up.ts'
import type { Audience, Sharing } from './sharing.ts'
import type { ToldProgress } from './told-progress.ts'
import { ToldRuns } from './told-runs.ts'

export type RunsEvent = {
  /** Where the next stream may go on after this event. */
  readonly position: number
  readonly audience: Audience
  readonly looks: number
} & ((ToldProgress & { readonly kind: 'run' }) | { readonly kind: 'keepAlive' })

export interface SeenRuns {
  readonly position: number
  readonly runs: readonly ToldProgress[]
}

export interface FollowRunsOptions {
  readonly bus: Bus
  readonly clock: Clock
  /** How long the stream may be idle. */
  readonly keepAliveMs: number
  /** Carries the hints. */
  readonly channel: string
  /** What was told before; null: nothing. */
  readonly after: number | null
  /** Null: one client listens. */
  readonly sharing: Sharing | null
  /** Whether a hint is about a run that is watched. */
  isWatched(progress: RunProgress): boolean
  /** The runs in flight, and those that have ended since the position of an earlier look, or just now. Its error ends the stream. */
  look(since: number | null): Promise<SeenRuns>
  /** Throws when the one who listens may not any more. Asked as often as an idle stream gets a keep-alive. */
  assertAllowed(): Promise<void>
}

export function followRuns(options: FollowRunsOptions): AsyncIterableIterator<RunsEvent> {
  return new Repeater<RunsEvent>((push, stop) => follow(options, push, stop))
}

async function follow(
  options: FollowRunsOptions,
  push: Push<RunsEvent>,
  stop: Stop,
): Promise<void> {
  const { bus, channel, sharing } = options
  const stream = new RunsStream(options, push)
  void stop.then(() => stream.leave())
  const stopListening = await bus.subscribe(channel, (message) => stream.hear(message))
  const forgetGaps = bus.onGap(() => stream.requireLook())
  sharing?.onAsked(() => stream.requireLook())
  try {
    await stream.run()
  } finally {
    forgetGaps()
    await stopListening()
    stop()
  }
}

class RunsStream {
  readonly #options: FollowRunsOptions
  readonly #push: Push<RunsEvent>
  readonly #told = new ToldRuns()
  readonly #wakeUp = new WakeUp()
  #hasLeft = false
  #needsLook = true
  /** Of the last look; null: there was none, and nothing was told before. */
  #seenAt: number | null
  /** Of the last look all of whose news were told. */
  #position: number
  /** When it was asked although nothing called for it; such a look ends with a keep-alive for everybody. */
  #regularAtMs: number
  #allowedAtMs: number

  constructor(options: FollowRunsOptions, push: Push<RunsEvent>) {
    this.#options = options
    this.#push = push
    this.#seenAt = options.after
    this.#position = options.after ?? 0
    this.#regularAtMs = options.clock.monotonicMs()
    this.#allowedAtMs = this.#regularAtMs
  }

  hear(message: unknown): void {
    const progress = progressFromMessage(message)
    if (progress === null || !this.#options.isWatched(progress)) {
      return
    }
    if (!this.#told.hear(progress)) {
      this.#needsLook = true
    }
    this.#wakeUp.wake()
  }

  requireLook(): void {
    this.#needsLook = true
    this.#wakeUp.wake()
  }

  leave(): void {
    this.#hasLeft = true
    this.#wakeUp.wake()
  }

  async run(): Promise<void> {
    const { clock, keepAliveMs, sharing } = this.#options
    let toldLooks = -1
    while (!this.#hasLeft) {
      const nowMs = clock.monotonicMs()
      const isRegular = nowMs - this.#regularAtMs >= keepAliveMs
      const isLook = this.#needsLook || isRegular
      const looks = isLook ? (sharing?.looksAsked ?? 0) : toldLooks
      if (isRegular) {
        this.#regularAtMs = nowMs
      }
      if (isLook) {
        await this.#look()
      }
      await this.#assertAllowed()
      await this.#tellPending(Math.max(toldLooks, 0))
      if (isLook) {
        this.#position = this.#seenAt ?? 0
        await this.#tellLook({ isRegular, isAwaited: looks > toldLooks, looks })
        toldLooks = looks
      }
      if (!this.#hasLeft && !this.#needsLook && !this.#told.hasPending()) {
        const untilLookMs = this.#regularAtMs + keepAliveMs - clock.monotonicMs()
        await this.#wakeUp.wait(clock, Math.max(untilLookMs, 0))
      }
    }
  }

  async #look(): Promise<void> {
    this.#needsLook = false
    const isBeginning = this.#seenAt === null
    const { position, runs } = await this.#options.look(this.#seenAt)
    this.#seenAt = position
    if (isBeginning) {
      this.#told.begin(runs)
      // Whoever goes on from here is told what is in flight anew, and what has ended since.
      this.#position = position
    } else {
      this.#told.look(runs)
    }
  }

  async #tellPending(looks: number): Promise<void> {
    for (const runId of this.#told.pendingIds()) {
      const told = this.#told.take(runId)
      if (told) {
        const event = { kind: 'run', ...told, position: this.#position, looks } as const
        await this.#tell({ ...event, audience: 'everybody' })
      }
    }
  }

  /** The first look ends with a keep-alive, which says that those were all; and so does each regular one. */
  async #tellLook(done: {
    readonly isRegular: boolean
    readonly isAwaited: boolean
    readonly looks: number
  }): Promise<void> {
    const { isRegular, isAwaited, looks } = done
    if (isRegular || isAwaited) {
      const audience = isRegular ? 'everybody' : 'joining'
      await this.#tell({ kind: 'keepAlive', position: this.#position, audience, looks })
    }
  }

  async #tell(event: RunsEvent): Promise<void> {
    if (!this.#hasLeft) {
      await this.#push(event)
    }
  }

  async #assertAllowed(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#allowedAtMs >= this.#options.keepAliveMs) {
      await this.#options.assertAllowed()
      this.#allowedAtMs = nowMs
    }
  }
}
