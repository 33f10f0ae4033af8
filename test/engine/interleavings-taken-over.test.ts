/**
 * Two workers on one run: one that was taken over and does not know it, and the one that has the run now. The
 * older one trusts itself all the while (it beats, and its lease ran out for nobody): only the fence, the intents
 * and the lease of the younger stand between a record and its second writing (I1, I2).
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { leaseName } from '../../src/domain/lease.ts'
import type { FaultPoint } from '../../src/engine/fault-points.ts'
import { listRunningRuns, recoverRun } from '../../src/store/workers.ts'
import { CALM_SETTINGS, ONE_SLOT } from '../support/calm-settings.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { type Contact, counts, createWaitingClock } from '../support/deliveries.ts'
import { createEngineHarness, type EngineHarness } from '../support/engine-harness.ts'
import {
  type Reaction,
  type RecordingDestination,
  startRecordingDestination,
} from '../support/recording-destination.ts'
import {
  createScriptedSource,
  type ScriptedSource,
  scriptedRows,
} from '../support/scripted-source.ts'
import { createSignal } from '../support/signal.ts'
import { newId, type SeededSync } from '../support/store-seed.ts'

const ROWS = 9
const NONE = { path: 'PAGE', deliveryClass: 'NONE' }
const IDEMPOTENT = { path: 'PAGE', deliveryClass: 'IDEMPOTENT' }
/** Its quiet time is a minute and some seconds. */
const LOOKUP = {
  ...{ path: 'PAGE', deliveryClass: 'LOOKUP', lookupObject: '/writes/{key}' },
  ...{ requestDeadlineMs: 1_000, settlingMs: 60_000 },
}
const CALM = { engine: ONE_SLOT, settings: CALM_SETTINGS }
const CALM_TWICE = { engine: { ...ONE_SLOT, slots: 2 }, settings: CALM_SETTINGS }

describe.runIf(DATABASE_KINDS.includes('postgresql'))('a holder that was taken over', () => {
  const database = useDatabase('postgresql')
  let source: ScriptedSource
  let destination: RecordingDestination
  let harness: EngineHarness

  const open = async (honoursKeys: boolean) => {
    source = createScriptedSource(scriptedRows(ROWS))
    destination = await startRecordingDestination({ honoursKeys })
    harness = createEngineHarness({ database: database(), source, destination })
  }
  beforeEach(() => open(false))
  afterEach(async () => {
    await harness.close()
    await destination.close()
  })

  /** A hook that stops the first attempt where it reaches the point. */
  const stopsAt = (point: FaultPoint) => {
    const [isThere, mayGoOn] = [createSignal(), createSignal()]
    let reached = 0
    return {
      isThere: isThere.reached,
      goOn: mayGoOn.reach,
      hook: async (at: FaultPoint) => {
        if (at === point && ++reached === 1) {
          isThere.reach()
          await mayGoOn.reached
        }
      },
    }
  }
  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const isLost = () => until(() => harness.logger.count('run.lost') === 1)
  /** As recovery does it, between two beats of its worker. */
  const takeOver = (runId: string) =>
    until(async () => {
      const seen = (await listRunningRuns(database())).find((run) => run.runId === runId)
      return seen !== undefined && (await recoverRun(database(), seen)) !== null
    })
  /** As somebody may do it who wants to set a run free. */
  const setBackByHand = async (runId: string) => {
    await database().rows(sql`update run set status = 'queued', worker_id = null
      where id = ${runId}`)
  }
  const effects = () => [...destination.effects.values()]
  const writtenEmails = () => destination.applied.map(({ record }) => (record as Contact).email)
  /** What a checkpoint or an end would have changed. */
  const readStanding = async ({ syncId }: SeededSync) => {
    const [row] = await database().rows(sql`
      select (select jsonb_agg(run order by id) from run where sync_id = ${syncId}) as runs,
             (select to_jsonb(sync_fence) from sync_fence where sync_id = ${syncId}) as fence`)
    return row
  }
  const readReached = async ({ syncId }: SeededSync) => {
    const [row] = await database().rows(
      sql`select reached from sync_fence where sync_id = ${syncId}`,
    )
    return row?.['reached']
  }
  const countDelivered = async ({ syncId }: SeededSync) => {
    const [row] = await database().rows<{ delivered: number }>(sql`
      select count(*)::int as delivered from delivery join open_page
        on substring(delivery.key from 1 for 16) = open_page.page_digest
      where open_page.sync_id = ${syncId}`)
    return row?.delivered
  }

  describe('with its answer in hand', () => {
    it('may record it: the new holder finds it delivered, and sends it not again', async () => {
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: NONE })
      const answer = createSignal()
      destination.script({ kind: 'apply', until: answer.reached })
      await harness.startEngine({ ...CALM })
      const called = destination.nextRequest()
      const runId = await harness.enqueue(sync)
      await called
      await takeOver(runId)
      const younger = stopsAt('afterLease')
      await harness.startEngine({ ...CALM, faults: younger.hook })
      await younger.isThere
      answer.reach()
      await isLost()
      expect(await countDelivered(sync)).toBe(3)
      expect(await readReached(sync)).toBeNull()
      younger.goOn()
      expect(await harness.waitForEnd(runId)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: ROWS, written: 6, replayed: 3 }),
      })
      expect(effects()).toEqual(Array(ROWS).fill(1))
    })

    it('may record what it told of a part: the rest is asked for, and not sent again', async () => {
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: LOOKUP })
      destination.script(tellingOnly('r0@'))
      const older = stopsAt('afterSend')
      await harness.startEngine({ ...CALM, faults: older.hook })
      const runId = await harness.enqueue(sync)
      await older.isThere
      await takeOver(runId)
      const clock = createWaitingClock(50_000, 67_000)
      await harness.startEngine({ ...CALM, clock })
      await clock.waiting
      older.goOn()
      await until(async () => (await countDelivered(sync)) === 1)
      clock.pass()
      expect(await harness.waitForEnd(runId)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: ROWS, written: 6, replayed: 3 }),
      })
      expect(effects()).toEqual(Array(ROWS).fill(1))
    })

    it('may record it also after the new holder has counted it as in doubt', async () => {
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: NONE })
      const answer = createSignal()
      destination.script({ kind: 'apply', until: answer.reached })
      await harness.startEngine({ ...CALM })
      const called = destination.nextRequest()
      const runId = await harness.enqueue(sync)
      await called
      await takeOver(runId)
      await harness.startEngine({ ...CALM })
      const end = await harness.waitForEnd(runId)
      expect(end.counters).toEqual(counts({ read: ROWS, written: 6, inDoubt: 3 }))
      const standing = await readStanding(sync)
      answer.reach()
      await isLost()
      expect(await readStanding(sync)).toEqual(standing)
      expect(await harness.run(sync)).toMatchObject({
        status: 'succeeded',
        counters: counts({ read: 3, replayed: 3 }),
      })
      expect(effects()).toEqual(Array(ROWS).fill(1))
    })

    it('records nothing where the new holder has sent it again', async () => {
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: IDEMPOTENT })
      const answer = createSignal()
      destination.script({ kind: 'apply', until: answer.reached })
      await harness.startEngine({ ...CALM })
      const called = destination.nextRequest()
      const runId = await harness.enqueue(sync)
      await called
      await takeOver(runId)
      await harness.startEngine({ ...CALM })
      expect((await harness.waitForEnd(runId)).status).toBe('succeeded')
      const standing = await readStanding(sync)
      answer.reach()
      await isLost()
      expect(await readStanding(sync)).toEqual(standing)
      expect(harness.logger.events).toContainEqual(
        expect.objectContaining({
          event: 'attempt.stopped',
          bindings: { runId, stop: 'fenced_off' },
        }),
      )
    })

    it('may not take the checkpoint for which it was ready, with its lease just verified', async () => {
      const sync = await harness.seedSync({ pageSize: 3, objectOptions: NONE })
      const older = stopsAt('beforeCheckpoint')
      await harness.startEngine({ ...CALM, faults: older.hook })
      const runId = await harness.enqueue(sync)
      await older.isThere
      await takeOver(runId)
      const younger = stopsAt('afterClaim')
      await harness.startEngine({ ...CALM, faults: younger.hook })
      await younger.isThere
      const standing = await readStanding(sync)
      older.goOn()
      await isLost()
      expect(await readStanding(sync)).toEqual(standing)
      expect(await readReached(sync)).toBeNull()
      younger.goOn()
      const end = await harness.waitForEnd(runId)
      expect(end.status).toBe('succeeded')
      expect(end.counters.read).toBe(ROWS)
      expect(effects()).toEqual(Array(ROWS).fill(1))
    })
  })

  describe.each([
    ['that honours keys', IDEMPOTENT],
    ['that honours none', NONE],
  ])('by hand, at a destination %s,', (_, objectOptions) => {
    const points = [
      ...(['afterClaim', 'afterLease', 'afterReadPage', 'afterReserve', 'afterSend'] as const),
      ...(['afterComplete', 'beforeCheckpoint', 'afterCheckpoint', 'beforeFinish'] as const),
    ]

    it.each(points)('at %s never writes beside the new one', async (point) => {
      await destination.close()
      await open(objectOptions === IDEMPOTENT)
      const sync = await harness.seedSync({ pageSize: 3, objectOptions })
      const older = stopsAt(point)
      await harness.startEngine({ ...CALM, faults: older.hook })
      const runId = await harness.enqueue(sync)
      await older.isThere
      await setBackByHand(runId)
      await harness.startEngine({ ...CALM })
      await harness.waitForEnd(runId)
      const standing = await readStanding(sync)
      older.goOn()
      await isLost()
      expect(await readStanding(sync)).toEqual(standing)
      await expectDeliveredOnce(sync)
    })

    it.each(points)(
      'at %s goes on in the middle of the new one, in the same process',
      async (point) => {
        await destination.close()
        await open(objectOptions === IDEMPOTENT)
        const sync = await harness.seedSync({ pageSize: 3, objectOptions })
        const [older, younger] = [stopsAt(point), stopsAt('afterSend')]
        const runs = new Map<FaultPoint, number>()
        await harness.startEngine({
          ...CALM_TWICE,
          // The second claim of the process is the younger holder.
          faults: async (at) => {
            const claims = (runs.get('afterClaim') ?? 0) + (at === 'afterClaim' ? 1 : 0)
            runs.set('afterClaim', claims)
            await (claims < 2 ? older : younger).hook(at)
          },
        })
        const runId = await harness.enqueue(sync)
        await older.isThere
        await setBackByHand(runId)
        await Promise.race([younger.isThere, harness.waitForEnd(runId)])
        older.goOn()
        await isLost()
        younger.goOn()
        await harness.waitForEnd(runId)
        await expectDeliveredOnce(sync)
      },
    )
  })

  /** A last run takes in what is left: each record has one effect, but what is in doubt and was not written. */
  async function expectDeliveredOnce(sync: SeededSync): Promise<void> {
    const last = await harness.run(sync)
    expect(Math.max(...effects())).toBe(1)
    expect(new Set(writtenEmails()).size).toBe(destination.applied.length)
    expect(last.counters.rejected).toBe(0)
    expect(ROWS - destination.applied.length).toBeLessThanOrEqual(last.counters.inDoubt)
  }

  it('leaves a run alone whose lease a younger holder has: it conflicts, once, and sends nothing', async () => {
    const sync = await harness.seedSync({ pageSize: 3, objectOptions: NONE })
    const held = `99:${newId()}`
    await harness.leases.take(leaseName(sync.syncId), held, 60_000)
    await harness.startEngine({ ...CALM })
    const run = await harness.run(sync)
    expect(run).toMatchObject({ status: 'failed', failureCode: 'lease_conflict' })
    const attempts = await database().rows(
      sql`select outcome from attempt where run_id = ${run.runId}`,
    )
    expect(attempts).toEqual([{ outcome: 'failed' }])
    expect(destination.requests).toEqual([])
    expect(source.reads).toEqual([])
    expect(await harness.leases.findHolder(leaseName(sync.syncId))).toBe(held)
  })
})

/** Applies all of a call, and has a word for one record of it. */
function tellingOnly(start: string): Reaction {
  const applied = new Set<string>()
  return {
    kind: 'results',
    of: (key, record) => {
      // Asked twice of each key: for what is applied, and for what is answered.
      const isAnswer = applied.has(key)
      applied.add(key)
      const isTold = (record as Contact).email.startsWith(start)
      return isAnswer && !isTold ? null : { status: 'written', id: key.slice(0, 12) }
    },
  }
}
