/**
 * The failure circuit breaker, in the transaction that records a failed run.
 *
 * Invariant: a sync whose last runs have all failed is paused by the commit that says so of the last one
 * (I18): no process counts, and none can die between the two. The failure's own statement comes first and
 * holds the sync, so of two failures the later one sees the earlier. Rows are locked in the order sync, fence,
 * run, schedule, alert.
 */
import { sql } from 'drizzle-orm'
import { type AlertChannel, breakerIncident } from '../domain/alert.ts'
import {
  BREAKER_PAUSE_REASON,
  BREAKER_TRIPPED,
  type BreakerDecision,
  type BreakerFacts,
  COUNTED_STATUSES,
  type CountedRun,
  decideBreaker,
  describeTrip,
  UNCOUNTED_CAUSES,
  UNCOUNTED_CODES,
} from '../domain/breaker.ts'
import type { Failure, FailureCode } from '../domain/failure.ts'
import type { IdSource } from '../runtime/random.ts'
import { raiseAlert } from './alerts.ts'
import { insertAuditEntry } from './audit.ts'
import type { Database, Handle } from './database.ts'

export interface BreakerSettings {
  /** Failed runs in a row, where the sync says nothing else. */
  readonly threshold: number
  /** Where its alerts are sent. */
  readonly channels: readonly AlertChannel[]
}

/** What the breaker works with, on whatever path a run fails. */
export interface BreakerParts {
  readonly ids: IdSource
  readonly breaker: BreakerSettings
}

/** A sync that the breaker has paused, for the log. */
export type Trip = {
  readonly syncId: string
  /** The last of the failed runs. */
  readonly runId: string
  readonly code: FailureCode
  readonly failedRuns: number
}

/** What a transaction recorded, and what the breaker made of it; null: nothing. */
export interface RecordedFailure<T> {
  readonly recorded: T
  readonly trip: Trip | null
}

/** Records a failed run of the sync by `fail`, and what follows, in one transaction. Null: `fail` has lost the run. */
export async function recordWithBreaker<T>(
  database: Database,
  parts: BreakerParts & { readonly name: string; readonly syncId: string },
  fail: (tx: Handle) => Promise<T | null>,
): Promise<RecordedFailure<T> | null> {
  return await database.transaction(parts.name, async (tx) => {
    const recorded = await fail(tx)
    return recorded === null
      ? null
      : { recorded, trip: await applyBreaker(tx, parts, parts.syncId) }
  })
}

/** After a failed run was recorded in `tx`, which holds the sync. Null: the sync is not paused for it. */
export async function applyBreaker(
  tx: Handle,
  parts: BreakerParts,
  syncId: string,
): Promise<Trip | null> {
  const found = await findBreakerFacts(tx, syncId, parts.breaker.threshold)
  if (!found) {
    return null
  }
  const decision = decideBreaker(found)
  if (decision.kind !== 'trip') {
    return null
  }
  const { runId, failure, runIds } = decision
  const trip = { syncId, runId, code: failure.code, failedRuns: runIds.length }
  await pauseSync(tx, trip)
  await insertAuditEntry(tx, {
    id: parts.ids.next(),
    workspaceId: found.workspaceId,
    actor: 'tajo',
    action: 'pauseSync',
    subjectType: 'sync',
    subjectId: syncId,
    reason: BREAKER_TRIPPED,
    before: { status: found.syncStatus },
    after: { status: 'paused', pausedByRunId: runId, failureCode: failure.code },
  })
  await raise(tx, parts, { ...found, decision, syncId })
  return trip
}

type FoundFacts = BreakerFacts & { readonly workspaceId: string; readonly syncName: string }

interface StoredRun {
  readonly runId: string
  readonly code: FailureCode | null
  readonly step: Failure['step']
  readonly subject: string | null
}

type FactsRow = Omit<FoundFacts, 'lastRuns'> & { readonly lastRuns: readonly StoredRun[] }

/** The threshold of the published version, and its last runs that count. Null: the sync is not published. */
export async function findBreakerFacts(
  tx: Handle,
  syncId: string,
  deploymentThreshold: number,
): Promise<FoundFacts | null> {
  const [row] = await tx.rows<FactsRow>(sql`/* breaker.findBreakerFacts */
    select sync.workspace_id as "workspaceId", sync.name as "syncName",
           sync.status as "syncStatus", rule.threshold, last.runs as "lastRuns"
    from sync
    join publication on publication.id = sync.publication_id
    join sync_version as version
      on version.sync_id = sync.id and version.digest = publication.version_digest
    cross join lateral (
      select coalesce((version.config ->> 'breakerThreshold')::integer,
                      ${deploymentThreshold}::integer) as threshold
    ) as rule
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object(
               'runId', counted.id, 'code', failure_code, 'step', failure_step,
               'subject', failure_subject)
               order by counted.finished_at desc, counted.id desc), '[]') as runs
      from (select run.id, failure_code, failure_step, failure_subject, run.finished_at
            from run
            where run.sync_id = sync.id and run.publication_id = sync.publication_id
              and run.status = any(${toArray(COUNTED_STATUSES)}::text::text[])
              and run.finished_at >= coalesce(sync.activated_at, '-infinity')
              and run.cause <> all(${toArray(UNCOUNTED_CAUSES)}::text::text[])
              and coalesce(failure_code <> all(${toArray(UNCOUNTED_CODES)}::text::text[]), true)
            -- By the database's clock: ids begin with that of the process that made them.
            order by run.finished_at desc, run.id desc
            limit rule.threshold) as counted
    ) as last
    where sync.id = ${syncId}`)
  return row ? { ...row, lastRuns: row.lastRuns.map(toCountedRun) } : null
}

function toCountedRun({ runId, code, step, subject }: StoredRun): CountedRun {
  return { runId, failure: code === null ? null : { code, step, subject, detail: null } }
}

function toArray(values: readonly string[]): string {
  return `{${values.join(',')}}`
}

/** Its slots rest as well: what it fails at is not tried again at the next one. */
async function pauseSync(tx: Handle, { syncId, runId }: Trip): Promise<void> {
  await tx.rows(sql`/* breaker.pauseSync */
    with paused as (
      update sync
      set status = 'paused', pause_cause = 'breaker', pause_reason = ${BREAKER_PAUSE_REASON},
          paused_by = 'tajo', paused_at = now(), paused_by_run_id = ${runId}::uuid, updated_at = now()
      where id = ${syncId} and status = 'active'
      returning id
    )
    update sync_schedule
    set slot_at = null
    from paused
    where sync_schedule.sync_id = paused.id`)
}

async function raise(
  tx: Handle,
  parts: BreakerParts,
  of: FoundFacts & {
    readonly syncId: string
    readonly decision: BreakerDecision & { readonly kind: 'trip' }
  },
): Promise<void> {
  const { runId, failure, runIds } = of.decision
  const { workspaceId, syncId, syncName } = of
  await raiseAlert(
    tx,
    {
      id: parts.ids.next(),
      workspaceId,
      audience: 'workspace',
      severity: 'critical',
      kind: BREAKER_TRIPPED,
      incident: breakerIncident(syncId),
      syncId,
      runId,
      ...describeTrip({ syncName, runId, failure, failedRuns: runIds.length }),
      facts: { failedRunIds: runIds, failureCode: failure.code },
    },
    parts.breaker.channels,
  )
}
