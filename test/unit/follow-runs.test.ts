import { describe, expect, it } from 'vitest'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { NO_COUNTS } from '../../src/domain/delivery.ts'
import { progressToMessage, type RunProgress } from '../../src/domain/progress.ts'
import { isFinal, type RunStatus } from '../../src/domain/run.ts'
import { followRuns, type RunsEvent } from '../../src/graphql/follow-runs.ts'
import { Sharing } from '../../src/graphql/sharing.ts'
import { createHandClock } from '../support/hand-clock.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import { watchBus } from '../support/watched-bus.ts'

const CHANNEL = 'runs'

function run(runId: string, n: number, status: RunStatus = 'running'): RunProgress {
  const sequence = { epoch: 1, n }
  const ids = { runId, syncId: `sync of ${runId}`, workspaceId: 'workspace' }
  return { ...ids, status, sequence, counters: NO_COUNTS, totalRecords: null, failureCode: null }
}

/** What was published is heard in a later microtask. */
const heard = () => new Promise((resolve) => setImmediate(resolve))

/** A stream over runs that stand as the test says; a position is the number of changes so far. */
function follow(given: { after?: number; sharing?: Sharing } = {}) {
  const bus = watchBus(createMemoryBus(createRecordingLogger()))
  const clock = createHandClock()
  const changes: RunProgress[] = []
  let looks = 0
  const events = followRuns({
    ...{ bus, clock, channel: CHANNEL, keepAliveMs: 1_000 },
    after: given.after ?? null,
    sharing: given.sharing ?? null,
    isWatched: ({ workspaceId }) => workspaceId === 'workspace',
    look: (since) => {
      looks += 1
      const newest = new Map(changes.map((progress, at) => [progress.runId, { progress, at }]))
      const isShown = ({ progress, at }: { progress: RunProgress; at: number }) =>
        !isFinal(progress.status) || at >= (since ?? changes.length)
      const runs = [...newest.values()].filter(isShown)
      return Promise.resolve({
        position: changes.length,
        runs: runs.map(({ progress }) => ({ progress, note: null })),
      })
    },
    assertAllowed: () => Promise.resolve(),
  })
  return {
    bus,
    clock,
    events,
    countLooks: () => looks,
    commit: (progress: RunProgress) => changes.push(progress),
    hint: async (progress: RunProgress) => {
      await bus.publish(CHANNEL, progressToMessage(progress))
      await heard()
    },
    next: async () => tell(await events.next()),
  }
}

function tell({ value, done }: IteratorResult<RunsEvent>): string {
  if (done) {
    return 'the end'
  }
  const { position, audience } = value
  return value.kind === 'run'
    ? `${value.progress.runId} ${value.progress.sequence.n} ${value.progress.status} @${position}`
    : `keep-alive for ${audience} @${position}`
}

describe('following runs', () => {
  it('begins with those in flight, and says that these were all', async () => {
    const { commit, next, events } = follow()
    commit(run('over', 1, 'failed'))
    commit(run('a', 1))
    commit(run('b', 1, 'queued'))
    expect([await next(), await next(), await next()]).toEqual([
      ...['a 1 running @3', 'b 1 queued @3', 'keep-alive for joining @3'],
    ])
    await events.return?.()
  })

  it('begins where another stream was left with what has ended since, too', async () => {
    const { commit, next, events } = follow({ after: 1 })
    commit(run('before', 1, 'failed'))
    commit(run('since', 1, 'succeeded'))
    expect([await next(), await next()]).toEqual([
      ...['since 1 succeeded @1', 'keep-alive for joining @2'],
    ])
    await events.return?.()
  })

  it('passes on what it hears of a run that it knows, and no older state after a newer one', async () => {
    const { commit, hint, next, events, countLooks } = follow()
    commit(run('a', 1))
    await next()
    await next()
    await hint(run('a', 3))
    expect(await next()).toBe('a 3 running @1')
    await hint(run('a', 2))
    await hint(run('a', 4, 'succeeded'))
    expect(await next()).toBe('a 4 succeeded @1')
    expect(countLooks()).toBe(1)
    await events.return?.()
  })

  it('asks the database about a run that it does not know: it is new, or long over', async () => {
    const { commit, hint, next, events } = follow()
    await next()
    commit(run('new', 1, 'queued'))
    await hint(run('new', 1, 'queued'))
    expect(await next()).toBe('new 1 queued @0')
    commit(run('new', 2, 'canceled'))
    await hint(run('new', 2, 'canceled'))
    expect(await next()).toBe('new 2 canceled @1')
    for (const other of ['b', 'c']) {
      commit(run(other, 1))
      await hint(run(other, 1))
      await next()
    }
    await hint(run('new', 1, 'running')) // late by two looks: the stream has forgotten the run
    commit(run('d', 1))
    await hint(run('d', 1))
    expect(await next()).toBe('d 1 running @4')
    await events.return?.()
  })

  it('drops what is not watched, and what is no progress', async () => {
    const { bus, commit, hint, next, events, countLooks } = follow()
    await next()
    await hint({ ...run('a', 1), workspaceId: 'another' })
    await bus.publish(CHANNEL, { hello: 'world' })
    await heard()
    expect(countLooks()).toBe(1)
    commit(run('b', 1))
    await hint(run('b', 1))
    expect(await next()).toBe('b 1 running @0')
    await events.return?.()
  })

  it('finds what nobody told it after a gap, and at the latest with the next keep-alive, also while others are heard', async () => {
    const { bus, clock, commit, hint, next, events } = follow()
    commit(run('a', 1))
    commit(run('b', 1))
    await next()
    await next()
    await next()
    commit(run('b', 2, 'succeeded'))
    bus.recover()
    expect(await next()).toBe('b 2 succeeded @2')
    const waiting = next()
    await clock.asleep()
    commit(run('c', 1, 'failed'))
    clock.advance(999)
    await hint(run('a', 2))
    expect(await waiting).toBe('a 2 running @3')
    clock.advance(1)
    await hint(run('a', 3))
    expect([await next(), await next(), await next()]).toEqual([
      ...['a 3 running @3', 'c 1 failed @3', 'keep-alive for everybody @4'],
    ])
    await events.return?.()
  })

  it('keeps the newest state of each run only for a client that is slow', async () => {
    const { commit, hint, next, events } = follow()
    commit(run('a', 0))
    commit(run('b', 0))
    await next()
    await next()
    await next()
    for (let n = 1; n <= 500; n += 1) {
      await hint(run('a', n))
      await hint(run('b', n))
    }
    expect([await next(), await next()]).toEqual(['a 500 running @2', 'b 500 running @2'])
    await events.return?.()
  })

  it('moves its position on only when all that was seen there has been told', async () => {
    const { commit, bus, next, events } = follow()
    await next()
    commit(run('a', 1, 'failed'))
    commit(run('b', 1, 'failed'))
    bus.recover()
    expect([await next(), await next()]).toEqual(['a 1 failed @0', 'b 1 failed @0'])
    commit(run('c', 1, 'failed'))
    bus.recover()
    expect(await next()).toBe('c 1 failed @2')
    await events.return?.()
  })

  it('says to those who share it when it has looked for somebody who joined', async () => {
    const sharing = new Sharing()
    sharing.askForLook()
    const { commit, next, events } = follow({ sharing })
    commit(run('a', 1))
    expect([await next(), await next()]).toEqual(['a 1 running @1', 'keep-alive for joining @1'])
    commit(run('b', 1))
    sharing.askForLook()
    expect([await next(), await next()]).toEqual(['b 1 running @1', 'keep-alive for joining @2'])
    await events.return?.()
  })

  it('is forgotten when its reader leaves', async () => {
    const { bus, next, events } = follow()
    await next()
    const waiting = next()
    await events.return?.()
    expect(await waiting).toBe('the end')
    await bus.whenListeners(0)
  })
})
