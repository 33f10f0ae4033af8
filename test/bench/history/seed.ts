/** A million runs in a workspace, as a year of them stands: made by SQL, so that it takes a minute. */
import postgres from 'postgres'
import { FAILURE_CODES } from '../../../src/domain/failure.ts'
import type { Database } from '../../../src/store/database.ts'
import { makeToken } from '../../support/factories.ts'
import { seedSync } from '../../support/store-seed.ts'

const RUNS = 1_000_000
const SYNCS = 200
const RUNS_PER_STATEMENT = 100_000
/** A run every 31 s: a million of them are a year. */
const RUN_EVERY_MS = 31_000

export interface SeededHistory {
  readonly workspaceId: string
  readonly token: string
  readonly syncIds: readonly string[]
}

/** Of a hundred runs 80 succeed, 13 fail (one with each code), 4 are partial and 3 canceled. Failed ones have two attempts. */
export async function seedHistory(database: Database, url: string): Promise<SeededHistory> {
  const first = await seedSync(database)
  const { workspaceId } = first
  const syncIds = [first.syncId]
  for (let n = 1; n < SYNCS; n += 1) {
    const { syncId } = await seedSync(database, { workspaceId })
    syncIds.push(syncId)
  }
  const client = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined })
  try {
    // The rows refer to nothing that is not there, and a check for each of them takes as long as the row itself.
    await client`set session_replication_role = replica`
    for (let done = 0; done < RUNS; done += RUNS_PER_STATEMENT) {
      await seedRuns(client, {
        workspaceId,
        syncIds,
        from: done,
        to: done + RUNS_PER_STATEMENT - 1,
      })
    }
    await seedAttempts(client)
    await client`vacuum analyze run`
    await client`vacuum analyze attempt`
  } finally {
    await client.end()
  }
  const { token } = await makeToken(database, workspaceId)
  return { workspaceId, token, syncIds }
}

async function seedRuns(
  client: postgres.Sql,
  given: {
    readonly workspaceId: string
    readonly syncIds: readonly string[]
    readonly from: number
    readonly to: number
  },
): Promise<void> {
  const { workspaceId, syncIds, from, to } = given
  await client`
    with made as (
      select n, date_trunc('milliseconds', now())
                  - (${RUNS}::int - n) * ${RUN_EVERY_MS}::float8 * interval '1 millisecond' as at
      from generate_series(${from}::int, ${to}::int) as n
    ), told as (
      select n, at,
             (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0')
               || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || left(md5(n::text), 15))::uuid as id,
             (${JSON.stringify(syncIds)}::text::jsonb ->> (n % ${SYNCS}::int))::uuid as sync_id,
             case when n % 100 < 80 then 'succeeded' when n % 100 < 93 then 'failed'
                  when n % 100 < 97 then 'partial' else 'canceled' end as status,
             case when n % 100 between 80 and 92
                  then ${JSON.stringify(FAILURE_CODES)}::text::jsonb ->> (n % 100 - 80) end as code
      from made)
    insert into run (id, workspace_id, sync_id, cause, requested_by, status, due_at,
      attempt_allowance, attempts_spent, claims, epoch, started_at, progress_at, finished_at,
      created_at, "read", written, rejected, in_doubt, failure_code, failure_step, failure_detail)
    select id, ${workspaceId}, sync_id,
           case when n % 1000 = 85 then 'retry' when n % 50 = 0 then 'run_now' else 'schedule' end,
           case when n % 50 = 0 then 'night script' end, status, at, 5, 2, 2, 2,
           at, at + interval '20 seconds', at + interval '21 seconds', at,
           1000, case status when 'partial' then 997 else 1000 end,
           case when status = 'partial' and n % 2 = 0 then 3 else 0 end,
           case when status = 'partial' and n % 2 = 1 then 3 else 0 end,
           code, case when code is not null then 'writing' end,
           case when code is not null then 'The other system answered 503 to call ' || n end
    from told`
}

async function seedAttempts(client: postgres.Sql): Promise<void> {
  await client`
    insert into attempt (run_id, number, epoch, worker_id, started_at, finished_at, outcome,
      failure_code, failure_step, failure_detail)
    select run.id, number, number, run.sync_id, run.started_at + number * interval '5 seconds',
           run.started_at + number * interval '6 seconds',
           case when number = 1 then 'postponed' else 'failed' end,
           run.failure_code, run.failure_step, run.failure_detail
    from run cross join generate_series(1, 2) as number
    where run.status = 'failed'`
}
