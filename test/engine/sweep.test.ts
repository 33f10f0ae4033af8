/** Runs of scheduled syncs that stand still are closed and replaced, on both databases; no others are. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runChannel } from '../../src/coordination/bus.ts'
import { CoordinationUnavailableError, type Leases } from '../../src/coordination/lease.ts'
import { createMemoryBus } from '../../src/coordination/memory/bus.ts'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import { progressFromMessage, type RunProgress } from '../../src/domain/progress.ts'
import type { Schedule } from '../../src/domain/schedule.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { storeSlots } from '../../src/store/schedules.ts'
import { requestCancel } from '../../src/store/stop-wishes.ts'
import { listLongAttempts, sweepRun } from '../../src/store/sweeps.ts'
import { beat, recoverRun } from '../../src/store/workers.ts'
import { Sweep, type SweepOptions } from '../../src/watch/sweep.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { createRecordingLogger } from '../support/recording-logger.ts'
import {
  BREAKER_PARTS,
  newId,
  type SeededSync,
  seedClaimedRun,
  seedSync,
} from '../support/store-seed.ts'

const MINUTELY: Schedule = { kind: 'interval', everyMs: 60_000 }
const HOUR_MS = 3_600_000

describe.each(ENGINE_DATABASE_KINDS)('the sweep on %s', (kind) => {
  const database = useDatabase(kind)
  const logger = createRecordingLogger()
  const bus = createMemoryBus(logger)
  const workerId = newId()
  let leases: Leases

  beforeEach(() => {
    leases = createMemoryLeases(systemClock)
  })
  afterEach(async () => {
    await database().rows(sql`delete from sync_schedule`)
  })

  const createSweep = (given: Partial<SweepOptions> = {}) =>
    new Sweep({
      ...BREAKER_PARTS,
      database: database(),
      leases,
      bus,
      clock: systemClock,
      logger,
      workerId,
      intervalMs: 60_000,
      stuckAfterMs: HOUR_MS,
      beatMs: 20,
      silentAfterMs: 60,
      ownRunIds: () => new Set(),
      ...given,
    })
  /** As if it were two hours later than the attempts of the test began. */
  const later = () => new Date(Date.now() + 2 * HOUR_MS)

  async function seedStuck(given: { readonly workerId?: string } = {}) {
    const sync = await seedSync(database(), { schedule: MINUTELY })
    const slots = { schedule: MINUTELY, anchorMs: 0, slotMs: null }
    await storeSlots(database(), sync.syncId, slots)
    const { holder } = await seedClaimedRun(database(), sync, given)
    return { sync, holder }
  }

  async function askToCancel({ runId }: { readonly runId: string }) {
    expect(await requestCancel(database(), { runId, by: 'ada', reason: 'Not today.' })).toBe(true)
  }

  async function runsOf({ syncId }: SeededSync) {
    return await database().rows(sql`
      select status, cause, failure_code as failure from run
      where sync_id = ${syncId} order by created_at, status`)
  }

  const RUNNING = { status: 'running', cause: 'run_now', failure: null }
  const SWEPT = { status: 'failed', cause: 'run_now', failure: 'stale_job_swept' }
  const CANCELED = { status: 'canceled', cause: 'run_now', failure: null }
  const NEXT = { status: 'queued', cause: 'sweep', failure: null }

  it('closes a run whose worker is silent, raises its fence, and queues another', async () => {
    const { sync, holder } = await seedStuck()
    const heard: RunProgress[] = []
    const unsubscribe = await bus.subscribe(runChannel(holder.runId), (message) => {
      const progress = progressFromMessage(message)
      heard.push(...(progress ? [progress] : []))
    })
    await createSweep().runOnce(later())
    await unsubscribe()
    expect(await runsOf(sync)).toEqual([SWEPT, NEXT])
    expect(heard).toMatchObject([{ status: 'failed', sequence: { epoch: holder.epoch + 1, n: 0 } }])
    const [fence] = await database().rows(
      sql`select epoch from sync_fence where sync_id = ${sync.syncId}`,
    )
    expect(fence).toEqual({ epoch: holder.epoch + 1 })
    const [attempt] = await database().rows(sql`
      select outcome, failure_code as failure from attempt where run_id = ${holder.runId}`)
    expect(attempt).toEqual({ outcome: 'swept', failure: 'stale_job_swept' })
    // Nothing is left to sweep.
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([SWEPT, NEXT])
  })

  it('queues nothing for a sync that is pausing, which is paused with it', async () => {
    const { sync } = await seedStuck()
    await database().rows(sql`update sync set status = 'pausing', pause_cause = 'person'
      where id = ${sync.syncId}`)
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([SWEPT])
    const [row] = await database().rows(sql`select status from sync where id = ${sync.syncId}`)
    expect(row).toEqual({ status: 'paused' })
  })

  it('cancels a run that somebody asked to cancel, raises its fence, and queues nothing', async () => {
    const { sync, holder } = await seedStuck()
    await askToCancel(holder)
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([CANCELED])
    const [attempt] = await database().rows(sql`
      select outcome, failure_code as failure from attempt where run_id = ${holder.runId}`)
    expect(attempt).toEqual({ outcome: 'canceled', failure: null })
    const [fence] = await database().rows(
      sql`select epoch from sync_fence where sync_id = ${sync.syncId}`,
    )
    expect(fence).toEqual({ epoch: holder.epoch + 1 })
  })

  it('fails no run that somebody asks to cancel between the look and the end', async () => {
    const { sync, holder } = await seedStuck()
    const [seen] = await listLongAttempts(database(), { stuckAfterMs: HOUR_MS, now: later() })
    await askToCancel(holder)
    expect(seen && (await sweepRun(database(), BREAKER_PARTS, seen))).toBeNull()
    expect(await runsOf(sync)).toEqual([RUNNING])
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([CANCELED])
  })

  it('leaves an attempt alone that began less than an hour ago', async () => {
    const { sync } = await seedStuck()
    await createSweep().runOnce(new Date(Date.now() + HOUR_MS - 60_000))
    expect(await runsOf(sync)).toEqual([RUNNING])
  })

  it('leaves a run alone that holds its lease, and one of a sync without a schedule', async () => {
    const { sync, holder } = await seedStuck()
    const token = `${holder.epoch}:${holder.runId}`
    await leases.take(`lease.${sync.syncId}`, token, 60_000)
    const unscheduled = await seedSync(database())
    await seedClaimedRun(database(), unscheduled)
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([RUNNING])
    expect(await runsOf(unscheduled)).toEqual([RUNNING])
    // A lease that an earlier attempt left behind is not this one's.
    await leases.replace(`lease.${sync.syncId}`, token, `0:${newId()}`, 60_000)
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([SWEPT, NEXT])
  })

  it('closes nothing while nobody can tell who holds the lease', async () => {
    const { sync } = await seedStuck()
    const away: Leases = {
      ...leases,
      findHolder: () => Promise.reject(new CoordinationUnavailableError('Redis is away.')),
    }
    await expect(createSweep({ leases: away }).runOnce(later())).rejects.toThrow('Redis is away.')
    expect(await runsOf(sync)).toEqual([RUNNING])
  })

  it('leaves a run alone whose worker beats while it is looked at', async () => {
    const { sync, holder } = await seedStuck()
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) =>
        beat(database(), holder.workerId).then(() => systemClock.sleep(ms, signal)),
    }
    await createSweep({ clock }).runOnce(later())
    expect(await runsOf(sync)).toEqual([RUNNING])
  })

  it('closes the run that its own worker has dropped, and not the one it is at work on', async () => {
    const { sync, holder } = await seedStuck({ workerId })
    await createSweep({ ownRunIds: () => new Set([holder.runId]) }).runOnce(later())
    expect(await runsOf(sync)).toEqual([RUNNING])
    await createSweep().runOnce(later())
    expect(await runsOf(sync)).toEqual([SWEPT, NEXT])
  })

  it('changes nothing of a run that was claimed a moment ago', async () => {
    const { sync, holder } = await seedStuck()
    const [seen] = await listLongAttempts(database(), { stuckAfterMs: HOUR_MS, now: later() })
    expect(seen?.runId).toBe(holder.runId)
    if (!seen) {
      return
    }
    // Recovery was faster, and the same worker has claimed the run anew: only the epoch tells.
    await recoverRun(database(), seen)
    await database().rows(sql`update run set status = 'running', worker_id = ${holder.workerId},
      epoch = epoch + 1, claims = claims + 1 where id = ${holder.runId}`)
    await database().rows(sql`update sync_fence set epoch = epoch + 1
      where sync_id = ${sync.syncId}`)
    expect(await sweepRun(database(), BREAKER_PARTS, seen)).toBeNull()
    expect(await runsOf(sync)).toEqual([RUNNING])
  })

  it('changes nothing of a run whose worker has beaten since it was seen', async () => {
    const { sync, holder } = await seedStuck()
    const [seen] = await listLongAttempts(database(), { stuckAfterMs: HOUR_MS, now: later() })
    await beat(database(), holder.workerId)
    expect(seen && (await sweepRun(database(), BREAKER_PARTS, seen))).toBeNull()
    expect(await runsOf(sync)).toEqual([RUNNING])
  })
})
