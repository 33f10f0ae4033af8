/**
 * Cancels a run. A queued one is over at once; of a running one a request is kept, which its attempt carries
 * out at its next safe point, and recovery if its worker is silent.
 */
import type { RunProgress } from '../domain/progress.ts'
import { decideCancel } from '../domain/run.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle } from '../store/database.ts'
import { cancelQueuedRun, findRunToCancel, requestCancel } from '../store/stop-wishes.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { announceProgress, announceStop } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { findStopTime } from './stop-time.ts'

export interface CancelRunInput {
  readonly runId: string
  readonly reason: string
}

export type CanceledRun =
  | { readonly status: 'done'; readonly progress: RunProgress }
  | { readonly status: 'will_stop_by'; readonly stopBy: Instant }
  | { readonly status: 'noop' }

/** Throws {@link InvalidInput}, {@link NotFound}. */
export async function cancelRun(
  context: CommandContext,
  actor: Actor,
  input: CancelRunInput,
): Promise<CanceledRun> {
  requireRole(actor, 'operator')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const canceled = await context.database.transaction('cancelRun', (tx) =>
    cancel(tx, context, actor, input),
  )
  if (canceled.status === 'done') {
    await announceProgress(context, canceled.progress)
  } else if (canceled.status === 'will_stop_by') {
    await announceStop(context)
  }
  return canceled
}

async function cancel(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: CancelRunInput,
): Promise<CanceledRun> {
  const known = await findRunToCancel(tx, actor.workspaceId, input.runId)
  const sync = known && (await findSyncForUpdate(tx, actor.workspaceId, known.syncId))
  // Read again behind the sync's row: only now no worker can take it, and nobody end it.
  const run = sync && (await findRunToCancel(tx, actor.workspaceId, input.runId))
  if (!run) {
    throw new NotFound('run', 'runId')
  }
  const wish = { runId: run.id, by: actor.tokenName, reason: input.reason }
  const audit = (after: { readonly status: string }) =>
    recordDeed(tx, context, actor, {
      action: 'cancelRun',
      subjectType: 'run',
      subjectId: run.id,
      reason: input.reason,
      before: { status: run.status },
      after,
    })
  const decision = decideCancel(run)
  switch (decision.kind) {
    case 'noop':
      return { status: 'noop' }
    case 'cancel': {
      const progress = await cancelQueuedRun(tx, wish)
      assert(progress !== null, 'A queued run stays queued while its sync is locked.')
      await audit({ status: 'canceled' })
      return { status: 'done', progress }
    }
    case 'request': {
      const isKept = await requestCancel(tx, wish)
      assert(isKept, 'A running run stays running while its sync is locked.')
      await audit({ status: 'cancel requested' })
      return { status: 'will_stop_by', stopBy: await findStopTime(tx, context, run.id) }
    }
    default:
      return unreachable(decision)
  }
}
