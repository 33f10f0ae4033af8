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
import { progressFromMessage, type RunProgress } from '../domain/progress.ts'
import { isAfter, isFinal } from '../domain/run.ts'
import type { Clock } from '../runtime/clock.ts'
import { WakeUp } from '../runtime/wake-up.ts'

export type RunEvent =
  | { readonly kind: 'progress'; readonly progress: RunProgress }
  | { readonly kind: 'keepAlive' }

export interface FollowOptions {
  readonly runId: string
  readonly bus: Bus
  readonly clock: Clock
  /** How long the stream may be idle. */
  readonly keepAliveMs: number
  /** Reads where the run stands. Its error ends the stream. */
  readSnapshot(): Promise<RunProgress>
  /** Throws when the one who listens may not any more. Asked while the stream is idle. */
  assertAllowed(): Promise<void>
}

export function followRun(options: FollowOptions): AsyncIterableIterator<RunEvent> {
  return new Repeater<RunEvent>((push, stop) => follow(options, push, stop))
}

async function follow(options: FollowOptions, push: Push<RunEvent>, stop: Stop): Promise<void> {
  const { bus, runId } = options
  const newest = new NewestProgress()
  let hasLeft = false
  void stop.then(() => {
    hasLeft = true
    newest.wake()
  })
  const stopListening = await bus.subscribe(runChannel(runId), (message) =>
    newest.offer(progressFromMessage(message), runId),
  )
  const forgetGaps = bus.onGap(() => newest.requireSnapshot())
  try {
    newest.requireSnapshot()
    while (!hasLeft) {
      const event = await nextEvent(options, newest)
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

/** Null: something happened that is to be looked at again. */
async function nextEvent(options: FollowOptions, newest: NewestProgress): Promise<RunEvent | null> {
  const { runId, clock, keepAliveMs } = options
  if (newest.takeSnapshotRequirement()) {
    newest.offer(await options.readSnapshot(), runId)
  }
  const progress = newest.take()
  if (progress) {
    return { kind: 'progress', progress }
  }
  if (await newest.wait(clock, keepAliveMs)) {
    return null
  }
  await options.assertAllowed()
  newest.offer(await options.readSnapshot(), runId)
  const missed = newest.take()
  return missed ? { kind: 'progress', progress: missed } : { kind: 'keepAlive' }
}

/** Holds the newest progress that was not yet passed on. */
class NewestProgress {
  #seen: RunProgress | null = null
  #pending: RunProgress | null = null
  #needsSnapshot = false
  readonly #wakeUp = new WakeUp()

  /** Drops what is not of the run, late, or doubled. A final state is never late: it does not change any more. */
  offer(progress: RunProgress | null, runId: string): void {
    if (progress === null || progress.runId !== runId) {
      return
    }
    const seen = this.#seen
    const isNews =
      seen === null ||
      (!isFinal(seen.status) &&
        (isFinal(progress.status) || isAfter(progress.sequence, seen.sequence)))
    if (isNews) {
      this.#seen = progress
      this.#pending = progress
      this.wake()
    }
  }

  take(): RunProgress | null {
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

  wake(): void {
    this.#wakeUp.wake()
  }

  /** True: it was woken. False: nothing happened for so long. */
  wait(clock: Clock, forMs: number): Promise<boolean> {
    return this.#wakeUp.wait(clock, forMs)
  }
}
