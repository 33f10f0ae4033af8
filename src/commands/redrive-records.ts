/**
 * Brings records back that were set aside, and queues the run that sends them: in one transaction, so that
 * what it answers survives a crash (I6).
 */
import { z } from 'zod'
import type { RunProgress } from '../domain/progress.ts'
import { decideRedrive, type RedriveDecision } from '../domain/quarantine.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import type { Handle } from '../store/database.ts'
import { bringBack, listRejectedRecords } from '../store/quarantine.ts'
import { enqueueRun, findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { announceProgress } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkRecordIds } from './input-checks.ts'
import { type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, InvalidInput, NotFound, type Refusal } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { toStandingRefusal } from './run-sync.ts'

export interface RedriveRecordsInput extends Repeatable {
  readonly syncId: string
  /** Null: all that are set aside. */
  readonly recordIds: readonly string[] | null
}

export interface RedrivenItem {
  readonly recordId: string
  /** `noop`: it is on its way, held, or over. `not_kept`: there is nothing of it that could be sent. */
  readonly status: 'started' | 'noop' | 'not_kept' | 'not_found'
}

export interface RedrivenRecords {
  readonly syncId: string
  readonly status: 'started' | 'noop'
  /** The run that sends them; null: there is nothing to send. */
  readonly runId: string | null
  /** How many records were brought back. */
  readonly redriven: number
  /** What was done with each of the records that were named. */
  readonly items: readonly RedrivenItem[]
}

const REDRIVE_RECORDS = {
  name: 'redriveRecords',
  answer: z.object({
    syncId: z.string(),
    status: z.enum(['started', 'noop']),
    runId: z.string().nullable(),
    redriven: z.number(),
    items: z.array(
      z.object({
        recordId: z.string(),
        status: z.enum(['started', 'noop', 'not_kept', 'not_found']),
      }),
    ),
  }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link AlreadyRunning}, and why the sync may not run. */
export async function redriveRecords(
  context: CommandContext,
  actor: Actor,
  input: RedriveRecordsInput,
): Promise<RedrivenRecords> {
  requireRole(actor, 'operator')
  const problems = input.recordIds === null ? [] : checkRecordIds(input.recordIds)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return await once<RedrivenRecords>({ context, actor, command: REDRIVE_RECORDS, input }, (tx) =>
    redrive(tx, context, actor, input),
  )
}

async function redrive(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  { syncId, recordIds }: RedriveRecordsInput,
): Promise<Done<RedrivenRecords>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const records = await listRejectedRecords(tx, sync.id, recordIds)
  const inFlight = await findRunInFlight(tx, sync.id)
  const decision = decideRedrive({ records, inFlight, syncStatus: sync.status })
  if (decision.kind === 'refuse') {
    throw toRefusal(decision, sync)
  }
  const done = new Map(records.map(({ id }, index) => [id, decision.items[index] ?? 'noop']))
  const items = [...new Set(recordIds ?? [])].map((recordId): RedrivenItem => {
    const item = done.get(recordId)
    return { recordId, status: item === undefined ? 'not_found' : ITEM_STATUS[item] }
  })
  if (decision.kind === 'noop') {
    const isUnderWay = records.some((one) => one.state === 'redriving' && !one.isSuperseded)
    const runId = isUnderWay ? (inFlight?.id ?? null) : null
    return { answer: { syncId: sync.id, status: 'noop', runId, redriven: 0, items } }
  }
  const ids = [...done].flatMap(([id, item]) => (item === 'redrive' ? [id] : []))
  await bringBack(tx, ids)
  const progress = await enqueue(tx, context, actor, sync)
  const { runId } = progress
  await recordDeed(tx, context, actor, {
    action: 'redriveRecords',
    subjectType: 'sync',
    subjectId: sync.id,
    after: { runId, redriven: ids.length, ...(recordIds === null ? {} : { recordIds: ids }) },
  })
  return {
    answer: { syncId: sync.id, status: 'started', runId, redriven: ids.length, items },
    announce: () => announceProgress(context, progress),
  }
}

const ITEM_STATUS = { redrive: 'started', noop: 'noop', no_payload: 'not_kept' } as const

async function enqueue(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  sync: StoredSync,
): Promise<RunProgress> {
  const queued = await enqueueRun(tx, {
    id: context.ids.next(),
    workspaceId: actor.workspaceId,
    syncId: sync.id,
    publicationId: sync.publicationId,
    cause: 'redrive',
    requestedBy: actor.tokenName,
    attemptAllowance: ATTEMPT_ALLOWANCE,
    retryOf: null,
  })
  if (queued.kind !== 'queued') {
    throw new AlreadyRunning(queued.runId)
  }
  return queued.progress
}

function toRefusal(
  decision: Extract<RedriveDecision, { kind: 'refuse' }>,
  sync: StoredSync,
): Refusal {
  return decision.why === 'already_running'
    ? new AlreadyRunning(decision.runId)
    : toStandingRefusal(decision.why, sync)
}
