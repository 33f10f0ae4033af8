/** What tests of the failure circuit breaker put into the database, and what they read of what it did. */
import { sql } from 'drizzle-orm'
import type { FailureCode } from '../../src/domain/failure.ts'
import type { FinalRunStatus, RunCause } from '../../src/domain/run.ts'
import type { Handle } from '../../src/store/database.ts'
import { newId, type SeededSync } from './store-seed.ts'

export interface EndedRunToPut {
  readonly status?: FinalRunStatus
  readonly code?: FailureCode
  readonly cause?: RunCause
  readonly publicationId?: string | null
  /** Days ago. Default: now. */
  readonly daysAgo?: number
}

/** A run of the sync that has ended; a failed one, unless something else is given. */
export async function putEndedRun(
  database: Handle,
  sync: SeededSync,
  given: EndedRunToPut = {},
): Promise<string> {
  const { status = 'failed', cause = 'schedule', daysAgo = 0 } = given
  const { publicationId = sync.publicationId } = given
  const id = newId()
  const code = status === 'failed' ? (given.code ?? 'provider_unavailable') : null
  const at = sql`now() - ${daysAgo}::float8 * interval '1 day'`
  await database.rows(sql`
    insert into run (id, workspace_id, sync_id, publication_id, cause, status, attempt_allowance,
                     failure_code, created_at, finished_at)
    values (${id}, ${sync.workspaceId}, ${sync.syncId}, ${publicationId}, ${cause}, ${status}, 5,
            ${code}, ${at}, ${at})`)
  return id
}

export async function putFailedRuns(database: Handle, sync: SeededSync, count: number) {
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    ids.push(await putEndedRun(database, sync))
  }
  return ids
}

export interface ReadBreaker {
  readonly status: string
  readonly cause: string | null
  readonly reason: string | null
  readonly by: string | null
  readonly runId: string | null
  readonly hasPauseTime: boolean
  readonly slotMs: number | null
  /** Rows of the audit trail with its reason. */
  readonly deeds: readonly { readonly actor: string; readonly action: string }[]
  readonly alerts: readonly {
    readonly kind: string
    readonly severity: string
    readonly audience: string
    readonly runId: string
    readonly message: string
    readonly isOpen: boolean
    /** `event channel` of what is to be sent. */
    readonly notices: readonly string[]
  }[]
}

/** How the sync stands, and what the breaker has written down about it. */
export async function readBreaker(database: Handle, { syncId }: SeededSync): Promise<ReadBreaker> {
  const [row] = await database.rows<ReadBreaker & Record<string, unknown>>(sql`
    select sync.status, pause_cause as cause, pause_reason as reason, paused_by as by,
           paused_by_run_id as "runId", paused_at is not null as "hasPauseTime",
           (select (extract(epoch from slot_at) * 1000)::float8 from sync_schedule
            where sync_id = sync.id) as "slotMs",
           (select coalesce(jsonb_agg(jsonb_build_object('actor', actor, 'action', action)), '[]')
            from audit_entry
            where subject_id = sync.id and reason = 'circuit_breaker_tripped') as deeds,
           (select coalesce(jsonb_agg(jsonb_build_object(
                'kind', kind, 'severity', severity, 'audience', audience, 'runId', run_id,
                'message', message, 'isOpen', closed_at is null,
                'notices', (select coalesce(jsonb_agg(event || ' ' || channel
                                                      order by event desc), '[]')
                            from alert_notice where alert_id = alert.id)) order by id), '[]')
            from alert where sync_id = sync.id) as alerts
    from sync
    where id = ${syncId}`)
  if (!row) {
    throw new Error(`There is no sync ${syncId}.`)
  }
  return row
}

/** Of a sync that it has not paused. */
export const UNTRIPPED = { status: 'active', cause: null, runId: null, deeds: [], alerts: [] }

/** Of one that it has paused after this run, once. */
export function trippedBy(runId: string | undefined) {
  return {
    status: 'paused',
    cause: 'breaker',
    reason: 'Paused automatically by the failure circuit breaker',
    by: 'tajo',
    runId,
    hasPauseTime: true,
    deeds: [{ actor: 'tajo', action: 'pauseSync' }],
    alerts: [
      {
        kind: 'circuit_breaker_tripped',
        severity: 'critical',
        audience: 'workspace',
        runId,
        isOpen: true,
        notices: ['opened log'],
      },
    ],
  }
}
