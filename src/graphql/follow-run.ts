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

/** Where a run stands, and the word on it where it has gone quiet. */
export interface ToldProgress {
  readonly progress: RunProgress
  readonly note: string | null
}

export type RunEvent =
  | (ToldProgress & { readonly kind: 'progress' })
  | { readonly kind: 'keepAlive' }

export interface FollowOptions {
  readonly runId: string
  readonly bus: Bus
  readonly clock: Clock
  /** How long the stream may be idle. */
  readonly keepAliveMs: number
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
  const newest = new NewestProgress()
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
  const stopListening = await bus.subscribe(runChannel(runId), (message) =>
    newest.offer(toldNow(progressFromMessage(message)), runId),
  )
  const forgetGaps = bus.onGap(() => newest.requireSnapshot())
  try {
    newest.requireSnapshot()
    while (!hasLeft) {
      const event = await nextEvent(options, newest)
      await assertAllowed()
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
  const told = newest.take()
  if (told) {
    return { kind: 'progress', ...told }
  }
  if (await newest.wait(clock, keepAliveMs)) {
    return null
  }
  newest.offer(await options.readSnapshot(), runId)
  const missed = newest.take()
  return missed ? { kind: 'progress', ...missed } : { kind: 'keepAlive' }
}

/** Who reports progress this moment has not gone quiet. */
function toldNow(progress: RunProgress | null): ToldProgress | null {
  return progress && { progress, note: null }
}

/** Holds the newest progress that was not yet passed on. */
class NewestProgress {
  #seen: ToldProgress | null = null
  #pending: ToldProgress | null = null
  #needsSnapshot = false
  readonly #wakeUp = new WakeUp()

  /** Drops what is not of the run, late, or doubled. A final state is never late: it does not change any more. */
  offer(told: ToldProgress | null, runId: string): void {
    if (told === null || told.progress.runId !== runId) {
      return
    }
    if (this.#seen === null || isNews(told, this.#seen)) {
      this.#seen = told
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

  wake(): void {
    this.#wakeUp.wake()
  }

  /** True: it was woken. False: nothing happened for so long. */
  wait(clock: Clock, forMs: number): Promise<boolean> {
    return this.#wakeUp.wait(clock, forMs)
  }
}

/** Also that nothing has come for too long. */
function isNews(told: ToldProgress, seen: ToldProgress): boolean {
  if (isFinal(seen.progress.status)) {
    return false
  }
  const hasGoneQuiet = told.note !== null && seen.note === null
  return (
    isFinal(told.progress.status) ||
    isAfter(told.progress.sequence, seen.progress.sequence) ||
    (hasGoneQuiet && !isAfter(seen.progress.sequence, told.progress.sequence))
  )
}
