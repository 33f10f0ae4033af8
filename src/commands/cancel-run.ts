/**
 * Cancels a run. A queued one is over at once; of a running one a request is kept, which its attempt carries
 * out at its next safe point, and recovery if its worker is silent.
 */
import { z } from 'zod'
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
import { type Done, INSTANT, once, type Repeatable } from './once.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { findStopTime } from './stop-time.ts'

export interface CancelRunInput extends Repeatable {
  readonly runId: string
  readonly reason: string
}

export type CanceledRun =
  | { readonly status: 'done' | 'noop' }
  | { readonly status: 'will_stop_by'; readonly stopBy: Instant }

const CANCEL_RUN = {
  name: 'cancelRun',
  answer: z.discriminatedUnion('status', [
    z.object({ status: z.enum(['done', 'noop']) }),
    z.object({ status: z.literal('will_stop_by'), stopBy: INSTANT }),
  ]),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
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
  return await once<CanceledRun>({ context, actor, command: CANCEL_RUN, input }, (tx) =>
    cancel(tx, context, actor, input),
  )
}

async function cancel(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: CancelRunInput,
): Promise<Done<CanceledRun>> {
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
      return { answer: { status: 'noop' } }
    case 'cancel': {
      const progress = await cancelQueuedRun(tx, wish)
      assert(progress !== null, 'A queued run stays queued while its sync is locked.')
      await audit({ status: 'canceled' })
      return { answer: { status: 'done' }, announce: () => announceProgress(context, progress) }
    }
    case 'request': {
      const isKept = await requestCancel(tx, wish)
      assert(isKept, 'A running run stays running while its sync is locked.')
      await audit({ status: 'cancel requested' })
      const stopBy = await findStopTime(tx, context, run.id)
      return { answer: { status: 'will_stop_by', stopBy }, announce: () => announceStop(context) }
    }
    default:
      return unreachable(decision)
  }
}
