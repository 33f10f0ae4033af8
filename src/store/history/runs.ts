/** Runs as people see them: history, attempts, the DLQ. Every read names the workspace (I13). */
import { and, asc, eq, inArray, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import {
  FAILURE_CATALOGUE,
  FAILURE_CODES,
  type FailureCode,
  type FailureOwner,
} from '../../domain/failure.ts'
import type { RunProgress } from '../../domain/progress.ts'
import type { RunStatus } from '../../domain/run.ts'
import type { Handle } from '../database.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from '../run-progress.ts'
import { attempt, run } from '../schema.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

const COLUMNS = {
  id: run.id,
  syncId: run.syncId,
  status: run.status,
  cause: run.cause,
  requestedBy: run.requestedBy,
  isCatchingUp: run.isCatchingUp,
  dueAt: run.dueAt,
  attemptAllowance: run.attemptAllowance,
  claims: run.claims,
  startedAt: run.startedAt,
  progressAt: run.progressAt,
  finishedAt: run.finishedAt,
  createdAt: run.createdAt,
  read: run.read,
  written: run.written,
  replayed: run.replayed,
  rejected: run.rejected,
  inDoubt: run.inDoubt,
  quarantined: run.quarantined,
  skipped: run.skipped,
  totalRecords: run.totalRecords,
  failureCode: run.failureCode,
  failureStep: run.failureStep,
  failureSubject: run.failureSubject,
  failureDetail: run.failureDetail,
  cancelRequestedAt: run.cancelRequestedAt,
  cancelRequestedBy: run.cancelRequestedBy,
  cancelReason: run.cancelReason,
  retryOf: run.retryOf,
  resolvedAt: run.resolvedAt,
  resolvedByRunId: run.resolvedByRunId,
  /** Milliseconds from its first claim to its end, or until now; null: no worker has taken it. */
  durationMs: sql<number | null>`floor(extract(epoch from
    coalesce(${run.finishedAt}, now()) - ${run.startedAt}) * 1000)::float8`,
  /** Milliseconds since it last reported progress; null: it never did. */
  silentMs: sql<number | null>`floor(extract(epoch from
    now() - ${run.progressAt}) * 1000)::float8`,
}

export async function findRunsByIds(handle: Handle, workspaceId: string, ids: readonly string[]) {
  return await selectRuns(handle).where(
    and(eq(run.workspaceId, workspaceId), inArray(run.id, [...ids])),
  )
}

export interface RunFilter {
  readonly syncId?: string
  /** Any of these; empty: any. */
  readonly statuses?: readonly RunStatus[]
}

export async function listRuns(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: RunFilter },
) {
  const { page, filter } = options
  const isWanted = keysetRange(
    run.id,
    page,
    eq(run.workspaceId, workspaceId),
    filter.syncId === undefined ? undefined : eq(run.syncId, filter.syncId),
    filter.statuses?.length ? inArray(run.status, [...filter.statuses]) : undefined,
  )
  return await selectRuns(handle)
    .where(isWanted)
    .orderBy(keysetOrder(run.id, page))
    .limit(page.limit)
}

export interface FailureFilter {
  readonly syncId?: string
  readonly owner?: FailureOwner
  readonly code?: FailureCode
}

/** The DLQ: failed and partial runs that no retry has resolved. */
export async function listFailures(
  handle: Handle,
  workspaceId: string,
  options: { readonly page: KeysetPage; readonly filter: FailureFilter },
) {
  const { page, filter } = options
  const isWanted = keysetRange(
    run.id,
    page,
    eq(run.workspaceId, workspaceId),
    sql`${run.status} in ('failed', 'partial')`,
    isNull(run.resolvedAt),
    ne(run.cause, 'test'),
    filter.syncId === undefined ? undefined : eq(run.syncId, filter.syncId),
    filter.code === undefined ? undefined : eq(run.failureCode, filter.code),
    filter.owner === undefined ? undefined : isOwnedBy(filter.owner),
  )
  return await selectRuns(handle)
    .where(isWanted)
    .orderBy(keysetOrder(run.id, page))
    .limit(page.limit)
}

/** As domain/run-view's `ownerOf`, for the database to filter by. */
function isOwnedBy(owner: FailureOwner): SQL | undefined {
  const codes = FAILURE_CODES.filter((code) => FAILURE_CATALOGUE[code].owner === owner)
  const hasRefusedRecords = sql`${run.rejected} + ${run.quarantined} > 0`
  return or(
    and(eq(run.status, 'failed'), inArray(run.failureCode, codes)),
    and(
      eq(run.status, 'partial'),
      owner === 'CUSTOMER' ? hasRefusedRecords : sql`not (${hasRefusedRecords})`,
    ),
  )
}

function selectRuns(handle: Handle) {
  return handle.orm.select(COLUMNS).from(run)
}

export type HistoricRun = Awaited<ReturnType<typeof findRunsByIds>>[number]

/** The newest run of each of the syncs that has one. */
export async function findLastRuns(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
) {
  return await handle.orm
    .selectDistinctOn([run.syncId], COLUMNS)
    .from(run)
    .where(
      and(
        eq(run.workspaceId, workspaceId),
        inArray(run.syncId, [...syncIds]),
        ne(run.cause, 'test'),
      ),
    )
    .orderBy(run.syncId, sql`${run.id} desc`)
}

/** The newest run that succeeded, was partial or failed, of each of the syncs that has one. */
export async function findLastEndedRuns(
  handle: Handle,
  workspaceId: string,
  syncIds: readonly string[],
) {
  const rows = await handle.rows<{ id: string }>(sql`/* history.findLastEndedRuns */
    select last.id
    from unnest(${`{${syncIds.join(',')}}`}::text::uuid[]) as asked (sync_id)
    cross join lateral (
      select run.id
      from run
      where run.sync_id = asked.sync_id and run.workspace_id = ${workspaceId}
        and run.status in ('succeeded', 'partial', 'failed') and run.cause <> 'test'
      order by run.id desc
      limit 1) as last`)
  return await findRunsByIds(
    handle,
    workspaceId,
    rows.map(({ id }) => id),
  )
}

/** The runs that retry one of the given runs; a canceled retry does not count. */
export async function findRetries(handle: Handle, workspaceId: string, runIds: readonly string[]) {
  return await selectRuns(handle).where(
    and(
      eq(run.workspaceId, workspaceId),
      inArray(run.retryOf, [...runIds]),
      ne(run.status, 'canceled'),
    ),
  )
}

/** Attempts that are shown of a run, the newest ones; take-overs and drains add to the allowance of 5. */
const MAX_ATTEMPTS_SHOWN = 50

/** The attempts of runs that the caller has already read within its workspace, in the order of their numbers. */
export async function findAttempts(handle: Handle, runIds: readonly string[]) {
  const numbered = handle.orm
    .select({
      runId: attempt.runId,
      number: attempt.number,
      workerId: attempt.workerId,
      startedAt: attempt.startedAt,
      finishedAt: attempt.finishedAt,
      outcome: attempt.outcome,
      failureCode: attempt.failureCode,
      failureStep: attempt.failureStep,
      failureSubject: attempt.failureSubject,
      failureDetail: attempt.failureDetail,
      newest: sql<number>`row_number() over (
        partition by ${attempt.runId} order by ${attempt.number} desc)`.as('newest'),
    })
    .from(attempt)
    .where(inArray(attempt.runId, [...runIds]))
    .as('numbered')
  return await handle.orm
    .select()
    .from(numbered)
    .where(sql`${numbered.newest} <= ${MAX_ATTEMPTS_SHOWN}`)
    .orderBy(asc(numbered.runId), asc(numbered.number))
}

export type HistoricAttempt = Awaited<ReturnType<typeof findAttempts>>[number]

/** Where a run stands, and for how long it has reported nothing; null: the workspace has no such run. */
export async function findProgress(
  handle: Handle,
  workspaceId: string,
  runId: string,
): Promise<{ readonly progress: RunProgress; readonly silentMs: number | null } | null> {
  const [row] = await handle.rows<
    ProgressRow & { readonly silentMs: number | null }
  >(sql`/* history.findProgress */
    select ${PROGRESS_COLUMNS},
           floor(extract(epoch from now() - run.progress_at) * 1000)::float8 as "silentMs"
    from run
    where run.id = ${runId} and run.workspace_id = ${workspaceId}`)
  return row ? { progress: toProgress(row), silentMs: row.silentMs } : null
}
