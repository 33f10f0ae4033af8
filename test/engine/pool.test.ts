/**
 * The pool of a process on a real queue: what it claims, when, and what it survives. The attempts are the
 * test's own, so that it says how long each lasts and how it ends; how they run is tested elsewhere.
 */
import { type SQL, sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WAKE_CHANNEL } from '../../src/coordination/bus.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { AttemptStop } from '../../src/engine/attempt-stop.ts'
import { Drain } from '../../src/engine/drain.ts'
import { Pool, type PoolOptions } from '../../src/engine/pool.ts'
import type { Database, Row } from '../../src/store/database.ts'
import { type ClaimedRun, enqueueRun } from '../../src/store/runs.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createEngineHarness } from '../support/engine-harness.ts'
import { createHandClock, type HandClock } from '../support/hand-clock.ts'
import { startRecordingDestination } from '../support/recording-destination.ts'
import { createRecordingLogger, type RecordingLogger } from '../support/recording-logger.ts'
import { createScriptedSource, scriptedRows } from '../support/scripted-source.ts'
import { createSignal, type Signal } from '../support/signal.ts'
import { nameOf } from '../support/statement-name.ts'
import { newId, newRun, seedSync, seedWorker } from '../support/store-seed.ts'

const POLL_MS = 5_000

/** A way to a database on which the answers of claims can be held up, and claims refused. */
function watchClaims(database: Database) {
  let gate: Signal | null = null
  let refusals = 0
  let isAnswered = createSignal()
  const figures = { claims: 0, underWay: 0, mostUnderWay: 0 }
  const claim = async <R extends Row>(statement: SQL) => {
    figures.claims += 1
    if (refusals > 0) {
      refusals -= 1
      throw new Error('The database does not answer.')
    }
    figures.underWay += 1
    figures.mostUnderWay = Math.max(figures.mostUnderWay, figures.underWay)
    const rows = await database.rows<R>(statement)
    isAnswered.reach()
    await gate?.reached
    figures.underWay -= 1
    return rows
  }
  return {
    figures,
    database: {
      ...database,
      rows: <R extends Row>(statement: SQL) =>
        nameOf(statement) === 'runs.claimRuns' ? claim<R>(statement) : database.rows<R>(statement),
    } satisfies Database,
    /** The database carries claims out, and its answers are held up until the gate is opened. */
    close: () => {
      gate = createSignal()
      isAnswered = createSignal()
    },
    open: () => {
      gate?.reach()
    },
    /** Resolves when a claim was carried out since the gate was closed. */
    answered: () => isAnswered.reached,
    refuse: (count: number) => {
      refusals = count
    },
  }
}

/** Whatever was told has been heard. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** An attempt that the test ends. */
interface HeldAttempt {
  readonly runId: string
  readonly signal: AbortSignal
  end(error?: Error): void
}

describe('the pool of a process', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')
  let clock: HandClock
  let logger: RecordingLogger
  let bus: ReturnType<typeof createMemoryBus>
  let claims: ReturnType<typeof watchClaims>
  let attempts: HeldAttempt[]
  let waiting: { readonly count: number; readonly signal: Signal }[]
  const pools: Pool[] = []

  beforeEach(() => {
    clock = createHandClock()
    logger = createRecordingLogger()
    bus = createMemoryBus(logger)
    claims = watchClaims(database())
    attempts = []
    waiting = []
  })
  afterEach(async () => {
    claims.open()
    const stopped = pools.splice(0).map((pool) => pool.stop())
    for (const attempt of attempts) {
      attempt.end()
    }
    await Promise.all(stopped)
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where status in ('queued', 'running')`)
  })

  const runAttempt = ({ runId }: ClaimedRun, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      attempts.push({ runId, signal, end: (error) => (error ? reject(error) : resolve()) })
      for (const { count, signal: reached } of waiting) {
        if (attempts.length >= count) {
          reached.reach()
        }
      }
    })

  /** Resolves when so many attempts have begun in all. */
  async function begun(count: number): Promise<void> {
    const signal = createSignal()
    waiting.push({ count, signal })
    if (attempts.length < count) {
      await signal.reached
    }
  }

  async function startPool(given: Partial<PoolOptions> = {}): Promise<Pool> {
    const drain = new Drain({ clock, logger, deadlineMs: 15_000, stillRunning: () => new Set() })
    const pool = new Pool({
      database: claims.database,
      bus,
      clock,
      logger,
      workerId: await seedWorker(database()),
      drain,
      slots: 2,
      pollMs: POLL_MS,
      isTrusted: () => true,
      runAttempt,
      ...given,
    })
    pools.push(pool)
    await pool.start()
    return pool
  }

  /** Queues so many runs, each of its own workspace, and wakes nobody. */
  async function queue(count: number): Promise<readonly string[]> {
    const queued: string[] = []
    for (let n = 0; n < count; n += 1) {
      const run = newRun(await seedSync(database()))
      await enqueueRun(database(), run)
      queued.push(run.id)
    }
    return queued
  }

  async function countRunning(): Promise<number> {
    const [row] = await database().rows<{ running: number }>(sql`
      select count(*)::int as running from run where status = 'running'`)
    return row?.running ?? -1
  }

  it('claims as many runs as it has free slots, and the next as soon as one is free', async () => {
    const queued = await queue(5)
    const pool = await startPool({ slots: 3 })
    await begun(3)
    await clock.asleep()
    expect(await countRunning()).toBe(3)
    expect(pool.runIds.size).toBe(3)
    attempts[0]?.end()
    await begun(4)
    await clock.asleep()
    expect(await countRunning()).toBe(4) // the test's attempt has ended, and not its run
    expect(pool.runIds.size).toBe(3)
    attempts[1]?.end()
    await begun(5)
    expect(attempts.map(({ runId }) => runId).sort()).toEqual([...queued].sort())
    // Nothing of this needed a poll.
    expect(clock.monotonicMs()).toBe(0)
  })

  it('has one claim under way, whoever wakes it how often; a wake-up is a flag', async () => {
    claims.close()
    const pool = await startPool()
    await claims.answered()
    for (let n = 0; n < 50; n += 1) {
      await bus.publish(WAKE_CHANNEL, {})
      pool.wake()
    }
    await turn()
    expect(claims.figures).toEqual({ claims: 1, underWay: 1, mostUnderWay: 1 })
    claims.open()
    await clock.asleep()
    expect(claims.figures).toEqual({ claims: 2, underWay: 0, mostUnderWay: 1 })
  })

  it('looks again after a claim during which it was woken: what that one could not see is found', async () => {
    claims.close()
    await startPool()
    await claims.answered()
    const [runId] = await queue(1)
    await bus.publish(WAKE_CHANNEL, {})
    await turn()
    claims.open()
    await begun(1)
    expect(attempts[0]?.runId).toBe(runId)
    expect(clock.monotonicMs()).toBe(0)
  })

  it('finds what nobody woke it for with the next poll, and not before', async () => {
    await startPool()
    await clock.asleep()
    await queue(1)
    clock.advance(POLL_MS - 1)
    await turn()
    expect(claims.figures.claims).toBe(1)
    clock.advance(1)
    await begun(1)
  })

  it('goes on after claims that failed', async () => {
    claims.refuse(2)
    await queue(1)
    await startPool()
    await clock.asleep()
    expect(logger.count('pool.claim_failed')).toBe(1)
    await bus.publish(WAKE_CHANNEL, {})
    await turn()
    await clock.asleep()
    expect(logger.count('pool.claim_failed')).toBe(2)
    expect(attempts).toEqual([])
    clock.advance(POLL_MS)
    await begun(1)
  })

  it('gives the slot of an attempt that broke to the next run, and does not count itself at work on it', async () => {
    const queued = await queue(2)
    const pool = await startPool({ slots: 1 })
    await begun(1)
    attempts[0]?.end(new Error('A bug.'))
    await begun(2)
    expect(logger.events.filter(({ event }) => event === 'attempt.broken')).toMatchObject([
      { level: 'error', bindings: { runId: attempts[0]?.runId } },
    ])
    expect([...pool.runIds]).toEqual([attempts[1]?.runId])
    expect(attempts.map(({ runId }) => runId).sort()).toEqual([...queued].sort())
    expect(clock.monotonicMs()).toBe(0)
  })

  it('that is told to stop during a claim begins what it brings as stopped, claims no more, and awaits it', async () => {
    await queue(2)
    claims.close()
    const pool = await startPool({ slots: 1 })
    await claims.answered()
    expect(await countRunning()).toBe(1)
    let isStopped = false
    const stopped = pool.stop().then(() => {
      isStopped = true
    })
    claims.open()
    await begun(1)
    const [attempt] = attempts
    expect(attempt?.signal.aborted).toBe(true)
    expect(attempt?.signal.reason).toBeInstanceOf(AttemptStop)
    await turn()
    expect(isStopped).toBe(false)
    attempt?.end()
    await stopped
    expect(attempts).toHaveLength(1)
    expect(claims.figures.claims).toBe(1)
  })

  it('that is told to stop in the middle of its round through the workspaces does not end the round', async () => {
    const [first, last] = [await seedSync(database()), await seedSync(database())]
    await enqueueRun(database(), newRun(last))
    const pool = await startPool({ slots: 1 })
    await begun(1)
    claims.close()
    attempts[0]?.end()
    await claims.answered() // the workspaces behind the last one were asked, and have nothing
    await enqueueRun(database(), newRun(first))
    const stopped = pool.stop()
    claims.open()
    await stopped
    expect(attempts).toHaveLength(1)
    expect(claims.figures.claims).toBe(2)
  })

  it('hands back what a claim brings that was under way when the process was told to stop', async () => {
    const destination = await startRecordingDestination()
    const source = createScriptedSource(scriptedRows(3))
    const harness = createEngineHarness({ database: database(), source, destination })
    try {
      const runId = await harness.enqueue(await harness.seedSync())
      claims.close()
      const engine = await harness.startEngine({ database: claims.database, workerId: newId() })
      await claims.answered()
      const stopped = engine.stop()
      claims.open()
      await stopped
      const [run] = await database().rows(sql`
        select run.status, run.attempts_spent as spent, run.take_overs as "takeOvers",
               attempt.outcome
        from run join attempt on attempt.run_id = run.id
        where run.id = ${runId}`)
      expect(run).toEqual({ status: 'queued', spent: 0, takeOvers: 0, outcome: 'released' })
      expect(destination.requests).toEqual([])
      expect(source.reads).toEqual([])
    } finally {
      await harness.close()
      await destination.close()
    }
  })
})
