/**
 * Test runs: of which version, and what came of their records.
 *
 * Invariants: a test ends as any run does, by a compare-and-set (I5), and with its result in the same statement;
 * its books say that it read, and wrote nothing (I23); of a sync the records of one test are kept.
 */
import { and, isNotNull, lt, sql } from 'drizzle-orm'
import type { RunProgress } from '../domain/progress.ts'
import type { Handle } from './database.ts'
import { closeAttempt, heldRun, type RunHolder, settlePause } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'
import { testRun } from './schema-test-runs.ts'

/** In the transaction that queues the run. */
export async function insertTestRun(
  tx: Handle,
  made: {
    readonly runId: string
    readonly syncId: string
    readonly versionDigest: string
    readonly recordLimit: number
  },
): Promise<void> {
  await tx.orm.insert(testRun).values(made)
}

/** Where the next run of the sync would start; null: at the beginning. */
export async function findSavedCursor(db: Handle, syncId: string): Promise<string | null> {
  const [row] = await db.rows<{ savedCursor: string | null }>(sql`/* testRuns.findSavedCursor */
    select saved_cursor as "savedCursor"
    from sync_fence
    where sync_id = ${syncId}`)
  return row?.savedCursor ?? null
}

/**
 * running → succeeded. Null: the run is another's. A pause that waits for it is settled, as by any end: a process of a
 * version before tests has let it wait.
 */
export async function completeTestRun(
  db: Handle,
  holder: RunHolder,
  result: {
    readonly read: number
    readonly recordsWithProblems: number
    readonly sealedRecords: string
  },
): Promise<RunProgress | null> {
  const { read, recordsWithProblems, sealedRecords } = result
  const [row] = await db.rows<ProgressRow>(sql`/* testRuns.completeTestRun */
    with held as (${heldRun(holder)}),
    ended as (
      update run
      set status = 'succeeded', finished_at = now(), progress_at = now(),
          event_n = run.event_n + 1, "read" = ${read}::bigint, skipped = ${read}::bigint
      from held
      where run.id = held.id
      returning ${PROGRESS_COLUMNS}, run.claims
    ),
    closed as (${closeAttempt('completed', null)}),
    forgotten as (
      update test_run
      set sealed_records = null
      from ended
      where test_run.sync_id = ended."syncId" and test_run.run_id <> ended."runId"
        and test_run.sealed_records is not null
    ),
    settled as (${settlePause(sql`held`)}),
    kept as (
      update test_run
      set sealed_records = ${sealedRecords}, ended_at = now(),
          records_with_problems = ${recordsWithProblems}::integer
      from ended
      where test_run.run_id = ended."runId"
    )
    select * from ended`)
  return row ? toProgress(row) : null
}

/** Takes away what came of records long ago; answers of how many tests. */
export async function forgetTestRecords(db: Handle, afterMs: number): Promise<number> {
  const longAgo = sql`now() - ${afterMs}::float8 * interval '1 millisecond'`
  const forgotten = await db.orm
    .update(testRun)
    .set({ sealedRecords: null })
    .where(and(isNotNull(testRun.sealedRecords), lt(testRun.endedAt, longAgo)))
    .returning({ runId: testRun.runId })
  return forgotten.length
}
