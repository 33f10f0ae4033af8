/** Rejected records, as people see them: held, set aside, or over. Every read names the workspace (I13). */
import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { RejectionState } from '../../domain/quarantine.ts'
import type { Handle } from '../database.ts'
import { heldRecord } from '../schema.ts'
import { sync } from '../schema-configuration.ts'

/** A state of the list: one that was overtaken is superseded, wherever it stands. */
export type ListedState = RejectionState | 'superseded'

/** What is not over: somebody or some run has to do something about it. */
export const WAITING_STATES = ['held', 'quarantined', 'redriving'] as const

const STATE = sql<ListedState>`case when ${heldRecord.isSuperseded} then 'superseded'
  else ${heldRecord.state} end`

/** Of a sync, or those that a run was the last to reject; oldest first. The row itself is never read. */
export async function listRejectedRecords(
  handle: Handle,
  workspaceId: string,
  options: {
    readonly of: { readonly syncId: string } | { readonly runId: string }
    readonly states: readonly ListedState[]
    readonly after: string | null
    readonly limit: number
  },
) {
  const { of, states, after, limit } = options
  return await handle.orm
    .select({
      id: heldRecord.id,
      syncId: heldRecord.syncId,
      state: STATE,
      pageDigest: sql<string>`encode(${heldRecord.pageDigest}, 'hex')`,
      position: heldRecord.position,
      reason: heldRecord.reason,
      runs: heldRecord.runs,
      isKept: sql<boolean>`${heldRecord.sealedPayload} is not null`,
      firstRunId: heldRecord.firstRunId,
      lastRunId: heldRecord.lastRunId,
      firstRejectedAt: heldRecord.firstRejectedAt,
      rejectedAt: heldRecord.rejectedAt,
      setAsideAt: heldRecord.setAsideAt,
      endedAt: heldRecord.endedAt,
    })
    .from(heldRecord)
    .innerJoin(sync, and(eq(sync.id, heldRecord.syncId), eq(sync.workspaceId, workspaceId)))
    .where(
      and(
        'runId' in of ? eq(heldRecord.lastRunId, of.runId) : eq(heldRecord.syncId, of.syncId),
        isAnyOf(states),
        after === null ? undefined : gt(heldRecord.id, after),
      ),
    )
    .orderBy(asc(heldRecord.id))
    .limit(limit)
}

function isAnyOf(states: readonly ListedState[]): SQL {
  return sql`${STATE} = any (${`{${states.join(',')}}`}::text::text[])`
}

export type HistoricRejectedRecord = Awaited<ReturnType<typeof listRejectedRecords>>[number]
