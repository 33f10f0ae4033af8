/**
 * A sync that fails five times in a row is paused by its fifth failure, on whatever path that is recorded (I18): in
 * a worker, where a worker fell silent, and where a run stood still. What is recorded before any worker sees it
 * is in breaker-refusals.test.ts.
 */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { resumeSync } from '../../src/commands/resume-sync.ts'
import { updateSync } from '../../src/commands/update-sync.ts'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import { MAX_TAKE_OVERS } from '../../src/domain/run.ts'
import { Recovery } from '../../src/engine/recovery.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Sweep } from '../../src/watch/sweep.ts'
import { HOUR_MS, useBreakerStage } from '../support/breaker-stage.ts'
import { putEndedRun, putFailedRuns, trippedBy, UNTRIPPED } from '../support/breaker-steps.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { republish } from '../support/engine-harness.ts'
import { createPerson } from '../support/person.ts'
import { newId, type SeededSync, seedClaimedRun } from '../support/store-seed.ts'

const REFUSED = { kind: 'answer', status: 401, body: '{}' } as const
const FIVE = [1, 2, 3, 4, 5]

describe.each(ENGINE_DATABASE_KINDS)('the breaker on %s', (kind) => {
  const database = useDatabase(kind)
  const stage = useBreakerStage(database)

  describe('in a worker', () => {
    it('pauses a sync that is refused at each tick, and nothing comes at the sixth', async () => {
      const sync = await stage().seedScheduled()
      stage().destination.always(REFUSED)
      await stage().harness.startEngine()
      let runId = ''
      for (const n of FIVE) {
        expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
        await stage().tick(n)
        runId = await stage().lastRunIdOf(sync)
        expect(await stage().harness.waitForEnd(runId)).toMatchObject({
          failureCode: 'connection_unauthorized',
        })
      }
      const calls = stage().destination.calls()
      await stage().tick(6)
      expect(await stage().runsOf(sync)).toHaveLength(5)
      expect(await stage().read(sync)).toMatchObject({ ...trippedBy(runId), slotMs: null })
      expect(stage().destination.calls()).toBe(calls)
    })

    it('fails a run whose tool is disconnected, and names it', async () => {
      const sync = await stage().harness.seedSync()
      const runId = await stage().harness.enqueue(sync)
      await stage().disconnect(sync, sync.sourceConnectionId)
      await stage().harness.startEngine()
      expect(await stage().harness.waitForEnd(runId)).toMatchObject({
        failureCode: 'connection_missing',
      })
      expect(await stage().runsOf(sync)).toMatchObject([{ subject: `source ${sync.syncId}` }])
      expect(stage().destination.calls()).toBe(0)
    })

    it('pauses a sync all of whose records are rejected, run after run', async () => {
      const sync = await stage().harness.seedSync()
      await putFailedRuns(database(), sync, 4)
      stage().destination.always({ kind: 'answer', status: 422 })
      await stage().harness.startEngine()
      const run = await stage().harness.run(sync)
      expect(run).toMatchObject({ failureCode: 'destination_rejected' })
      expect(await stage().read(sync)).toMatchObject(trippedBy(run.runId))
    })

    it('rests where one record is held and nothing else is new: six runs are partial', async () => {
      const sync = await stage().harness.seedSync()
      stage().destination.decide(({ body }) =>
        body.includes('r1@') ? { kind: 'answer', status: 422 } : { kind: 'apply' },
      )
      await stage().harness.startEngine()
      for (let n = 0; n < 6; n += 1) {
        expect((await stage().harness.run(sync)).status).toBe('partial')
      }
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
    })

    it('does not count runs that got no slot', async () => {
      const sync = await stage().harness.seedSync()
      await putFailedRuns(database(), sync, 3)
      await stage().harness.leases.take(`lease.${sync.syncId}`, `1000:${newId()}`, HOUR_MS)
      await stage().harness.startEngine()
      for (let n = 0; n < 6; n += 1) {
        expect((await stage().harness.run(sync)).failureCode).toBe('lease_conflict')
      }
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
    })

    it('does not count what is long ago: five months of silence, and then one failed run', async () => {
      const first = await stage().harness.seedSync()
      for (let n = 0; n < 4; n += 1) {
        await putEndedRun(database(), first, { daysAgo: 150 })
      }
      const sync = await republish(database(), first, {})
      await database().rows(sql`update sync set activated_at = now() where id = ${sync.syncId}`)
      stage().destination.always(REFUSED)
      await stage().harness.startEngine()
      expect((await stage().harness.run(sync)).status).toBe('failed')
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
    })

    it('neither counts a canceled run nor begins anew at it', async () => {
      const sync = await stage().harness.seedSync()
      stage().destination.always(REFUSED)
      await stage().harness.startEngine()
      await putFailedRuns(database(), sync, 3)
      await putEndedRun(database(), sync, { status: 'canceled' })
      expect((await stage().harness.run(sync)).status).toBe('failed')
      await putEndedRun(database(), sync, { status: 'canceled' })
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
      const { runId } = await stage().harness.run(sync)
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })

    it.each(['succeeded', 'partial'] as const)(
      'begins anew at a run that is %s',
      async (status) => {
        const sync = await stage().harness.seedSync()
        stage().destination.always(REFUSED)
        await stage().harness.startEngine()
        await putFailedRuns(database(), sync, 4)
        await putEndedRun(database(), sync, { status })
        await putFailedRuns(database(), sync, 3)
        expect((await stage().harness.run(sync)).status).toBe('failed')
        expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
        const { runId } = await stage().harness.run(sync)
        expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
      },
    )

    it('takes the threshold of the version that is published', async () => {
      const first = await stage().harness.seedSync()
      const sync = await republish(database(), first, { breakerThreshold: 2 })
      stage().destination.always(REFUSED)
      await stage().harness.startEngine()
      await stage().harness.run(sync)
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
      const { runId } = await stage().harness.run(sync)
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })
  })

  describe('what begins a new count', () => {
    /** A sync with four failed runs whose next one fails too. */
    async function seedFailing(): Promise<SeededSync> {
      const sync = await stage().harness.seedSync()
      await putFailedRuns(database(), sync, 4)
      stage().destination.always(REFUSED)
      await stage().harness.startEngine()
      return sync
    }
    const failOnce = async (sync: SeededSync) => {
      const [current] = await database().rows<{ publicationId: string }>(sql`
        select publication_id as "publicationId" from sync where id = ${sync.syncId}`)
      const run = await stage().harness.run(sync, { publicationId: current?.publicationId ?? null })
      expect(run.failureCode).toBe('connection_unauthorized')
      return run.runId
    }

    it('is a publication, which closes the incident and tells so', async () => {
      const sync = await seedFailing()
      const runId = await failOnce(sync)
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
      expect(await stage().publish(sync)).toMatchObject({ status: 'done' })
      const closed = { runId, isOpen: false, notices: ['opened log', 'closed log'] }
      const active = { status: 'active', cause: null, reason: null, by: null, runId: null }
      expect(await stage().read(sync)).toMatchObject({ ...active, alerts: [closed] })
      for (let n = 0; n < 4; n += 1) {
        await failOnce(sync)
      }
      expect(await stage().read(sync)).toMatchObject(active)
      // Its next trip is another incident.
      const again = await failOnce(sync)
      expect(await stage().read(sync)).toMatchObject({
        ...{ status: 'paused', runId: again },
        alerts: [closed, { runId: again, isOpen: true }],
      })
    })

    it('is resuming what a person had paused', async () => {
      const sync = await seedFailing()
      await createPerson(database(), stage().harness, sync).pause()
      await resumeSync(...stage().acting(sync), { syncId: sync.syncId })
      for (let n = 0; n < 4; n += 1) {
        await failOnce(sync)
        expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
      }
      const runId = await failOnce(sync)
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })

    it('is no draft that is saved', async () => {
      const sync = await seedFailing()
      const settings = { pageSize: 7 }
      await updateSync(...stage().acting(sync), { syncId: sync.syncId, settings })
      const runId = await failOnce(sync)
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })

    it('is nothing but a publication once it has tripped', async () => {
      const sync = await seedFailing()
      const runId = await failOnce(sync)
      const resuming = resumeSync(...stage().acting(sync), { syncId: sync.syncId })
      await expect(resuming).rejects.toMatchObject({ code: 'SYNC_PAUSED' })
      const running = createPerson(database(), stage().harness, sync).runNow()
      await expect(running).rejects.toMatchObject({ code: 'SYNC_PAUSED' })
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })
  })

  describe('where no worker is left', () => {
    /** The run of a worker that is gone, and that has ended its workers as often as it may. */
    async function seedGone(failedRuns: number) {
      const sync = await stage().seedScheduled()
      await putFailedRuns(database(), sync, failedRuns)
      const { holder } = await seedClaimedRun(database(), sync)
      return { sync, runId: holder.runId }
    }
    /** One that is alone recovers at once. */
    async function recover(runId: string) {
      await database().rows(sql`update run set take_overs = ${MAX_TAKE_OVERS - 1}
        where id = ${runId}`)
      const recovery = new Recovery({ ...stage().shared(), silentAfterMs: 1_000, isAlone: true })
      await recovery.start()
      await recovery.stop()
    }
    const sweep = () =>
      new Sweep({
        ...{ ...stage().shared(), leases: createMemoryLeases(systemClock) },
        ...{ stuckAfterMs: HOUR_MS, beatMs: 5, silentAfterMs: 10 },
      }).runOnce(new Date(Date.now() + 2 * HOUR_MS))

    it('pauses a sync whose fifth failed run recovery closes', async () => {
      const { sync, runId } = await seedGone(4)
      await recover(runId)
      expect((await stage().runsOf(sync)).at(-1)).toMatchObject({ code: 'stale_job_swept' })
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })

    it('is not asked where recovery closes a test of the draft, however many runs have failed (I23)', async () => {
      const { sync, runId } = await seedGone(5)
      await database().rows(sql`update run set cause = 'test' where id = ${runId}`)
      await recover(runId)
      expect((await stage().runsOf(sync)).at(-1)).toMatchObject({ code: 'stale_job_swept' })
      expect(await stage().read(sync)).toMatchObject(UNTRIPPED)
    })

    it('pauses a sync whose fifth failed run is swept, and queues no other', async () => {
      const { sync, runId } = await seedGone(4)
      await sweep()
      expect((await stage().runsOf(sync)).at(-1)).toMatchObject({
        id: runId,
        code: 'stale_job_swept',
      })
      expect(await stage().read(sync)).toMatchObject(trippedBy(runId))
    })

    it('goes on where that was the fourth (the control)', async () => {
      const closed = await seedGone(3)
      await recover(closed.runId)
      expect(await stage().read(closed.sync)).toMatchObject(UNTRIPPED)
      const swept = await seedGone(3)
      await sweep()
      expect(await stage().read(swept.sync)).toMatchObject(UNTRIPPED)
      expect((await stage().runsOf(swept.sync)).at(-1)).toMatchObject({
        status: 'queued',
        cause: 'sweep',
      })
    })
  })
})
