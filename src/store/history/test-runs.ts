/** Test runs as people see them. Every read names the workspace (I13). */
import { and, eq, inArray } from 'drizzle-orm'
import type { Handle } from '../database.ts'
import { run } from '../schema.ts'
import { testRun } from '../schema-test-runs.ts'

export async function findTestRuns(handle: Handle, workspaceId: string, runIds: readonly string[]) {
  return await handle.orm
    .select({
      runId: testRun.runId,
      versionDigest: testRun.versionDigest,
      recordLimit: testRun.recordLimit,
      recordsWithProblems: testRun.recordsWithProblems,
    })
    .from(testRun)
    .innerJoin(run, eq(run.id, testRun.runId))
    .where(and(eq(run.workspaceId, workspaceId), inArray(testRun.runId, [...runIds])))
}

export type HistoricTestRun = Awaited<ReturnType<typeof findTestRuns>>[number]

/** What is kept of their records, sealed. */
export async function findTestRecords(
  handle: Handle,
  workspaceId: string,
  runIds: readonly string[],
) {
  return await handle.orm
    .select({ runId: testRun.runId, sealedRecords: testRun.sealedRecords })
    .from(testRun)
    .innerJoin(run, eq(run.id, testRun.runId))
    .where(and(eq(run.workspaceId, workspaceId), inArray(testRun.runId, [...runIds])))
}
