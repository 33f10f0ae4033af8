/** Pauses a sync: nothing new starts, a queued run is closed, a running one stops at its next safe point. */
import { z } from 'zod'
import { failure } from '../domain/failure.ts'
import { decidePause } from '../domain/sync.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle } from '../store/database.ts'
import { failQueuedRunOfSync, findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate, markSyncPaused } from '../store/syncs.ts'
import { announceProgress, announceStop } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { type Done, INSTANT, once, type Repeatable } from './once.ts'
import { InvalidInput, NotFound, NotPublished } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { findStopTime } from './stop-time.ts'

export interface PauseSyncInput extends Repeatable {
  readonly syncId: string
  readonly reason: string
}

export interface PausedSync {
  readonly syncId: string
  readonly status: 'done' | 'will_stop_by' | 'noop'
  /** By when its running run has stopped; null: nothing of it runs, or it was paused before. */
  readonly stopBy: Instant | null
}

const PAUSE_SYNC = {
  name: 'pauseSync',
  answer: z.object({
    syncId: z.string(),
    status: z.enum(['done', 'will_stop_by', 'noop']),
    stopBy: INSTANT.nullable(),
  }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NotPublished}. */
export async function pauseSync(
  context: CommandContext,
  actor: Actor,
  input: PauseSyncInput,
): Promise<PausedSync> {
  requireRole(actor, 'operator')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return await once<PausedSync>({ context, actor, command: PAUSE_SYNC, input }, (tx) =>
    pause(tx, context, actor, input),
  )
}

async function pause(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: PauseSyncInput,
): Promise<Done<PausedSync>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, input.syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const found = await findRunInFlight(tx, sync.id)
  // A test run goes on: it calls no destination.
  const inFlight = found?.cause === 'test' ? null : found
  const decision = decidePause({ status: sync.status, inFlight: inFlight?.status ?? null })
  if (decision.kind === 'refuse') {
    throw new NotPublished()
  }
  if (decision.kind === 'noop') {
    return { answer: { syncId: sync.id, status: 'noop', stopBy: null } }
  }
  const { reason } = input
  const failedRun = decision.failsQueuedRun
    ? await failQueuedRunOfSync(tx, {
        syncId: sync.id,
        failure: failure('attestation_rule_not_active'),
      })
    : null
  await markSyncPaused(tx, sync.id, {
    to: decision.to,
    cause: 'person',
    reason,
    by: actor.tokenName,
  })
  await recordDeed(tx, context, actor, {
    action: 'pauseSync',
    subjectType: 'sync',
    subjectId: sync.id,
    reason,
    before: { status: sync.status },
    after: { status: decision.to, failedRunId: failedRun?.runId ?? null },
  })
  const stopBy =
    inFlight?.status === 'running' ? await findStopTime(tx, context, inFlight.id) : null
  return {
    answer: { syncId: sync.id, status: stopBy ? 'will_stop_by' : 'done', stopBy },
    announce: async () => {
      if (failedRun) {
        await announceProgress(context, failedRun)
      }
      if (stopBy) {
        await announceStop(context)
      }
    },
  }
}
