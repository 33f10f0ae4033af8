/**
 * Who raises or closes an alert wakes those that send it, on whatever path that is: a sender whose poll no test lives
 * to see, on a channel that is not the log.
 */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { publishSync } from '../../src/commands/publish-sync.ts'
import { announceAlerts } from '../../src/coordination/announce.ts'
import { createMemoryLeases } from '../../src/coordination/memory/leases.ts'
import { MAX_TAKE_OVERS } from '../../src/domain/run.ts'
import { Recovery } from '../../src/engine/recovery.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { AlertSender } from '../../src/watch/alert-sender.ts'
import { Sweep } from '../../src/watch/sweep.ts'
import { forgetAlerts, raise } from '../support/alerts.ts'
import { HOUR_MS, useBreakerStage } from '../support/breaker-stage.ts'
import { putFailedRuns } from '../support/breaker-steps.ts'
import { ENGINE_DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { ScriptedChannel } from '../support/scripted-channel.ts'
import { type SeededSync, seedClaimedRun } from '../support/store-seed.ts'
import { createWatchmen } from '../support/watchmen.ts'

const NO_POLL_MS = 10 * 60_000

describe.each(ENGINE_DATABASE_KINDS)('an alert is sent at once on %s that', (kind) => {
  const database = useDatabase(kind)
  const stage = useBreakerStage(database)
  let mails: ScriptedChannel
  let sender: AlertSender

  beforeEach(async () => {
    await forgetAlerts(database())
    await database().rows(sql`delete from watch_check`)
    mails = new ScriptedChannel('email')
    const parts = { ...stage().shared(), channels: [mails], pollMs: NO_POLL_MS }
    sender = new AlertSender(parts)
    // Once it has sent one, its first look is behind it.
    await raise(database(), {}, ['email'])
    await sender.start()
    await mails.got(1)
  })
  afterEach(() => sender.stop())

  const whenMailed = async ({ workspaceId }: SeededSync, ...events: readonly string[]) => {
    const mailed = () =>
      mails.given.filter(({ alert }) => alert.workspaceId === workspaceId).map(({ event }) => event)
    await expect.poll(mailed, { timeout: 10_000 }).toEqual(events)
  }
  const watchmen = () =>
    createWatchmen({
      database: database(),
      logger: stage().harness.logger,
      bus: stage().harness.bus,
    })
  async function raiseSilence({ workspaceId }: SeededSync) {
    await raise(database(), { workspaceId, audience: 'tajo' }, ['email'])
    await announceAlerts(stage().harness.bus)
  }
  async function seedFailing() {
    const sync = await stage().seedScheduled()
    await putFailedRuns(database(), sync, 4)
    return sync
  }

  it('a run that fails in a worker raises, and a publication closes', async () => {
    const sync = await seedFailing()
    stage().destination.always({ kind: 'answer', status: 401, body: '{}' })
    await stage().harness.startEngine()
    await stage().harness.run(sync)
    await whenMailed(sync, 'opened')
    const [context, actor] = stage().acting(sync)
    await publishSync({ ...context, bus: stage().harness.bus }, actor, sync)
    await whenMailed(sync, 'opened', 'closed')
  })

  it('a slot that is refused raises', async () => {
    const sync = await seedFailing()
    await stage().disconnect(sync)
    await stage().tick(1)
    await whenMailed(sync, 'opened')
  })

  it('a run raises that recovery closes', async () => {
    const sync = await seedFailing()
    const { holder } = await seedClaimedRun(database(), sync)
    await database().rows(sql`update run set take_overs = ${MAX_TAKE_OVERS - 1}
      where id = ${holder.runId}`)
    const recovery = new Recovery({ ...stage().shared(), silentAfterMs: 1_000, isAlone: true })
    await recovery.start()
    await recovery.stop()
    await whenMailed(sync, 'opened')
  })

  it('a run raises that is swept', async () => {
    const sync = await seedFailing()
    await seedClaimedRun(database(), sync)
    const sweep = new Sweep({
      ...{ ...stage().shared(), leases: createMemoryLeases(systemClock) },
      ...{ stuckAfterMs: HOUR_MS, beatMs: 5, silentAfterMs: 10 },
    })
    await sweep.runOnce(new Date(Date.now() + 2 * HOUR_MS))
    await whenMailed(sync, 'opened')
  })

  it('a run closes that succeeds after a silence', async () => {
    const sync = await stage().seedScheduled()
    await raiseSilence(sync)
    await whenMailed(sync, 'opened')
    await stage().harness.startEngine()
    expect(await stage().harness.run(sync)).toMatchObject({ status: 'succeeded' })
    await whenMailed(sync, 'opened', 'closed')
  })

  it('the dead-man check raises and closes', async () => {
    const sync = await stage().seedScheduled()
    const { deadMan } = watchmen()
    await deadMan.runOnce(new Date(Date.now() + 25 * HOUR_MS))
    await whenMailed(sync, 'opened')
    await database().rows(sql`
      update sync set status = 'paused', pause_cause = 'person' where id = ${sync.syncId}`)
    await deadMan.runOnce(new Date(Date.now() + 26 * HOUR_MS))
    await whenMailed(sync, 'opened', 'closed')
  })

  it('the watch of the queue raises', async () => {
    const sync = await stage().seedScheduled()
    await stage().harness.enqueue(sync)
    const { queueWatch } = watchmen()
    await queueWatch.runOnce(new Date(Date.now() + HOUR_MS))
    await queueWatch.runOnce(new Date(Date.now() + 2 * HOUR_MS))
    await whenMailed(sync, 'opened')
  })
})
