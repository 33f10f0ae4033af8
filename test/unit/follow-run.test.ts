import { describe, expect, it } from 'vitest'
import { runChannel } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { progressToMessage, type RunProgress } from '../../src/domain/progress.ts'
import { followRun, type RunEvent } from '../../src/graphql/follow-run.ts'
import { Sharing } from '../../src/graphql/sharing.ts'
import type { ToldProgress } from '../../src/graphql/told-progress.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { watchBus } from '../support/watched-bus.ts'

const RUN: RunProgress = {
  runId: 'run',
  syncId: 'sync',
  workspaceId: 'workspace',
  status: 'running',
  sequence: { epoch: 1, n: 0 },
  counters: NO_COUNTS,
  totalRecords: null,
  failureCode: null,
}

const FRESH: ToldProgress = { progress: RUN, note: null }

function follow(
  readSnapshot: () => Promise<ToldProgress> = () => Promise.resolve(FRESH),
  keepAliveMs = 60_000,
) {
  const bus = watchBus(createMemoryBus(createRecordingLogger()))
  const events = followRun({
    runId: 'run',
    bus,
    clock: systemClock,
    keepAliveMs,
    after: null,
    sharing: null,
    readSnapshot,
    assertAllowed: () => Promise.resolve(),
  })
  const publish = (given: Partial<RunProgress>) =>
    bus.publish(runChannel('run'), progressToMessage({ ...RUN, ...given }))
  return { bus, events, publish }
}

/** What was published is heard in a later microtask. */
const heard = () => new Promise((resolve) => setImmediate(resolve))

function sequenceOf(result: IteratorResult<RunEvent>): number | null {
  return !result.done && result.value.kind === 'progress' ? result.value.progress.sequence.n : null
}

describe('following a run', () => {
  it('listens to nothing before somebody asks for the first event', async () => {
    const { bus, events } = follow()
    expect(bus.countListeners()).toBe(0)
    await events.return?.()
    expect(bus.countListeners()).toBe(0)
  })

  it('hears what is published while the snapshot is being read', async () => {
    let resolveSnapshot: (told: ToldProgress) => void = () => undefined
    const snapshot = new Promise<ToldProgress>((resolve) => {
      resolveSnapshot = resolve
    })
    const { bus, events, publish } = follow(() => snapshot)
    const first = events.next()
    await bus.whenListeners(2)
    await publish({ sequence: { epoch: 1, n: 5 } })
    await heard()
    resolveSnapshot(FRESH)
    expect(sequenceOf(await first)).toBe(5)
    await events.return?.()
  })

  it('keeps the newest event only for a client that is slow', async () => {
    const { events, publish } = follow()
    await events.next()
    for (let n = 1; n <= 1_000; n += 1) {
      await publish({ sequence: { epoch: 1, n } })
    }
    await heard()
    expect(sequenceOf(await events.next())).toBe(1_000)
    await events.return?.()
  })

  it('ends after one final event, also when its sequence is not a later one', async () => {
    const { bus, events, publish } = follow()
    await events.next()
    await publish({ status: 'failed', failureCode: 'lease_lost' })
    await publish({ status: 'succeeded', sequence: { epoch: 9, n: 9 } })
    await heard()
    expect(await events.next()).toMatchObject({ value: { progress: { status: 'failed' } } })
    expect((await events.next()).done).toBe(true)
    expect(bus.countListeners()).toBe(0)
  })

  it('tells once that the run has gone quiet, and with the next progress that it has not', async () => {
    let told = FRESH
    const { events, publish } = follow(() => Promise.resolve(told), 1)
    const nextOf = async (kind: RunEvent['kind']) => {
      for (;;) {
        const { value, done } = await events.next()
        if (done || value.kind === kind) {
          return value
        }
      }
    }
    expect(await nextOf('progress')).toMatchObject(FRESH)
    told = { progress: RUN, note: 'It is quiet.' }
    expect(await nextOf('progress')).toMatchObject(told)
    const after = [await events.next(), await events.next(), await events.next()]
    expect(after).toMatchObject(Array(3).fill({ value: { kind: 'keepAlive' } }))
    const sequence = { epoch: 1, n: 1 }
    told = { progress: { ...RUN, sequence }, note: null }
    await publish({ sequence })
    expect(await nextOf('progress')).toMatchObject(told)
    await events.return?.()
  })

  it('asks whether its reader may listen also while there is always something to tell', async () => {
    let n = 0
    const bus = watchBus(createMemoryBus(createRecordingLogger()))
    let isAllowed = true
    const clock = createHandClock()
    const events = followRun({
      ...{ runId: 'run', bus, clock, keepAliveMs: 1_000, after: null, sharing: null },
      readSnapshot: () => Promise.resolve(FRESH),
      assertAllowed: () =>
        isAllowed ? Promise.resolve() : Promise.reject(new Error('Not any more.')),
    })
    const tell = async () => {
      n += 1
      await bus.publish(runChannel('run'), progressToMessage({ ...RUN, sequence: { epoch: 1, n } }))
      await heard()
      return await events.next()
    }
    await events.next()
    isAllowed = false
    expect(sequenceOf(await tell())).toBe(1)
    clock.advance(1_000)
    await expect(tell()).rejects.toThrow('Not any more.')
    expect(bus.countListeners()).toBe(0)
  })

  it('gives everybody a word in time, however often somebody joins', async () => {
    const clock = createHandClock()
    const sharing = new Sharing()
    const events = followRun({
      ...{ runId: 'run', bus: createMemoryBus(createRecordingLogger()), clock, sharing },
      ...{ keepAliveMs: 1_000, after: null },
      readSnapshot: () => Promise.resolve(FRESH),
      assertAllowed: () => Promise.resolve(),
    })
    await events.next()
    const audiences: unknown[] = []
    for (let n = 0; n < 6; n += 1) {
      clock.advance(400)
      sharing.askForLook()
      audiences.push((await events.next()).value?.audience)
    }
    expect(audiences).toEqual([
      ...['nobody', 'nobody', 'everybody', 'nobody', 'nobody', 'everybody'],
    ])
    await events.return?.()
  })

  it('ends with the error of a snapshot that cannot be read, and listens no more', async () => {
    const { bus, events } = follow(() => Promise.reject(new Error('The database is away.')))
    await expect(events.next()).rejects.toThrow('The database is away.')
    expect(bus.countListeners()).toBe(0)
  })

  it('stops listening when its reader leaves while it waits', async () => {
    const { bus, events } = follow()
    await events.next()
    const waiting = events.next()
    await bus.whenListeners(2)
    await events.return?.()
    expect((await waiting).done).toBe(true)
    expect(bus.countListeners()).toBe(0)
  })
})
