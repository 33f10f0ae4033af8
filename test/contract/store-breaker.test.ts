/** The breaker in the store, on both databases: which runs it reads, what it writes, and with what (I18). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { decideBreaker, isCounted } from '../../src/domain/breaker.ts'
import { FAILURE_CODES, failure } from '../../src/domain/failure.ts'
import { FINAL_RUN_STATUSES, RUN_CAUSES } from '../../src/domain/run.ts'
import { applyBreaker, findBreakerFacts, recordWithBreaker } from '../../src/store/breaker.ts'
import type { Database } from '../../src/store/database.ts'
import { failRun, type RunHolder } from '../../src/store/run-ends.ts'
import { storeSlots } from '../../src/store/schedules.ts'
import {
  putEndedRun,
  putFailedRuns,
  readBreaker,
  trippedBy,
  UNTRIPPED,
} from '../support/breaker-steps.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { republish } from '../support/engine-harness.ts'
import {
  BREAKER_PARTS,
  newId,
  type SeededSync,
  seedClaimedRun,
  seedSync,
} from '../support/store-seed.ts'

const AWAY = failure('provider_unavailable', { step: 'writing', detail: 'status 503' })
const MINUTELY = { kind: 'interval' as const, everyMs: 60_000 }

describe.each(DATABASE_KINDS)('the breaker on %s', (kind) => {
  const database = useDatabase(kind)

  const read = async ({ syncId }: SeededSync) => {
    const found = await findBreakerFacts(database(), syncId, 5)
    return found?.lastRuns.map(({ runId }) => runId)
  }
  const activate = ({ syncId }: SeededSync, daysAgo: number) =>
    database().rows(sql`update sync
      set activated_at = now() - ${daysAgo}::float8 * interval '1 day' where id = ${syncId}`)
  /** Fails the running run as the engine does. */
  const fail = (sync: SeededSync, holder: RunHolder, through: Database = database()) =>
    recordWithBreaker(through, { ...BREAKER_PARTS, name: 'test.fail', syncId: sync.syncId }, (tx) =>
      failRun(tx, holder, AWAY),
    )

  it('reads the last runs that count, newest first, and no more than it needs', async () => {
    const sync = await seedSync(database())
    const made = await putFailedRuns(database(), sync, 4)
    const partial = await putEndedRun(database(), sync, { status: 'partial' })
    const last = await putEndedRun(database(), sync, { code: 'node_failed' })
    const found = await findBreakerFacts(database(), sync.syncId, 5)
    expect(found).toMatchObject({ syncStatus: 'active', threshold: 5 })
    expect(found?.lastRuns).toEqual([
      { runId: last, failure: failure('node_failed') },
      { runId: partial, failure: null },
      ...made
        .slice(1)
        .reverse()
        .map((runId) => ({ runId, failure: failure('provider_unavailable') })),
    ])
  })

  it.each(FINAL_RUN_STATUSES)('counts a run that is %s as the domain does', async (status) => {
    const sync = await seedSync(database())
    const codes = status === 'failed' ? FAILURE_CODES : [null]
    const counted: string[] = []
    for (const failureCode of codes) {
      for (const cause of RUN_CAUSES) {
        const given = { status, cause, ...(failureCode ? { code: failureCode } : {}) }
        const runId = await putEndedRun(database(), sync, given)
        counted.unshift(...(isCounted({ status, cause, failureCode }) ? [runId] : []))
      }
    }
    const found = await findBreakerFacts(database(), sync.syncId, 100)
    expect(found?.lastRuns.map(({ runId }) => runId)).toEqual(counted)
  })

  it('reads neither what was before the activation, nor another publication, nor another sync', async () => {
    const first = await seedSync(database())
    await putFailedRuns(database(), first, 2)
    const sync = await republish(database(), first, {})
    await putEndedRun(database(), sync, { daysAgo: 150 })
    await activate(sync, 100)
    const kept = [
      await putEndedRun(database(), sync, { daysAgo: 99 }),
      await putEndedRun(database(), sync),
    ]
    await putEndedRun(database(), sync, { publicationId: null })
    await putEndedRun(database(), await seedSync(database()))
    expect(await read(sync)).toEqual(kept.reverse())
    await activate(sync, 0)
    expect(await read(sync)).toEqual([])
  })

  it('goes by when runs ended, however wrong the clocks were that made their ids', async () => {
    const sync = await seedSync(database())
    const place = async (hoursAgo: number) => {
      const time = (Date.now() - hoursAgo * 3_600_000).toString(16).padStart(12, '0')
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7${newId().slice(15)}`
      await database().rows(sql`update run set id = ${id}
        where id = ${await putEndedRun(database(), sync)}`)
      return id
    }
    const ahead = await place(-200)
    const behind = await place(200)
    await activate(sync, 0.01)
    expect(await read(sync)).toEqual([behind, ahead])
  })

  it('takes the threshold from the published version, and not from the draft', async () => {
    const first = await seedSync(database())
    await database().rows(sql`update sync
      set draft = draft || '{"breakerThreshold": 2}' where id = ${first.syncId}`)
    expect(await findBreakerFacts(database(), first.syncId, 5)).toMatchObject({ threshold: 5 })
    const sync = await republish(database(), first, { breakerThreshold: 2 })
    await putFailedRuns(database(), sync, 3)
    expect(await findBreakerFacts(database(), sync.syncId, 5)).toMatchObject({ threshold: 2 })
    expect(await read(sync)).toHaveLength(2)
  })

  it('pauses a sync in the transaction of its fifth failure, and its slots rest', async () => {
    const sync = await seedSync(database(), { schedule: MINUTELY })
    await storeSlots(database(), sync.syncId, { schedule: MINUTELY, anchorMs: 0, slotMs: 60_000 })
    await putFailedRuns(database(), sync, 3)
    const fourth = await seedClaimedRun(database(), sync)
    expect(await fail(sync, fourth.holder)).toMatchObject({ trip: null })
    expect(await readBreaker(database(), sync)).toMatchObject({ ...UNTRIPPED, slotMs: 60_000 })
    const { holder } = await seedClaimedRun(database(), sync)
    const { runId } = holder
    expect(await fail(sync, holder)).toMatchObject({
      recorded: { status: 'failed', failureCode: 'provider_unavailable' },
      trip: { syncId: sync.syncId, runId, code: 'provider_unavailable', failedRuns: 5 },
    })
    const found = await readBreaker(database(), sync)
    expect(found).toMatchObject({ ...trippedBy(runId), slotMs: null })
    expect(found.alerts[0]?.message).toContain(`The id of the run is run_${runId}.`)
    // What the failure's detail may hold stays with the run.
    expect(found.alerts[0]?.message).not.toContain('503')
  })

  it('does nothing for whoever has lost the run, also not a second time', async () => {
    const sync = await seedSync(database())
    await putFailedRuns(database(), sync, 4)
    const { holder } = await seedClaimedRun(database(), sync)
    expect(await fail(sync, { ...holder, epoch: holder.epoch + 1 })).toBeNull()
    expect(await readBreaker(database(), sync)).toMatchObject(UNTRIPPED)
    expect(await fail(sync, holder)).not.toBeNull()
    expect(await fail(sync, holder)).toBeNull()
    expect(await readBreaker(database(), sync)).toMatchObject(trippedBy(holder.runId))
  })

  it('records no failure without the pause, and no pause without the alert', async () => {
    const sync = await seedSync(database())
    await putFailedRuns(database(), sync, 4)
    const { holder } = await seedClaimedRun(database(), sync)
    await database().rows(sql`create function refuse_alert() returns trigger language plpgsql as
      'begin raise exception ''No alert is taken.''; end'`)
    await database().rows(sql`create trigger refuse_alert before insert on alert
      for each row execute function refuse_alert()`)
    await expect(fail(sync, holder)).rejects.toThrow('No alert is taken.')
    await database().rows(sql`drop trigger refuse_alert on alert`)
    await database().rows(sql`drop function refuse_alert()`)
    expect(await readBreaker(database(), sync)).toMatchObject(UNTRIPPED)
    const [run] = await database().rows(sql`select status from run where id = ${holder.runId}`)
    expect(run).toEqual({ status: 'running' })
    expect(await fail(sync, holder)).toMatchObject({ trip: { runId: holder.runId } })
  })

  it('leaves a sync as it is that a person is pausing', async () => {
    const sync = await seedSync(database())
    await putFailedRuns(database(), sync, 4)
    const { holder } = await seedClaimedRun(database(), sync)
    await database().rows(sql`update sync set status = 'pausing', pause_cause = 'person',
      pause_reason = 'Maintenance.' where id = ${sync.syncId}`)
    expect(await fail(sync, holder)).toMatchObject({ trip: null })
    expect(await readBreaker(database(), sync)).toMatchObject({
      ...{ status: 'paused', cause: 'person', reason: 'Maintenance.', runId: null },
      ...{ deeds: [], alerts: [] },
    })
  })

  it('raises one alert an incident, however often it would', async () => {
    const sync = await seedSync(database())
    const [runId] = (await putFailedRuns(database(), sync, 5)).reverse()
    const apply = () =>
      database().transaction('test.apply', (tx) => applyBreaker(tx, BREAKER_PARTS, sync.syncId))
    expect(await apply()).toMatchObject({ runId })
    expect(await apply()).toBeNull()
    // As if somebody had made it active without a publication, which nobody can.
    await database().rows(sql`update sync set status = 'active', pause_cause = null
      where id = ${sync.syncId}`)
    expect(await apply()).toMatchObject({ runId })
    expect((await readBreaker(database(), sync)).alerts).toHaveLength(1)
  })

  it('has nothing to read of a draft', async () => {
    const sync = await seedSync(database())
    await database().rows(sql`update sync set status = 'draft', publication_id = null
      where id = ${sync.syncId}`)
    expect(await findBreakerFacts(database(), sync.syncId, 5)).toBeNull()
    const rest = { syncStatus: 'draft' as const, threshold: 1, lastRuns: [] }
    expect(decideBreaker(rest)).toEqual({ kind: 'rest' })
  })
})
