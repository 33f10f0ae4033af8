/** Takes a sync back to the beginning of its source: its next run reads everything again. */
import { z } from 'zod'
import { decideReset } from '../domain/cursor-reset.ts'
import { findReadSoFar, resetCursor as reset } from '../store/cursor-resets.ts'
import type { Handle } from '../store/database.ts'
import { findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface ResetCursorInput extends Repeatable {
  readonly syncId: string
  readonly reason: string
}

export interface ResetSync {
  readonly syncId: string
  readonly status: 'done' | 'noop'
}

const RESET_CURSOR = {
  name: 'resetCursor',
  answer: z.object({ syncId: z.string(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link AlreadyRunning}. */
export async function resetCursor(
  context: CommandContext,
  actor: Actor,
  input: ResetCursorInput,
): Promise<ResetSync> {
  requireRole(actor, 'publisher')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  return await once<ResetSync>({ context, actor, command: RESET_CURSOR, input }, (tx) =>
    resetIdleSync(tx, context, actor, input),
  )
}

async function resetIdleSync(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  { syncId, reason }: ResetCursorInput,
): Promise<Done<ResetSync>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const { reached, openPages } = await findReadSoFar(tx, sync.id)
  const inFlight = await findRunInFlight(tx, sync.id)
  const decision = decideReset({ inFlight, reached, openPages })
  if (decision.kind === 'refuse') {
    throw new AlreadyRunning(decision.runId)
  }
  if (decision.kind === 'noop') {
    return { answer: { syncId: sync.id, status: 'noop' } }
  }
  const dropped = await reset(tx, sync.id)
  await recordDeed(tx, context, actor, {
    action: 'resetCursor',
    subjectType: 'sync',
    subjectId: sync.id,
    reason,
    before: { reached },
    after: { reached: null, ...dropped },
  })
  return { answer: { syncId: sync.id, status: 'done' } }
}
