/** Queues a run of a sync now: what it answers is committed (I6). */
import { z } from 'zod'
import { ATTEMPT_ALLOWANCE } from '../domain/run.ts'
import { decideRun } from '../domain/sync.ts'
import type { Handle } from '../store/database.ts'
import { enqueueRun } from '../store/runs.ts'
import { findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { announceProgress } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, NotFound, NotPublished, type Refusal, SyncPaused } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface RunSyncInput extends Repeatable {
  readonly syncId: string
}

export interface StartedRun {
  readonly runId: string
}

const RUN_SYNC = { name: 'runSync', answer: z.object({ runId: z.string() }) }

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NotPublished}, {@link SyncPaused}, {@link AlreadyRunning}. */
export async function runSync(
  context: CommandContext,
  actor: Actor,
  input: RunSyncInput,
): Promise<StartedRun> {
  requireRole(actor, 'operator')
  return await once<StartedRun>({ context, actor, command: RUN_SYNC, input }, (tx) =>
    start(tx, context, actor, input.syncId),
  )
}

async function start(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  syncId: string,
): Promise<Done<StartedRun>> {
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
  const { progress } = queued
  const { runId } = progress
  await recordDeed(tx, context, actor, {
    action: 'runSync',
    subjectType: 'sync',
    subjectId: sync.id,
    after: { runId },
  })
  return { answer: { runId }, announce: () => announceProgress(context, progress) }
}

export function toStandingRefusal(why: 'not_published' | 'paused', sync: StoredSync): Refusal {
  return why === 'not_published'
    ? new NotPublished()
    : new SyncPaused(sync.pauseCause === 'breaker')
}
