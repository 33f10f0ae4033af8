/**
 * Claims by many, and claims against pauses, on PostgreSQL: by open transactions and a statement that is held
 * up in its middle, not by luck.
 */
import { type SQL, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseSync } from '../../src/commands/pause-sync.ts'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { type ClaimedRun, claimRuns, enqueueRun } from '../../src/store/runs.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import { newId, newRun, type SeededSync, seedSync, seedWorker } from '../support/store-seed.ts'
import { actingFor } from '../support/sync-verbs.ts'

const FIRST_WORKSPACE = '00000000-0000-0000-0000-000000000000'
const CLAIMERS = 8
const CLAIMS_EACH = 100
/** 20,000 runs of one busy workspace among 1,000 workspaces with one run each. */
const BUSY_RUNS = 20_000
const QUIET_WORKSPACES = 1_000

const HAS_POSTGRES = DATABASE_KINDS.includes('postgresql')

/** A database of the suite's own, and as many pools of one connection as it asks for. */
function useClaimers() {
  let test: TestDatabase
  let database: Database
  const claimers: Database[] = []
  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    for (let n = 0; n < CLAIMERS; n += 1) {
      const at = { url: test.url }
      claimers.push(await openDatabase({ at, maxConnections: 1, applicationName: 'claimer' }))
    }
  })
  afterAll(async () => {
    await Promise.all(claimers.map((claimer) => claimer.close()))
    await test.drop()
  })
  return { database: () => database, claimers, url: () => test.url }
}

describe.runIf(HAS_POSTGRES)(`${CLAIMERS} claimers on 21,000 due runs`, () => {
  const { database, claimers } = useClaimers()
  beforeAll(() => seedDueRuns(database()))

  it('get one with each of their 800 claims, and none twice', async () => {
    const answers = await Promise.all(
      claimers.map(async (claimer) => {
        const mine: (readonly ClaimedRun[])[] = []
        let afterWorkspaceId = FIRST_WORKSPACE
        for (let n = 0; n < CLAIMS_EACH; n += 1) {
          const claimed = await claimRuns(claimer, {
            workerId: newId(),
            slots: 1,
            afterWorkspaceId,
          })
          afterWorkspaceId = claimed.at(-1)?.workspaceId ?? afterWorkspaceId
          mine.push(claimed)
        }
        return mine
      }),
    )
    const all = answers.flat()
    expect(all.filter((claimed) => claimed.length === 0)).toEqual([])
    const runIds = all.flat().map(({ runId }) => runId)
    expect(new Set(runIds).size).toBe(CLAIMERS * CLAIMS_EACH)
    const [counted] = await database().rows(sql`
      select count(*) filter (where status = 'running')::int as running,
             count(*) filter (where claims > 1)::int as twice from run`)
    expect(counted).toEqual({ running: CLAIMERS * CLAIMS_EACH, twice: 0 })
  }, 120_000)

  /** Each claims while the claims of those before it are not committed yet. */
  async function claimNested(claim: (tx: Handle) => Promise<number>): Promise<number[]> {
    const got: number[] = []
    const open = []
    for (const claimer of claimers) {
      open.push(await holdOpen(claimer, async (tx) => got.push(await claim(tx))))
    }
    await Promise.all(open.map((one) => one.release()))
    return got
  }

  it('pass by what another is about to take, though all look at the busiest workspace', async () => {
    // The workspace just before the busy one in the order of their ids.
    const afterWorkspaceId = workspaceId(0)
    const got = await claimNested(
      async (tx) => (await claimRuns(tx, { workerId: newId(), slots: 4, afterWorkspaceId })).length,
    )
    expect(got).toEqual(Array(CLAIMERS).fill(4))
  })

  it('would mostly get nothing from the oldest runs by rank (the control)', async () => {
    const got = await claimNested(async (tx) => (await tx.rows(CLAIM_BY_RANK)).length)
    expect(got).toEqual([4, 0, 0, 0, 0, 0, 0, 0])
  })
})

/** Ranks all due runs, takes the first four, and locks them only then. */
const CLAIM_BY_RANK = sql`
  with ranked as (
    select id
    from (select id, due_at, row_number() over (partition by workspace_id order by due_at) as rank
          from run
          where status = 'queued' and due_at <= now()) as due
    order by rank, due_at, id
    limit 4
  ),
  locked as (
    select run.id from run join ranked using (id) where run.status = 'queued'
    for update of run skip locked
  )
  update run set status = 'running', worker_id = gen_random_uuid() from locked
  where run.id = locked.id returning run.id`

function workspaceId(n: number): string {
  return `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** The busy workspace is the first. All have connections and published syncs, as the constraints demand. */
async function seedDueRuns(database: Database): Promise<void> {
  const statements = [
    `insert into workspace (id, name)
     select workspace_id(n), 'Test' from generate_series(1, ${QUIET_WORKSPACES + 1}) as n`,
    `insert into connection (id, workspace_id, name, type, config)
     select workspace_id(n), workspace_id(n), 'c', 'file', '{}'
     from generate_series(1, ${QUIET_WORKSPACES + 1}) as n`,
    `create temporary table planned as
     select gen_random_uuid() as id, gen_random_uuid() as publication_id,
            workspace_id(greatest(1, n - ${BUSY_RUNS - 1})) as workspace_id
     from generate_series(1, ${BUSY_RUNS + QUIET_WORKSPACES}) as n`,
    `insert into sync (id, workspace_id, name, status, draft, source_connection_id,
                       destination_connection_id, publication_id)
     select id, workspace_id, id::text, 'active', '{}', workspace_id, workspace_id, publication_id
     from planned`,
    `insert into sync_fence (sync_id) select id from planned`,
    `insert into sync_version (sync_id, digest, config) select id, 'd', '{}' from planned`,
    `insert into publication (id, sync_id, version_digest, published_by)
     select publication_id, id, 'd', 'test' from planned`,
    `insert into run (id, workspace_id, sync_id, publication_id, cause, attempt_allowance, due_at)
     select gen_random_uuid(), workspace_id, id, publication_id, 'run_now', 5, now() - interval '1 hour'
     from planned`,
  ]
  await database.rows(sql`
    create function workspace_id(n bigint) returns uuid language sql immutable as
    $$ select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$`)
  await database.transaction('storeClaims.seedDueRuns', async (tx) => {
    for (const statement of statements) {
      await tx.rows(sql.raw(statement))
    }
  })
  await database.rows(sql`analyze run`)
}

describe.runIf(HAS_POSTGRES)('a pause against a claim', () => {
  const { database, claimers, url } = useClaimers()
  /** Whoever stalls waits for whoever holds this advisory lock. */
  const STALL = 4_711
  let bare: postgres.Sql

  beforeAll(async () => {
    bare = postgres(url(), { max: 1, onnotice: () => undefined })
    await database().rows(sql`
      create function stall() returns boolean language plpgsql volatile as $$
      begin
        perform pg_advisory_lock_shared(4711);
        perform pg_advisory_unlock_shared(4711);
        return true;
      end $$`)
  })
  afterAll(() => bare.end())

  async function seedDue() {
    const sync = await seedSync(database())
    const run = newRun(sync)
    await enqueueRun(database(), run)
    const workerId = await seedWorker(database())
    const claim = async (handle: Handle) => {
      const claimed = await claimRuns(handle, {
        ...{ workerId, slots: 100, afterWorkspaceId: FIRST_WORKSPACE },
      })
      return claimed.filter(({ runId }) => runId === run.id)
    }
    return { sync, run, claim }
  }
  const pause = (handle: Database, sync: SeededSync) =>
    pauseSync(...actingFor(handle, sync), { syncId: sync.syncId, reason: 'Maintenance.' })
  const statusOf = async ({ id }: { readonly id: string }) => {
    const [row] = await database().rows(sql`
      select run.status as run, sync.status as sync
      from run join sync on sync.id = run.sync_id where run.id = ${id}`)
    return row
  }

  it('that has locked the sync: the claim passes by, and finds nothing after the commit', async () => {
    const { sync, run, claim } = await seedDue()
    const [one, other] = claimers as [Database, Database]
    // The pause has the sync and is held up at the run.
    const held = await holdOpen(database(), (tx) =>
      tx.rows(sql`select 1 from run where id = ${run.id} for no key update`),
    )
    const paused = pause(one, sync)
    await waitUntilBlocked(database())
    expect(await claim(other)).toEqual([])
    await held.release()
    expect(await paused).toMatchObject({ status: 'done' })
    expect(await claim(other)).toEqual([])
    expect(await statusOf(run)).toEqual({ run: 'failed', sync: 'paused' })
  })

  it('that comes while a claim is not committed yet waits for it, and then for its run to stop', async () => {
    const { sync, run, claim } = await seedDue()
    const [one, other] = claimers as [Database, Database]
    let claimed = 0
    const held = await holdOpen(other, async (tx) => {
      claimed = (await claim(tx)).length
    })
    const paused = pause(one, sync)
    await waitUntilBlocked(database())
    await held.release()
    expect(claimed).toBe(1)
    expect(await paused).toMatchObject({ status: 'will_stop_by' })
    expect(await claim(other)).toEqual([])
    expect(await statusOf(run)).toEqual({ run: 'running', sync: 'pausing' })
  })

  /** The claim as it is, or changed, held up after it has begun and before it locks a row. */
  function stalled(change: (text: string) => string = (text) => text): Handle {
    const dialect = new PgDialect()
    const rows = async (statement: SQL) => {
      const query = dialect.sqlToQuery(statement)
      const due = 'and run.due_at <= now()\n        order by run.due_at'
      const text = query.sql.replace(due, due.replace('\n', ' and stall()\n'))
      expect(text).toContain('stall()')
      return await bare.unsafe(change(text), query.params as postgres.ParameterOrJSON<never>[])
    }
    return { orm: database().orm, rows: rows as Handle['rows'] }
  }

  async function duringStall<T>(claiming: () => Promise<T>, meanwhile: () => Promise<unknown>) {
    const held = await holdOpen(database(), (tx) =>
      tx.rows(sql`select pg_advisory_xact_lock(${STALL})`),
    )
    const claimed = claiming()
    await waitUntilBlocked(database())
    await meanwhile()
    await held.release()
    return await claimed
  }

  it('that commits after the claim has begun: the claim takes nothing', async () => {
    const { sync, run, claim } = await seedDue()
    const [one] = claimers as [Database]
    expect(
      await duringStall(
        () => claim(stalled()),
        () => pause(one, sync),
      ),
    ).toEqual([])
    expect(await statusOf(run)).toEqual({ run: 'failed', sync: 'paused' })
  })

  /** As a pause that leaves the sync's runs alone. */
  const pauseOnlySync = ({ syncId }: SeededSync) =>
    database().rows(sql`update sync set status = 'paused', pause_cause = 'breaker'
      where id = ${syncId}`)

  it('of the sync alone that commits after the claim has begun is told to the attempt', async () => {
    const { sync, claim } = await seedDue()
    const claimed = await duringStall(
      () => claim(stalled()),
      () => pauseOnlySync(sync),
    )
    expect(claimed).toMatchObject([{ syncStatus: 'paused' }])
  })

  it('would not be told if the claim did not lock the sync (the control)', async () => {
    const { sync, claim } = await seedDue()
    const unlocked = stalled((text) => text.replace('for share of sync skip locked', ''))
    const claimed = await duringStall(
      () => claim(unlocked),
      () => pauseOnlySync(sync),
    )
    expect(claimed).toMatchObject([{ syncStatus: 'active' }])
  })
})
