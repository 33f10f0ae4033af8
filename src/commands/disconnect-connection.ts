/**
 * Disconnects a tool: its credentials are removed for good. The connection stays, with its name and its settings,
 * and so do the syncs that use it: their runs fail, and say which tool is missing, until it is connected again.
 */
import { z } from 'zod'
import { findConnectionForUpdate, markDisconnected } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, once, type Repeatable } from './once.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface DisconnectConnectionInput extends Repeatable {
  readonly connectionId: string
  readonly reason: string
}

export interface DisconnectedConnection {
  readonly connectionId: string
  readonly status: 'done' | 'noop'
}

const DISCONNECT_CONNECTION = {
  name: 'disconnectConnection',
  answer: z.object({ connectionId: z.string(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
export async function disconnectConnection(
  context: CommandContext,
  actor: Actor,
  input: DisconnectConnectionInput,
): Promise<DisconnectedConnection> {
  requireRole(actor, 'publisher')
  const { connectionId, reason } = input
  const problems = checkText('reason', reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const call = { context, actor, command: DISCONNECT_CONNECTION, input }
  return await once<DisconnectedConnection>(call, async (tx) => {
    const known = await findConnectionForUpdate(tx, actor.workspaceId, connectionId)
    if (!known) {
      throw new NotFound('connection', 'connectionId')
    }
    if (known.disconnectedAt !== null) {
      return { answer: { connectionId, status: 'noop' } }
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
    return { answer: { connectionId, status: 'done' } }
  })
}
