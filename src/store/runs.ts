/**
 * The run table, which is the queue: how runs come into it, and how a worker takes one.
 *
 * Invariants: at most one run of a sync is queued or running (I9); rows are locked in the order sync,
 * fence, run; the statement that takes a run raises the fence. How runs end is in run-ends.ts.
 */
import { sql } from 'drizzle-orm'
import type { Failure } from '../domain/failure.ts'
import type { JsonObject } from '../domain/json.ts'
import type { RunProgress } from '../domain/progress.ts'
import type { RunCause, RunStatus } from '../domain/run.ts'
import type { SyncStatus } from '../domain/sync.ts'
import { InvariantError } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import type { RunHolder } from './run-ends.ts'
import { PROGRESS_COLUMNS, type ProgressRow, toProgress } from './run-progress.ts'

export interface NewRun {
  readonly id: string
  readonly workspaceId: string
  readonly syncId: string
  readonly publicationId: string | null
  readonly cause: RunCause
  /** The name of the token that asked for it; null: a machine did. */
  readonly requestedBy: string | null
  readonly attemptAllowance: number
  readonly retryOf: string | null
}

export type EnqueueResult =
  | { readonly kind: 'queued'; readonly progress: RunProgress }
  /** Another run of the sync is queued or running. */
  | { readonly kind: 'in_flight'; readonly runId: string }
  /** The run was retried before, by this one, which was not canceled. */
  | { readonly kind: 'retried'; readonly runId: string }

/** Tries before it is a bug that a run can neither be queued nor named as being in the way. */
const MAX_ENQUEUE_TRIES = 5

/** Queues a run, due now. The unique indexes decide, so that of parallel callers one queues it. */
export async function enqueueRun(tx: Handle, run: NewRun): Promise<EnqueueResult> {
  for (let tries = 0; tries < MAX_ENQUEUE_TRIES; tries += 1) {
    const result = (await insertRun(tx, run)) ?? (await findRunInTheWay(tx, run))
    if (result) {
      return result
    }
    // The run in the way ended between the two statements: ask again.
  }
  throw new InvariantError(`The run ${run.id} could not be queued and nothing is in its way.`)
}

async function insertRun(tx: Handle, run: NewRun): Promise<EnqueueResult | null> {
  const [queued] = await tx.rows<ProgressRow>(sql`/* runs.enqueueRun */
    insert into run (id, workspace_id, sync_id, publication_id, cause, requested_by,
                     attempt_allowance, retry_of)
    values (${run.id}, ${run.workspaceId}, ${run.syncId}, ${run.publicationId}, ${run.cause},
            ${run.requestedBy}, ${run.attemptAllowance}, ${run.retryOf})
    on conflict do nothing
    returning ${PROGRESS_COLUMNS}`)
  return queued ? { kind: 'queued', progress: toProgress(queued) } : null
}

async function findRunInTheWay(tx: Handle, run: NewRun): Promise<EnqueueResult | null> {
  const [other] = await tx.rows<{ id: string; isRetry: boolean }>(sql`/* runs.findRunInTheWay */
    select id, coalesce(retry_of = ${run.retryOf}::uuid, false) as "isRetry"
    from run
    where (sync_id = ${run.syncId} and status in ('queued', 'running'))
       or (retry_of = ${run.retryOf}::uuid and status <> 'canceled')
    order by coalesce(retry_of = ${run.retryOf}::uuid, false) desc
    limit 1`)
  return other ? { kind: other.isRetry ? 'retried' : 'in_flight', runId: other.id } : null
}

export async function findRunInFlight(
  tx: Handle,
  syncId: string,
): Promise<{ id: string; status: RunStatus; cause: RunCause } | null> {
  const [row] = await tx.rows<{
    id: string
    status: RunStatus
    cause: RunCause
  }>(sql`/* runs.findRunInFlight */
    select id, status, cause
    from run
    where sync_id = ${syncId} and status in ('queued', 'running')`)
  return row ?? null
}

/** Ends the queued run of a sync, if there is one, before any worker sees it. The caller has locked the sync. */
export async function failQueuedRunOfSync(
  tx: Handle,
  options: { readonly syncId: string; readonly failure: Failure },
): Promise<RunProgress | null> {
  const { code, step, subject, detail } = options.failure
  const [row] = await tx.rows<ProgressRow>(sql`/* runs.failQueuedRunOfSync */
    update run
    set status = 'failed', finished_at = now(), event_n = event_n + 1, failure_code = ${code},
        failure_step = ${step}, failure_subject = ${subject}, failure_detail = ${detail}
    where sync_id = ${options.syncId} and status = 'queued'
    returning ${PROGRESS_COLUMNS}`)
  return row ? toProgress(row) : null
}

export interface ClaimedRun {
  readonly progress: RunProgress
  readonly runId: string
  readonly syncId: string
  readonly workspaceId: string
  readonly epoch: number
  readonly attemptNumber: number
  readonly attemptsSpent: number
  readonly attemptAllowance: number
  readonly publicationId: string | null
  /** As of the claim, whose transaction holds the sync. */
  readonly syncStatus: SyncStatus
  readonly currentPublicationId: string | null
  /** The published version's configuration; null when the run has no publication. */
  readonly config: JsonObject | null
  /** How many records it tests; null: it is no test run. A test run has the draft's configuration of then. */
  readonly testLimit: number | null
  readonly reached: string | null
  readonly firstSends: number
  readonly firstSendsRejected: number
}

export interface ClaimOptions {
  readonly workerId: string
  /** Most runs to claim. */
  readonly slots: number
  /** Workspaces after this one are asked first, so that none waits behind a busy neighbour. */
  readonly afterWorkspaceId: string
}

/** Workspaces that one claim looks at. */
const MAX_WORKSPACES_PER_CLAIM = 50

/** Of all that one claim looks at, others may have taken everything since it began to look. */
const MAX_CLAIM_TRIES = 3

type NothingClaimed = { readonly runId: null; readonly isAnyDue: boolean }

type ClaimRow = ProgressRow & {
  readonly isAnyDue: boolean
  readonly publicationId: string | null
  readonly syncStatus: SyncStatus
  readonly currentPublicationId: string | null
  readonly config: JsonObject | null
  readonly testLimit: number | null
  readonly reached: string | null
  readonly claims: number
  readonly attemptsSpent: number
  readonly attemptAllowance: number
  readonly firstSends: number
  readonly firstSendsRejected: number
}

/**
 * Claims due runs, at most one a workspace, and raises their fences. A loose index scan over the
 * workspaces: ranking all due runs by a window function made most claims of 8 parallel claimers empty.
 * `for share of sync` makes a pause that commits meanwhile take effect inside the claim.
 */
export async function claimRuns(db: Handle, options: ClaimOptions): Promise<readonly ClaimedRun[]> {
  for (let tries = 1; ; tries += 1) {
    const rows = await claimOnce(db, options)
    const claimed = rows.filter((row): row is ClaimRow => row.runId !== null)
    const isOvertaken = claimed.length === 0 && rows.some(({ isAnyDue }) => isAnyDue)
    if (!isOvertaken || tries === MAX_CLAIM_TRIES) {
      return claimed.map(toClaimedRun)
    }
  }
}

/** One row with nothing but `isAnyDue` where nothing could be claimed. */
function claimOnce(
  db: Handle,
  { workerId, slots, afterWorkspaceId }: ClaimOptions,
): Promise<readonly (ClaimRow | NothingClaimed)[]> {
  return db.rows<ClaimRow | NothingClaimed>(sql`/* runs.claimRuns */
    with recursive due_workspace (workspace_id) as (
      (select workspace_id
       from run
       where status = 'queued' and due_at <= now() and workspace_id > ${afterWorkspaceId}::uuid
       order by workspace_id
       limit 1)
      union all
      select (select later.workspace_id
              from run as later
              where later.status = 'queued' and later.due_at <= now()
                and later.workspace_id > due_workspace.workspace_id
              order by later.workspace_id
              limit 1)
      from due_workspace
      where due_workspace.workspace_id is not null
    ),
    candidate as materialized (
      select picked.*
      from (select workspace_id
            from due_workspace
            where workspace_id is not null
            limit ${MAX_WORKSPACES_PER_CLAIM}) as asked
      cross join lateral (
        select run.id, run.sync_id, sync.status as sync_status,
               sync.publication_id as current_publication_id
        from run
        join sync_fence as fence on fence.sync_id = run.sync_id
        join sync on sync.id = run.sync_id
        where run.workspace_id = asked.workspace_id and run.status = 'queued'
          and run.due_at <= now()
        order by run.due_at
        limit 1
        for no key update of run, fence skip locked
        for share of sync skip locked
      ) as picked
      limit ${slots}
    ),
    raised as (
      update sync_fence
      set epoch = sync_fence.epoch + 1
      from candidate
      where sync_fence.sync_id = candidate.sync_id
      returning sync_fence.sync_id, sync_fence.epoch, sync_fence.reached
    ),
    claimed as (
      update run
      set status = 'running', worker_id = ${workerId}, epoch = raised.epoch, event_n = 0,
          claims = run.claims + 1, started_at = coalesce(run.started_at, now()), progress_at = now()
      from candidate
      join raised on raised.sync_id = candidate.sync_id
      where run.id = candidate.id
      returning run.*, candidate.sync_status, candidate.current_publication_id, raised.reached
    ),
    begun as (
      insert into attempt (run_id, number, epoch, worker_id)
      select id, claims, epoch, worker_id
      from claimed
    )
    select ${PROGRESS_COLUMNS}, run.publication_id as "publicationId",
           run.sync_status as "syncStatus", run.current_publication_id as "currentPublicationId",
           run.reached, run.claims, run.attempts_spent as "attemptsSpent",
           run.attempt_allowance as "attemptAllowance", run.first_sends as "firstSends",
           run.first_sends_rejected as "firstSendsRejected", version.config,
           test_run.record_limit as "testLimit", asked.is_any_due as "isAnyDue"
    from (select exists (select from due_workspace where workspace_id is not null) as is_any_due)
      as asked
    left join claimed as run on true
    left join publication on publication.id = run.publication_id
    left join test_run on test_run.run_id = run.id
    left join sync_version as version
      on version.sync_id = run.sync_id
        and version.digest = coalesce(publication.version_digest, test_run.version_digest)`)
}

function toClaimedRun(row: ClaimRow): ClaimedRun {
  return {
    progress: toProgress(row),
    runId: row.runId,
    syncId: row.syncId,
    workspaceId: row.workspaceId,
    epoch: row.epoch,
    attemptNumber: row.claims,
    attemptsSpent: row.attemptsSpent,
    attemptAllowance: row.attemptAllowance,
    publicationId: row.publicationId,
    syncStatus: row.syncStatus,
    currentPublicationId: row.currentPublicationId,
    config: row.config,
    testLimit: row.testLimit,
    reached: row.reached,
    firstSends: row.firstSends,
    firstSendsRejected: row.firstSendsRejected,
  }
}

/** Records how many records the source has, for the progress. */
export async function setTotalRecords(
  db: Handle,
  holder: RunHolder,
  totalRecords: number,
): Promise<void> {
  await db.rows(sql`/* runs.setTotalRecords */
    update run
    set total_records = ${totalRecords}
    where id = ${holder.runId} and status = 'running' and epoch = ${holder.epoch}`)
}
