/** On both databases: what the watchmen read and note, and the alert that ends with the first success (I19). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type AlertChannel, type NewAlert, silenceIncident } from '../../src/domain/alert.ts'
import { raiseAlert } from '../../src/store/alerts.ts'
import type { Database } from '../../src/store/database.ts'
import { completeRun } from '../../src/store/run-ends.ts'
import { enqueueRun } from '../../src/store/runs.ts'
import {
  type AskedWorkspace,
  listStuckQueues,
  listWorkspaceFacts,
} from '../../src/store/silences.ts'
import { findCheck, finishCheck, takeCheck } from '../../src/store/watch-checks.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun } from '../support/factories.ts'
import { newId, newRun, seedClaimedRun, seedSync } from '../support/store-seed.ts'

const HOUR_MS = 3_600_000
const SLOT = Date.parse('2026-12-01T10:13:00Z')

function silenceOf(workspaceId: string): NewAlert {
  return {
    id: newId(),
    workspaceId,
    audience: 'tajo',
    severity: 'critical',
    kind: 'workspace_silent',
    incident: silenceIncident(workspaceId),
    syncId: null,
    runId: null,
    title: 'Silent',
    message: 'It is silent.',
    facts: { silence: 'no_run' },
  }
}

describe.each(DATABASE_KINDS)('the watchmen on %s', (kind) => {
  const database = useDatabase(kind)

  const raise = async (workspaceId: string, channels: readonly AlertChannel[] = ['log']) => {
    const alert = silenceOf(workspaceId)
    return (await raiseAlert(database(), alert, channels)) ? alert.id : null
  }
  const alertsOf = (workspaceId: string) =>
    database().rows(sql`
      select alert.closing, string_agg(event || ' ' || channel, ', ' order by event, channel) as told
      from alert left join alert_notice on alert_notice.alert_id = alert.id
      where workspace_id = ${workspaceId}
      group by alert.id order by alert.id`)

  describe('a check', () => {
    it('is taken once from what was seen of it, and finished by whoever took it', async () => {
      const [name, now] = [newId(), new Date(SLOT + 4_000)]
      const seen = await findCheck(database(), name, now)
      expect(seen).toEqual({ nowMs: now.getTime(), taken: null, finished: null })
      const takes = await Promise.all(
        [1, 2, 3].map(() => takeCheck(database(), name, { slotMs: SLOT, seen })),
      )
      const [taken] = takes.filter((each) => each !== null)
      expect(takes.filter((each) => each !== null)).toHaveLength(1)
      if (!taken) {
        return
      }
      expect(await findCheck(database(), name, now)).toEqual({ ...seen, taken })
      const finish = { taken, figures: { asked: 3 }, now: new Date(SLOT + 9_000) }
      expect(await finishCheck(database(), name, finish)).toBe(true)
      expect(await finishCheck(database(), name, finish)).toBe(false)
      expect(await findCheck(database(), name, now)).toEqual({
        ...seen,
        taken: { ...taken, finishedMs: SLOT + 9_000 },
        finished: { atMs: SLOT + 9_000, figures: { asked: 3 } },
      })
    })

    it('that was taken over is not finished by the one that had it, and keeps the figures of the last', async () => {
      const name = newId()
      const first = await take(name, SLOT)
      await finishCheck(database(), name, {
        taken: first,
        figures: { asked: 1 },
        now: new Date(SLOT),
      })
      const slow = await take(name, SLOT + HOUR_MS)
      const later = await take(name, SLOT + HOUR_MS, 6 * 60_000)
      const figures = { asked: 2 }
      const now = new Date(SLOT + HOUR_MS)
      expect(await finishCheck(database(), name, { taken: slow, figures, now })).toBe(false)
      expect((await findCheck(database(), name)).finished).toMatchObject({ figures: { asked: 1 } })
      expect(await finishCheck(database(), name, { taken: later, figures, now })).toBe(true)
    })

    async function take(name: string, slotMs: number, lateMs = 0) {
      const seen = await findCheck(database(), name, new Date(slotMs + lateMs))
      const taken = await takeCheck(database(), name, { slotMs, seen })
      expect(taken).not.toBeNull()
      return taken ?? { slotMs: 0, startedMs: 0, finishedMs: null }
    }
  })

  describe('workspaces', () => {
    it('are asked page by page, each once, with what is known of them', async () => {
      const [quiet, busy, resting] = [
        await seedSync(database()),
        await seedSync(database()),
        newId(),
      ]
      await seedSync(database(), { workspaceId: busy.workspaceId })
      await database().rows(sql`insert into workspace (id, name) values (${resting}, 'Empty')`)
      await database().rows(sql`
        update sync set activated_at = now() - interval '3 hours' where id = ${busy.syncId}`)
      await makeRun(database(), { ...busy, status: 'succeeded' })
      await makeRun(database(), { ...busy, status: 'failed' })
      await raise(quiet.workspaceId)
      const found = new Map((await listAll(2)).map((facts) => [facts.workspaceId, facts]))
      expect(found.get(quiet.workspaceId)).toMatchObject({
        activeSyncs: 1,
        activeSinceMs: expect.any(Number),
        lastSucceededMs: null,
        lastRunMs: null,
        lastEndedMs: null,
        runsInFlight: 0,
        alertedMs: expect.any(Number),
      })
      const facts = found.get(busy.workspaceId)
      expect(facts).toMatchObject({ activeSyncs: 2, alertedMs: null })
      expect(Date.now() - (facts?.activeSinceMs ?? 0)).toBeGreaterThanOrEqual(3 * HOUR_MS - 1_000)
      expect(facts?.lastRunMs).toBeGreaterThan(Date.now() - HOUR_MS)
      expect(facts?.lastSucceededMs).toBeGreaterThan(Date.now() - HOUR_MS)
      expect(found.get(resting)).toMatchObject({ activeSyncs: 0, activeSinceMs: null })
    })

    it('are asked for runs that are in flight, or have ended, whenever those were recorded', async () => {
      const first = await seedSync(database())
      const { workspaceId } = first
      const [ended, running] = [
        await seedSync(database(), { workspaceId }),
        await seedSync(database(), { workspaceId }),
      ]
      await makeRun(database(), { ...ended, status: 'failed' })
      await database().rows(sql`
        update run set created_at = now() - interval '30 hours', finished_at = now() - interval '2 hours'
        where sync_id = ${ended.syncId}`)
      await seedClaimedRun(database(), running)
      await enqueueRun(database(), newRun(first))
      await database().rows(sql`
        update run set created_at = now() - interval '40 hours'
        where workspace_id = ${workspaceId} and sync_id <> ${ended.syncId}`)
      const facts = (await listAll(5)).find((each) => each.workspaceId === workspaceId)
      expect(facts).toMatchObject({ activeSyncs: 3, runsInFlight: 2, lastSucceededMs: null })
      const hoursAgo = (ms: number | null | undefined) =>
        Math.round((Date.now() - (ms ?? 0)) / HOUR_MS)
      expect(hoursAgo(facts?.lastEndedMs)).toBe(2)
      expect(hoursAgo(facts?.lastRunMs)).toBeGreaterThanOrEqual(30)
    })

    async function listAll(limit: number) {
      const all: AskedWorkspace[] = []
      let after: string | null = null
      do {
        const page: readonly AskedWorkspace[] = await listWorkspaceFacts(database(), {
          after,
          limit,
        })
        all.push(...page)
        after = page.at(-1)?.workspaceId ?? null
      } while (after !== null)
      const [row] = await database().rows(sql`select count(*)::integer as count from workspace`)
      expect(all).toHaveLength(Number(row?.['count']))
      expect(new Set(all.map(({ workspaceId }) => workspaceId)).size).toBe(all.length)
      return all
    }

    it('whose runs nobody takes are found, but not where the queue moves or the silence is known', async () => {
      const overdueMs = Date.now() - 15 * 60_000
      const seedWaiting = async (given: {
        minutes: number
        succeeded?: boolean
        known?: boolean
      }) => {
        const sync = await seedSync(database())
        const run = newRun(sync)
        await enqueueRun(database(), run)
        await database().rows(sql`
          update run set due_at = now() - ${given.minutes}::float8 * interval '1 minute'
          where id = ${run.id}`)
        if (given.succeeded) {
          const other = await seedSync(database(), { workspaceId: sync.workspaceId })
          await makeRun(database(), { ...other, status: 'succeeded' })
        }
        if (given.known) {
          await raise(sync.workspaceId)
        }
        return { ...sync, runId: run.id }
      }
      const stuck = await seedWaiting({ minutes: 16 })
      const others = [
        await seedWaiting({ minutes: 14 }),
        await seedWaiting({ minutes: 16, succeeded: true }),
        await seedWaiting({ minutes: 16, known: true }),
      ]
      const found = await listStuckQueues(database(), { after: null, limit: 1_000, overdueMs })
      const ids = found.map(({ workspaceId }) => workspaceId)
      expect(found.find(({ workspaceId }) => workspaceId === stuck.workspaceId)).toMatchObject({
        waitingRuns: 1,
        oldestRunId: stuck.runId,
        oldestDueMs: expect.any(Number),
      })
      expect(others.filter(({ workspaceId }) => ids.includes(workspaceId))).toEqual([])
      const after = await listStuckQueues(database(), {
        after: stuck.workspaceId,
        limit: 1_000,
        overdueMs,
      })
      expect(after.map(({ workspaceId }) => workspaceId)).not.toContain(stuck.workspaceId)
    })
  })

  describe('the alert of a silence', () => {
    const OVER = 'A run of the workspace has succeeded.'

    it('is closed by the statement that records the first success, which tells whoever was told', async () => {
      const sync = await seedSync(database())
      const neighbour = await seedSync(database())
      await raise(sync.workspaceId, ['log', 'webhook'])
      await raise(neighbour.workspaceId)
      const { holder } = await seedClaimedRun(database(), sync)
      expect(await completeRun(database(), holder, 'succeeded')).not.toBeNull()
      const told = 'closed log, closed webhook, opened log, opened webhook'
      expect(await alertsOf(sync.workspaceId)).toEqual([{ closing: OVER, told }])
      expect(await alertsOf(neighbour.workspaceId)).toEqual([{ closing: null, told: 'opened log' }])
      // What is over can begin again, and is another incident.
      expect(await raise(sync.workspaceId)).not.toBeNull()
    })

    it('stays open when a run ends in part, and when the end is another worker’s', async () => {
      const sync = await seedSync(database())
      await raise(sync.workspaceId)
      const partial = await seedClaimedRun(database(), sync)
      expect(await completeRun(database(), partial.holder, 'partial')).not.toBeNull()
      const lost = await seedClaimedRun(database(), sync)
      const stale = { ...lost.holder, epoch: lost.holder.epoch - 1 }
      expect(await completeRun(database(), stale, 'succeeded')).toBeNull()
      expect(await alertsOf(sync.workspaceId)).toEqual([{ closing: null, told: 'opened log' }])
    })

    it('is closed once by runs that succeed at the same moment', async () => {
      const first = await seedSync(database())
      const second = await seedSync(database(), { workspaceId: first.workspaceId })
      await raise(first.workspaceId)
      const holders = [
        (await seedClaimedRun(database(), first)).holder,
        (await seedClaimedRun(database(), second)).holder,
      ]
      const ended = await Promise.all(
        holders.map((holder) => completeRun(database(), holder, 'succeeded')),
      )
      expect(ended.filter((progress) => progress !== null)).toHaveLength(2)
      expect(await alertsOf(first.workspaceId)).toEqual([
        { closing: OVER, told: 'closed log, opened log' },
      ])
    })

    it('is found by its index when a run ends, however many alerts there are', async () => {
      const sync = await seedSync(database())
      const { holder } = await seedClaimedRun(database(), sync)
      await seedClosedAlerts(database(), sync.workspaceId, 2_000)
      await database().rows(sql`analyze alert`)
      const plan = await database().rows<{ 'QUERY PLAN': string }>(sql`
        explain update alert set closing = 'x' from run
        where run.id = ${holder.runId} and run.status = 'succeeded'
          and alert.incident = ${silenceIncident('')}::text || run.workspace_id
          and alert.closed_at is null`)
      const text = plan.map((row) => row['QUERY PLAN']).join('\n')
      expect(text).toContain('alert_open_incident')
      expect(text).not.toContain('Seq Scan on alert')
    })
  })
})

async function seedClosedAlerts(database: Database, workspaceId: string, count: number) {
  await database.rows(sql`
    insert into alert (id, workspace_id, audience, severity, kind, incident, title, message, facts,
                       closed_at, closing)
    select gen_random_uuid(), ${workspaceId}::uuid, 'tajo', 'critical', 'workspace_silent',
           'old:' || n, 'Old', 'Old.', '{}', now(), 'Over.'
    from generate_series(1, ${count}::integer) as n`)
}
