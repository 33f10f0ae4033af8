/**
 * Disconnects a tool: its credentials are removed for good. The connection stays, with its name and its settings,
 * and so do the syncs that use it: their runs fail, and say which tool is missing, until it is connected again.
 */
import { findConnectionForUpdate, markDisconnected } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

/** Throws {@link InvalidInput}, {@link NotFound}. */
export async function disconnectConnection(
  context: CommandContext,
  actor: Actor,
  input: { readonly connectionId: string; readonly reason: string },
): Promise<{ readonly connectionId: string; readonly status: 'done' | 'noop' }> {
  requireRole(actor, 'publisher')
  const { connectionId, reason } = input
  const problems = checkText('reason', reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const status = await context.database.transaction('disconnectConnection', async (tx) => {
    const known = await findConnectionForUpdate(tx, actor.workspaceId, connectionId)
    if (!known) {
      throw new NotFound('connection', 'connectionId')
    }
    if (known.disconnectedAt !== null) {
      return 'noop'
    }
    await markDisconnected(tx, connectionId)
    await recordDeed(tx, context, actor, {
      action: 'disconnectConnection',
      subjectType: 'connection',
      subjectId: connectionId,
      reason,
      before: { isConnected: true, hasCredentials: known.sealedCredentials !== null },
      after: { isConnected: false, hasCredentials: false },
    })
    return 'done'
  })
  return { connectionId, status }
}
