/** On both databases: runs that people cancel, and runs of a sync that they paused (I5, I9). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { failure } from '../../src/domain/failure.ts'
import type { Database } from '../../src/store/database.ts'
import { findLatestRetry } from '../../src/store/retries.ts'
import {
  cancelRun,
  completeRun,
  failRun,
  postponeRun,
  type RunHolder,
  releaseRun,
} from '../../src/store/run-ends.ts'
import { enqueueRun } from '../../src/store/runs.ts'
import {
  cancelQueuedRun,
  findCallInFlight,
  findRunToCancel,
  listUnwantedRuns,
  requestCancel,
} from '../../src/store/stop-wishes.ts'
import {
  cancelRunOfSilentWorker,
  closeRunOfSilentWorker,
  listRunningRuns,
  recoverRun,
} from '../../src/store/workers.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { newId, newRun, seedClaimedRun, seedSync } from '../support/store-seed.ts'

const TOLD = failure('provider_unavailable')

async function runRow(database: Database, runId: string) {
  const [row] = await database.rows(sql`
    select status, cancel_requested_by as "by", cancel_reason as reason,
           finished_at is not null as "isFinished"
    from run where id = ${runId}`)
  return row
}

async function attemptsOf(database: Database, runId: string) {
  const rows = await database.rows(sql`
    select outcome from attempt where run_id = ${runId} order by number`)
  return rows.map((row) => row['outcome'])
}

async function pause(database: Database, syncId: string) {
  await database.rows(sql`update sync set status = 'pausing', pause_cause = 'person'
    where id = ${syncId}`)
}

async function syncStatusOf(database: Database, syncId: string) {
  const [row] = await database.rows(sql`select status from sync where id = ${syncId}`)
  return row?.['status']
}

const wish = (runId: string) => ({ runId, by: 'ada', reason: 'Not today.' })
const seenAs = (holder: RunHolder) => ({ ...holder, takeOvers: 0, beatN: 0 })

describe.each(DATABASE_KINDS)('stopping runs on %s', (kind) => {
  const database = useDatabase(kind)

  it('cancels a queued run at once, and none that is running or over', async () => {
    const sync = await seedSync(database())
    const run = newRun(sync)
    await enqueueRun(database(), run)
    expect(await requestCancel(database(), wish(run.id))).toBe(false)
    expect(await cancelQueuedRun(database(), wish(run.id))).toMatchObject({ status: 'canceled' })
    expect(await runRow(database(), run.id)).toEqual({
      status: 'canceled',
      by: 'ada',
      reason: 'Not today.',
      isFinished: true,
    })
    expect(await cancelQueuedRun(database(), wish(run.id))).toBeNull()
    const { holder } = await seedClaimedRun(database(), sync)
    expect(await cancelQueuedRun(database(), wish(holder.runId))).toBeNull()
    await failRun(database(), holder, TOLD)
  })

  it('cancels a running run for its attempt only after it was asked for, once', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    expect(await cancelRun(database(), holder)).toBeNull()
    expect(await requestCancel(database(), wish(holder.runId))).toBe(true)
    expect(await requestCancel(database(), wish(holder.runId))).toBe(false)
    const asked = { id: holder.runId, syncId: sync.syncId, status: 'running' as const }
    expect(await findRunToCancel(database(), sync.workspaceId, holder.runId)).toEqual({
      ...asked,
      isCancelRequested: true,
    })
    expect(await findRunToCancel(database(), newId(), holder.runId)).toBeNull()
    const stranger = { ...holder, epoch: holder.epoch + 1 }
    expect(await cancelRun(database(), stranger)).toBeNull()
    expect(await cancelRun(database(), holder)).toMatchObject({ status: 'canceled' })
    expect(await attemptsOf(database(), holder.runId)).toEqual(['canceled'])
    expect(await completeRun(database(), holder, 'succeeded')).toBeNull()
  })

  it('queues a run that was asked to end never again: not after a failure, not when its worker stops', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await requestCancel(database(), wish(holder.runId))
    expect(await postponeRun(database(), holder, { failure: TOLD, delayMs: 0 })).toBeNull()
    expect(await releaseRun(database(), holder)).toBeNull()
    expect(await recoverRun(database(), seenAs(holder))).toBeNull()
    await expect(
      database().rows(sql`update run set status = 'queued' where id = ${holder.runId}`),
    ).rejects.toThrow(/run_queued_is_wanted/)
    await cancelRun(database(), holder)
  })

  it('cancels the run of a silent worker and raises the fence, and none that nobody canceled', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    expect(await cancelRunOfSilentWorker(database(), seenAs(holder))).toBeNull()
    await requestCancel(database(), wish(holder.runId))
    const seen = (await listRunningRuns(database())).find((run) => run.runId === holder.runId)
    expect(seen).toMatchObject({ isCancelRequested: true, syncStatus: 'active' })
    const canceled = seen && (await cancelRunOfSilentWorker(database(), seen))
    expect(canceled).toMatchObject({ status: 'canceled', sequence: { epoch: holder.epoch + 1 } })
    expect(await attemptsOf(database(), holder.runId)).toEqual(['canceled'])
    expect(await cancelRun(database(), holder)).toBeNull()
  })

  it.each([
    'its attempt cancels it',
    'its worker is silent',
    'its worker is silent, and it was canceled',
  ])('pauses a sync that waits for its run when %s', async (how) => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await pause(database(), sync.syncId)
    if (how === 'its worker is silent') {
      expect(await recoverRun(database(), seenAs(holder))).toBeNull()
      const unwanted = failure('attestation_rule_not_active')
      await closeRunOfSilentWorker(database(), seenAs(holder), unwanted)
    } else {
      await requestCancel(database(), wish(holder.runId))
      await (how === 'its attempt cancels it'
        ? cancelRun(database(), holder)
        : cancelRunOfSilentWorker(database(), seenAs(holder)))
    }
    expect(await syncStatusOf(database(), sync.syncId)).toBe('paused')
  })

  it('lists of a worker the running runs that somebody wants to stop', async () => {
    const [wanted, canceled, paused] = await Promise.all([
      seedSync(database()),
      seedSync(database()),
      seedSync(database()),
    ])
    const first = await seedClaimedRun(database(), wanted)
    const { workerId } = first.holder
    const second = await seedClaimedRun(database(), canceled, { workerId })
    const third = await seedClaimedRun(database(), paused, { workerId })
    expect(await listUnwantedRuns(database(), workerId)).toEqual([])
    await requestCancel(database(), wish(second.holder.runId))
    await pause(database(), paused.syncId)
    const unwanted = await listUnwantedRuns(database(), workerId)
    expect(new Map(unwanted.map((run) => [run.runId, run]))).toEqual(
      new Map([
        [
          second.holder.runId,
          { runId: second.holder.runId, epoch: 1, syncStatus: 'active', isCancelRequested: true },
        ],
        [
          third.holder.runId,
          { runId: third.holder.runId, epoch: 1, syncStatus: 'pausing', isCancelRequested: false },
        ],
      ]),
    )
    expect(await listUnwantedRuns(database(), newId())).toEqual([])
    await failRun(database(), first.holder, TOLD)
  })

  it('lets a run be retried again whose retry was canceled', async () => {
    const sync = await seedSync(database())
    const { holder: failed } = await seedClaimedRun(database(), sync)
    await failRun(database(), failed, TOLD)
    const retry = newRun(sync, { cause: 'retry', retryOf: failed.runId })
    await enqueueRun(database(), retry)
    await cancelQueuedRun(database(), wish(retry.id))
    expect(await findLatestRetry(database(), failed.runId)).toBeNull()
    const second = newRun(sync, { cause: 'retry', retryOf: failed.runId })
    expect(await enqueueRun(database(), second)).toMatchObject({ kind: 'queued' })
    expect(await findLatestRetry(database(), failed.runId)).toEqual({ id: second.id })
    const third = newRun(sync, { cause: 'retry', retryOf: failed.runId })
    const retried = { kind: 'retried', runId: second.id }
    expect(await enqueueRun(database(), third)).toEqual(retried)
  })

  it('tells what the run in flight writes to, also of a run without a version', async () => {
    const sync = await seedSync(database(), { objectOptions: { requestDeadlineMs: 9_000 } })
    const { holder } = await seedClaimedRun(database(), sync)
    const call = await findCallInFlight(database(), holder.runId)
    expect(call.destination).toEqual({ type: 'http', options: { requestDeadlineMs: 9_000 } })
    expect(Math.abs(call.now.getTime() - Date.now())).toBeLessThan(60_000)
    expect((await findCallInFlight(database(), newId())).destination).toBeNull()
    await failRun(database(), holder, TOLD)
  })
})
