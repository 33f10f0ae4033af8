/** Takes a sync back to the beginning of its source: its next run reads everything again. */
import { decideReset } from '../domain/cursor-reset.ts'
import { findReadSoFar, resetCursor as reset } from '../store/cursor-resets.ts'
import type { Handle } from '../store/database.ts'
import { findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { AlreadyRunning, InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface ResetCursorInput {
  readonly syncId: string
  readonly reason: string
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link AlreadyRunning}. */
export async function resetCursor(
  context: CommandContext,
  actor: Actor,
  input: ResetCursorInput,
): Promise<{ readonly syncId: string; readonly status: 'done' | 'noop' }> {
  requireRole(actor, 'publisher')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const status = await context.database.transaction('resetCursor', (tx) =>
    resetIdleSync(tx, context, actor, input),
  )
  return { syncId: input.syncId, status }
}

async function resetIdleSync(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  { syncId, reason }: ResetCursorInput,
): Promise<'done' | 'noop'> {
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
    return 'noop'
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
  return 'done'
}
