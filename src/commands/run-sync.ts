/** Queues a run of a sync now: what it answers is committed (I6). */
import type { RunProgress } from '../domain/progress.ts'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import { decideRun } from '../domain/sync.ts'
import type { Handle } from '../store/database.ts'
import { enqueueRun } from '../store/runs.ts'
import { findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { announceProgress } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { AlreadyRunning, NotFound, NotPublished, type Refusal, SyncPaused } from './refusals.ts'
import { requireRole } from './require-role.ts'

/** Throws {@link Forbidden}, {@link NotFound}, {@link NotPublished}, {@link SyncPaused}, {@link AlreadyRunning}. */
export async function runSync(
  context: CommandContext,
  actor: Actor,
  input: { readonly syncId: string },
): Promise<{ readonly runId: string }> {
  requireRole(actor, 'operator')
  const progress = await context.database.transaction('runSync', (tx) =>
    start(tx, context, actor, input.syncId),
  )
  await announceProgress(context, progress)
  return { runId: progress.runId }
}

async function start(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  syncId: string,
): Promise<RunProgress> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const decision = decideRun(sync.status)
  if (decision.kind === 'refuse') {
    throw toStandingRefusal(decision.why, sync)
  }
  const queued = await enqueueRun(tx, {
    id: context.ids.next(),
    workspaceId: actor.workspaceId,
    syncId: sync.id,
    publicationId: sync.publicationId,
    cause: 'run_now',
    requestedBy: actor.tokenName,
    attemptAllowance: ATTEMPT_ALLOWANCE,
    retryOf: null,
  })
  if (queued.kind !== 'queued') {
    throw new AlreadyRunning(queued.runId)
  }
  await recordDeed(tx, context, actor, {
    action: 'runSync',
    subjectType: 'sync',
    subjectId: sync.id,
    after: { runId: queued.progress.runId },
  })
  return queued.progress
}

export function toStandingRefusal(why: 'not_published' | 'paused', sync: StoredSync): Refusal {
  return why === 'not_published'
    ? new NotPublished()
    : new SyncPaused(sync.pauseCause === 'breaker')
}
