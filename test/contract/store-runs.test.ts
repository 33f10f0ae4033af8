/** The run table on both databases: who may move a run (I5, I9), and when one may be taken over (I7). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { failure } from '../../src/domain/failure.ts'
import type { Database } from '../../src/store/database.ts'
import { completeRun, failRun, postponeRun, releaseRun } from '../../src/store/run-ends.ts'
import {
  claimRuns,
  enqueueRun,
  failQueuedRunOfSync,
  findRunInFlight,
} from '../../src/store/runs.ts'
import {
  beat,
  closeRunOfSilentWorker,
  listRunningRuns,
  recoverRun,
} from '../../src/store/workers.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  claimRun,
  newId,
  newRun,
  seedClaimedRun,
  seedSync,
  seedWorker,
} from '../support/store-seed.ts'

async function runRow(database: Database, runId: string) {
  const [row] = await database.rows(sql`
    select status, epoch, attempts_spent as "attemptsSpent", take_overs as "takeOvers",
           failure_code as "failureCode", worker_id as "workerId", resolved_by_run_id as "resolvedBy"
    from run where id = ${runId}`)
  return row
}

async function attemptsOf(database: Database, runId: string) {
  return await database.rows(sql`
    select number, outcome, failure_code as "failureCode" from attempt
    where run_id = ${runId} order by number`)
}

async function setSyncStatus(database: Database, syncId: string, status: string) {
  await database.rows(sql`update sync set status = ${status},
    pause_cause = case when ${status} in ('pausing', 'paused') then 'person' end
    where id = ${syncId}`)
}

async function syncStatusOf(database: Database, syncId: string) {
  const [row] = await database.rows(sql`select status from sync where id = ${syncId}`)
  return row?.['status']
}

describe.each(DATABASE_KINDS)('runs on %s', (kind) => {
  const database = useDatabase(kind)

  it('queues at most one run of a sync, and names the one in the way', async () => {
    const sync = await seedSync(database())
    const first = newRun(sync)
    expect(await enqueueRun(database(), first)).toMatchObject({ kind: 'queued' })
    const inTheWay = { kind: 'in_flight', runId: first.id }
    expect(await enqueueRun(database(), newRun(sync))).toEqual(inTheWay)
    expect(await findRunInFlight(database(), sync.syncId)).toEqual({
      id: first.id,
      status: 'queued',
      cause: 'run_now',
    })
  })

  it('raises the fence with each claim and gives the version that was published', async () => {
    const sync = await seedSync(database())
    const { claimed, holder } = await seedClaimedRun(database(), sync)
    expect(claimed).toMatchObject({
      epoch: 1,
      attemptNumber: 1,
      syncStatus: 'active',
      currentPublicationId: sync.publicationId,
      config: sync.config,
      reached: null,
    })
    expect(await completeRun(database(), holder, 'succeeded')).not.toBeNull()
    const second = await seedClaimedRun(database(), sync)
    expect(second.claimed.epoch).toBe(2)
    expect(await attemptsOf(database(), holder.runId)).toEqual([
      { number: 1, outcome: 'completed', failureCode: null },
    ])
  })

  it('claims no run that is due later, and none of a sync whose run is claimed', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const told = failure('provider_unavailable', { step: 'writing', detail: 'no answer' })
    const postponed = await postponeRun(database(), holder, { failure: told, delayMs: 60_000 })
    expect(postponed?.status).toBe('queued')
    const workerId = await seedWorker(database())
    const claims = await claimRuns(database(), {
      workerId,
      slots: 10,
      afterWorkspaceId: '00000000-0000-0000-0000-000000000000',
    })
    expect(claims.map((claim) => claim.syncId)).not.toContain(sync.syncId)
    expect(await attemptsOf(database(), holder.runId)).toEqual([
      { number: 1, outcome: 'postponed', failureCode: 'provider_unavailable' },
    ])
    expect(await runRow(database(), holder.runId)).toMatchObject({ attemptsSpent: 1 })
  })

  it('gives each workspace its turn: a busy one does not hold up the others', async () => {
    const busy = await seedSync(database())
    for (let n = 0; n < 3; n += 1) {
      const other = await seedSync(database(), { workspaceId: busy.workspaceId })
      await enqueueRun(database(), newRun(other))
    }
    const quiet = await seedSync(database())
    await enqueueRun(database(), newRun(busy))
    await enqueueRun(database(), newRun(quiet))
    const workerId = await seedWorker(database())
    const claims = await claimRuns(database(), {
      workerId,
      slots: 2,
      afterWorkspaceId: previous(busy.workspaceId),
    })
    expect(claims.map((claim) => claim.workspaceId)).toEqual([busy.workspaceId, quiet.workspaceId])
    // The other runs of the file's database must not be found by its later tests.
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where workspace_id = ${busy.workspaceId} and status = 'queued'`)
  })

  it.each(['complete', 'fail', 'postpone', 'release'] as const)(
    'answers null to %s of a holder that was taken over, and changes nothing',
    async (verb) => {
      const sync = await seedSync(database())
      const { holder } = await seedClaimedRun(database(), sync)
      await recoverRun(database(), { ...holder, takeOvers: 0, beatN: 0 })
      const before = await runRow(database(), holder.runId)
      const told = failure('lease_lost')
      const verbs = {
        complete: () => completeRun(database(), holder, 'succeeded'),
        fail: () => failRun(database(), holder, told),
        postpone: () => postponeRun(database(), holder, { failure: told, delayMs: 0 }),
        release: () => releaseRun(database(), holder),
      }
      expect(await verbs[verb]()).toBeNull()
      expect(await runRow(database(), holder.runId)).toEqual(before)
      await failQueuedRunOfSync(database(), { syncId: sync.syncId, failure: told })
    },
  )

  it('never changes a final run', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await completeRun(database(), holder, 'partial')
    const before = await runRow(database(), holder.runId)
    const told = failure('lease_lost')
    const seen = { ...holder, takeOvers: 0, beatN: 0 }
    expect(await failRun(database(), holder, told)).toBeNull()
    expect(await releaseRun(database(), holder)).toBeNull()
    expect(await recoverRun(database(), seen)).toBeNull()
    expect(await closeRunOfSilentWorker(database(), seen, told)).toBeNull()
    expect(await failQueuedRunOfSync(database(), { syncId: sync.syncId, failure: told })).toBeNull()
    expect(await runRow(database(), holder.runId)).toEqual(before)
  })

  it('takes over from a worker whose last beat is the one that was seen, and from no other', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    const seen = (await listRunningRuns(database())).find((run) => run.runId === holder.runId)
    expect(seen).toMatchObject({ beatN: 0, takeOvers: 0, epoch: 1 })
    await beat(database(), holder.workerId)
    expect(seen && (await recoverRun(database(), seen))).toBeNull()
    const again = (await listRunningRuns(database())).find((run) => run.runId === holder.runId)
    const progress = again && (await recoverRun(database(), again))
    expect(progress).toMatchObject({ status: 'queued', sequence: { epoch: 2, n: 0 } })
    expect(await runRow(database(), holder.runId)).toMatchObject({
      takeOvers: 1,
      attemptsSpent: 0,
      workerId: null,
    })
    await failQueuedRunOfSync(database(), {
      syncId: sync.syncId,
      failure: failure('unclassified_exception'),
    })
  })

  it('takes a failed run and those it had retried out of the DLQ when their retry succeeds', async () => {
    const sync = await seedSync(database())
    const told = failure('node_failed', { step: 'reading' })
    const failed = await seedClaimedRun(database(), sync)
    await failRun(database(), failed.holder, told)
    const retry = await seedClaimedRun(database(), sync, {
      run: { cause: 'retry', retryOf: failed.holder.runId },
    })
    await failRun(database(), retry.holder, told)
    const secondRetry = await seedClaimedRun(database(), sync, {
      run: { cause: 'retry', retryOf: retry.holder.runId },
    })
    await completeRun(database(), secondRetry.holder, 'succeeded')
    for (const runId of [failed.holder.runId, retry.holder.runId]) {
      expect(await runRow(database(), runId)).toMatchObject({
        resolvedBy: secondRetry.holder.runId,
      })
    }
  })

  it('lets one run retry a failed run, also after that one has ended', async () => {
    const sync = await seedSync(database())
    const failed = await seedClaimedRun(database(), sync)
    await failRun(database(), failed.holder, failure('lease_lost'))
    const retry = await seedClaimedRun(database(), sync, {
      run: { cause: 'retry', retryOf: failed.holder.runId },
    })
    const again = newRun(sync, { cause: 'retry', retryOf: failed.holder.runId })
    const retried = { kind: 'retried', runId: retry.holder.runId }
    expect(await enqueueRun(database(), again)).toEqual(retried)
    await failRun(database(), retry.holder, failure('lease_lost'))
    expect(await enqueueRun(database(), again)).toEqual(retried)
  })

  it('pauses a sync that waits for its run where that run ends, and lets it not be postponed', async () => {
    const sync = await seedSync(database())
    const { holder } = await seedClaimedRun(database(), sync)
    await setSyncStatus(database(), sync.syncId, 'pausing')
    const told = failure('provider_unavailable')
    expect(await postponeRun(database(), holder, { failure: told, delayMs: 0 })).toBeNull()
    expect(await releaseRun(database(), holder)).toBeNull()
    await failRun(database(), holder, failure('attestation_rule_not_active'))
    expect(await syncStatusOf(database(), sync.syncId)).toBe('paused')
  })

  it('refuses, in the database, a run that is final without an end and one that ends without being final', async () => {
    const sync = await seedSync(database())
    const run = newRun(sync)
    await enqueueRun(database(), run)
    const set = (status: string, finishedAt: string | null) =>
      database().rows(sql`update run set status = ${status}, finished_at = ${finishedAt}::timestamptz
        where id = ${run.id}`)
    await expect(set('succeeded', null)).rejects.toThrow(/run_finished_iff_final/)
    await expect(set('queued', '2026-01-01T00:00:00Z')).rejects.toThrow(/run_finished_iff_final/)
    await expect(set('failed', '2026-01-01T00:00:00Z')).rejects.toThrow(
      // Where it stands is made of its failure.
      /run_failed_iff_failure|"standing"/,
    )
    await expect(set('running', null)).rejects.toThrow(/run_running_has_worker/)
    await failQueuedRunOfSync(database(), {
      syncId: sync.syncId,
      failure: failure('lease_lost'),
    })
  })
})

describe('claims by many on PostgreSQL', () => {
  const database = useDatabase('postgresql')

  it('gives each due run to one of eight parallel claimers', async () => {
    const syncs = await Promise.all(Array.from({ length: 24 }, () => seedSync(database())))
    const runs = syncs.map((sync) => newRun(sync))
    await Promise.all(runs.map((run) => enqueueRun(database(), run)))
    const claims = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const workerId = newId()
        const mine: string[] = []
        for (let n = 0; n < 12; n += 1) {
          const got = await claimRuns(database(), {
            workerId,
            slots: 1,
            afterWorkspaceId: '00000000-0000-0000-0000-000000000000',
          })
          mine.push(...got.map((claim) => claim.runId))
        }
        return mine
      }),
    )
    expect(claims.flat().sort()).toEqual(runs.map((run) => run.id).sort())
  })

  it('queues one run for twenty parallel callers, all of whom learn its id', async () => {
    const sync = await seedSync(database())
    const results = await Promise.all(
      Array.from({ length: 20 }, () => {
        const run = newRun(sync)
        return enqueueRun(database(), run).then((result) =>
          result.kind === 'queued' ? run.id : result.runId,
        )
      }),
    )
    expect(new Set(results).size).toBe(1)
    const workerId = await seedWorker(database())
    await claimRun(database(), {
      runId: results[0] ?? '',
      workerId,
      workspaceId: sync.workspaceId,
    })
  })
})

function previous(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`) - 1n
  const text = number.toString(16).padStart(32, '0')
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
