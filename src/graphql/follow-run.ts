/**
 * A run's progress as a stream: a snapshot, then what changes, then one terminal event and the end.
 *
 * Invariants: it listens before it reads the snapshot, so that nothing falls in between; events go
 * forwards only; a client that is slow gets the newest event, not a queue of old ones; whoever leaves
 * is forgotten at once. The bus carries hints: after a gap, and whenever it was quiet for a while, the
 * database is asked, so that a lost terminal event is noticed.
 */
import { type Push, Repeater, type Stop } from '@repeaterjs/repeater'
import { type Bus, runChannel } from '../coordination/bus.ts'
import { progressFromMessage } from '../domain/progress.ts'
import { isFinal, type Sequence } from '../domain/run.ts'
import type { Clock } from '../runtime/clock.ts'
import { WakeUp } from '../runtime/wake-up.ts'
import type { Audience, Sharing } from './sharing.ts'
import {
  isNews,
  type KnownProgress,
  knownFrom,
  type ToldProgress,
  toldNow,
} from './told-progress.ts'

export type RunEvent = { readonly audience: Audience; readonly looks: number } & (
  | (ToldProgress & { readonly kind: 'progress' })
  | { readonly kind: 'keepAlive' }
)

export interface FollowOptions {
  readonly runId: string
  readonly bus: Bus
  readonly clock: Clock
  /** How long the stream may be idle. */
  readonly keepAliveMs: number
  /** What is not newer is not told, but for the end; null: everything is. */
  readonly after: Sequence | null
  /** Null: one client listens. */
  readonly sharing: Sharing | null
  /** Reads where the run stands. Its error ends the stream. */
  readSnapshot(): Promise<ToldProgress>
  /** Throws when the one who listens may not any more. Asked as often as an idle stream gets a keep-alive, also of a busy one. */
  assertAllowed(): Promise<void>
}

export function followRun(options: FollowOptions): AsyncIterableIterator<RunEvent> {
  return new Repeater<RunEvent>((push, stop) => follow(options, push, stop))
}

async function follow(options: FollowOptions, push: Push<RunEvent>, stop: Stop): Promise<void> {
  const { bus, runId } = options
  const newest = new NewestProgress(options.after)
  let allowedAtMs = options.clock.monotonicMs()
  const assertAllowed = async () => {
    const nowMs = options.clock.monotonicMs()
    if (nowMs - allowedAtMs >= options.keepAliveMs) {
      await options.assertAllowed()
      allowedAtMs = nowMs
    }
  }
  let hasLeft = false
  void stop.then(() => {
    hasLeft = true
    newest.wake()
  })
  const stopListening = await bus.subscribe(runChannel(runId), (message) => {
    const progress = progressFromMessage(message)
    newest.offer(progress && toldNow(progress), runId)
  })
  options.sharing?.onAsked(() => newest.requireSnapshot())
  const forgetGaps = bus.onGap(() => newest.requireSnapshot())
  try {
    newest.requireSnapshot()
    let toldAtMs = options.clock.monotonicMs()
    while (!hasLeft) {
      const idleMs = options.clock.monotonicMs() - toldAtMs
      const event = await nextEvent(options, newest, options.keepAliveMs - idleMs)
      await assertAllowed()
      if (event?.audience === 'everybody') {
        toldAtMs = options.clock.monotonicMs()
      }
      if (event && !hasLeft) {
        await push(event)
      }
      if (event?.kind === 'progress' && isFinal(event.progress.status)) {
        break
      }
    }
  } finally {
    forgetGaps()
    await stopListening()
    stop()
  }
}

/** Null: something happened that is to be looked at again. `idleInMs`: until everybody is owed a word. */
async function nextEvent(
  options: FollowOptions,
  newest: NewestProgress,
  idleInMs: number,
): Promise<RunEvent | null> {
  const { runId, clock, sharing } = options
  const isIdle = idleInMs <= 0
  if (newest.takeSnapshotRequirement() || isIdle) {
    const looks = sharing?.looksAsked ?? 0
    newest.offer(await options.readSnapshot(), runId)
    newest.noteLooks(looks)
  }
  const told = newest.take()
  if (told) {
    return { kind: 'progress', ...told, ...newest.takeLooks(), audience: 'everybody' }
  }
  if (isIdle) {
    return { kind: 'keepAlive', ...newest.takeLooks(), audience: 'everybody' }
  }
  if (newest.owesLooks()) {
    return { kind: 'keepAlive', ...newest.takeLooks(), audience: 'nobody' }
  }
  await newest.wait(clock, idleInMs)
  return null
}

/** Holds the newest progress that was not yet passed on. */
class NewestProgress {
  #known: KnownProgress | null
  #pending: ToldProgress | null = null
  #needsSnapshot = false
  /** Looks that were asked for before the last one; those that nobody was told of yet. */
  #looks = 0
  #owedLooks = 0
  readonly #wakeUp = new WakeUp()

  constructor(after: Sequence | null) {
    this.#known = after && { sequence: after, note: null, isFinal: false }
  }

  /** Drops what is not of the run, late, or doubled. */
  offer(told: ToldProgress | null, runId: string): void {
    if (told === null || told.progress.runId !== runId) {
      return
    }
    if (this.#known === null || isNews(told, this.#known)) {
      this.#known = knownFrom(told)
      this.#pending = told
      this.wake()
    }
  }

  take(): ToldProgress | null {
    const pending = this.#pending
    this.#pending = null
    return pending
  }

  requireSnapshot(): void {
    this.#needsSnapshot = true
    this.wake()
  }

  takeSnapshotRequirement(): boolean {
    const needsSnapshot = this.#needsSnapshot
    this.#needsSnapshot = false
    return needsSnapshot
  }

  noteLooks(looks: number): void {
    this.#owedLooks += looks - this.#looks
    this.#looks = looks
  }

  owesLooks(): boolean {
    return this.#owedLooks > 0
  }

  takeLooks(): { readonly looks: number } {
    this.#owedLooks = 0
    return { looks: this.#looks }
  }

  wake(): void {
    this.#wakeUp.wake()
  }

  /** Until it is woken, or nothing happened for so long. */
  async wait(clock: Clock, forMs: number): Promise<void> {
    await this.#wakeUp.wait(clock, forMs)
  }
}
