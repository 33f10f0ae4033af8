/** What has changed since an earlier look at the runs: on both databases, after every verb, and after a late commit. */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { failure } from '../../src/domain/failure.ts'
import type { RunProgress } from '../../src/domain/progress.ts'
import { ToldRuns } from '../../src/graphql/told-runs.ts'
import type { Database } from '../../src/store/database.ts'
import { lookAtRuns, type WatchedRuns } from '../../src/store/history/run-changes.ts'
import { completeRun } from '../../src/store/run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from '../../src/store/run-progress.ts'
import { enqueueRun, failQueuedRunOfSync } from '../../src/store/runs.ts'
import { putEndedRun } from '../support/breaker-steps.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { holdOpen } from '../support/held-open.ts'
import { newRun, type SeededSync, seedClaimedRun, seedSync } from '../support/store-seed.ts'
import { act, seedBusySync, VERBS } from '../support/sync-verbs.ts'

/** Looks again and again, and knows what a client of the stream would know. */
class Watcher {
  readonly known = new Map<string, RunProgress>()
  readonly #told = new ToldRuns()
  readonly #database: Database
  readonly #watched: WatchedRuns
  #position: number | null = null

  constructor(database: Database, watched: WatchedRuns) {
    this.#database = database
    this.#watched = watched
  }

  /** The runs of which there was news. */
  async look(): Promise<readonly string[]> {
    const options = { since: this.#position, limit: 100 }
    const { position, runs } = await lookAtRuns(this.#database, this.#watched, options)
    const told = runs.map(({ progress }) => ({ progress, note: null }))
    if (this.#position === null) {
      this.#told.begin(told)
    } else {
      this.#told.look(told)
    }
    this.#position = position
    const pending = this.#told.pendingIds()
    for (const runId of pending) {
      const news = this.#told.take(runId)
      if (news) {
        this.known.set(runId, news.progress)
      }
    }
    return pending
  }
}

function watch(database: Database, sync: SeededSync): Watcher {
  return new Watcher(database, { workspaceId: sync.workspaceId, syncId: sync.syncId })
}

async function allRunsOf(database: Database, { syncId }: SeededSync) {
  const rows = await database.rows<ProgressRow>(
    sql`select ${PROGRESS_COLUMNS} from run where sync_id = ${syncId}`,
  )
  return new Map(rows.map((row) => [row.runId, toProgress(row)]))
}

describe.each(DATABASE_KINDS)('what has changed of the runs on %s', (kind) => {
  const database = useDatabase(kind)

  it.each(Object.keys(VERBS))('is told whole after: %s', async (verb) => {
    const busy = await seedBusySync(database())
    const watcher = watch(database(), busy.sync)
    await watcher.look()
    await act(verb, database(), busy)
    await watcher.look()
    const all = await allRunsOf(database(), busy.sync)
    all.delete(busy.failedRunId) // it was over before anybody watched
    expect(watcher.known).toEqual(all)
    expect(await watcher.look()).toEqual([])
    await database().rows(sql`update run set status = 'canceled', finished_at = now()
      where sync_id = ${busy.sync.syncId} and status = 'queued'`)
  })

  it('begins with what is in flight, and tells a run that came and went between two looks', async () => {
    const sync = await seedSync(database())
    const other = await seedSync(database(), { workspaceId: sync.workspaceId })
    await putEndedRun(database(), sync)
    const { holder } = await seedClaimedRun(database(), sync)
    const ofSync = watch(database(), sync)
    const ofAll = new Watcher(database(), { workspaceId: sync.workspaceId, syncId: null })
    expect(await ofSync.look()).toEqual([holder.runId])
    expect(await ofAll.look()).toEqual([holder.runId])
    const brief = newRun(other)
    await enqueueRun(database(), brief)
    const told = failure('attestation_rule_not_active')
    await failQueuedRunOfSync(database(), { syncId: other.syncId, failure: told })
    expect(await ofSync.look()).toEqual([])
    expect(await ofAll.look()).toEqual([brief.id])
    expect(ofAll.known.get(brief.id)?.status).toBe('failed')
    await completeRun(database(), holder, 'succeeded')
    expect(await ofSync.look()).toEqual([holder.runId])
  })

  it('is none of what ended in another cluster, from which it was restored, nor is a place of that one', async () => {
    const sync = await seedSync(database())
    const restored = await putEndedRun(database(), sync)
    await database().rows(sql`
      update run set ended_in = ended_in + 1000000000 where id = ${restored}`)
    const watched = { workspaceId: sync.workspaceId, syncId: sync.syncId }
    const look = async (since: number | null) => {
      const { position, runs } = await lookAtRuns(database(), watched, { since, limit: 100 })
      return { position, ids: runs.map(({ progress }) => progress.runId) }
    }
    const first = await look(null)
    expect(first.ids).toEqual([])
    expect((await look(first.position + 2_000_000_000)).ids).toEqual([])
    const ended = await putEndedRun(database(), sync)
    expect((await look(first.position)).ids).toEqual([ended])
  })

  it('is of one workspace only', async () => {
    const [mine, theirs] = [await seedSync(database()), await seedSync(database())]
    const look = { since: 0, limit: 100 }
    await putEndedRun(database(), theirs)
    const foreign = { workspaceId: mine.workspaceId, syncId: theirs.syncId }
    expect((await lookAtRuns(database(), foreign, look)).runs).toEqual([])
    const own = { ...foreign, workspaceId: theirs.workspaceId }
    expect((await lookAtRuns(database(), own, look)).runs).toHaveLength(1)
  })
})

describe.runIf(DATABASE_KINDS.includes('postgresql'))('an end that is committed late', () => {
  const database = useDatabase('postgresql')

  it('is told, although a later transaction was seen before it', async () => {
    const sync = await seedSync(database())
    const other = await seedSync(database(), { workspaceId: sync.workspaceId })
    const watcher = new Watcher(database(), { workspaceId: sync.workspaceId, syncId: null })
    await watcher.look()
    const late = newRun(sync)
    const held = await holdOpen(database(), async (tx) => {
      await enqueueRun(tx, late)
      await failQueuedRunOfSync(tx, { syncId: sync.syncId, failure: failure('lease_lost') })
    })
    const early = await putEndedRun(database(), other)
    expect(await watcher.look()).toEqual([early])
    expect(await watcher.look()).toEqual([])
    await held.release()
    expect(await watcher.look()).toEqual([late.id])
    expect(await watcher.look()).toEqual([])
  })
})

describe('a run that gets on', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  it('changes no index of the run table at a checkpoint', async () => {
    const [row] = await database().rows<{ indexed: number }>(sql`
      select count(*)::int as indexed
      from pg_index
      join pg_attribute on attrelid = indrelid and attnum = any (indkey)
      where indrelid = 'run'::regclass
        and attname in ('event_n', 'progress_at', 'read', 'written', 'take_overs', 'interruptions')`)
    expect(row?.indexed).toBe(0)
  })
})
