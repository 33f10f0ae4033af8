/**
 * Connects a tool again, with new credentials: after it was disconnected, or for a fresh authorisation. Its
 * settings stay, as what was sent is asked for below its address. What a sync paused by the breaker is waiting for
 * may be there now; it is published again all the same.
 */
import { z } from 'zod'
import type { JsonValue } from '../domain/json.ts'
import { InvariantError } from '../runtime/assert.ts'
import { findConnectionForUpdate, markConnected } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import { checkConnectionSettings, findConnector, sealCredentials } from './connection-settings.ts'
import type { Actor, CommandContext } from './context.ts'
import { once, type Repeatable } from './once.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface ReconnectConnectionInput extends Repeatable {
  readonly connectionId: string
  readonly credentials: JsonValue
}

export interface ReconnectedConnection {
  readonly connectionId: string
  readonly status: 'done'
}

const RECONNECT_CONNECTION = {
  name: 'reconnectConnection',
  answer: z.object({ connectionId: z.string(), status: z.literal('done') }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
export async function reconnectConnection(
  context: CommandContext,
  actor: Actor,
  input: ReconnectConnectionInput,
): Promise<ReconnectedConnection> {
  requireRole(actor, 'publisher')
  const { connectionId } = input
  const call = { context, actor, command: RECONNECT_CONNECTION, input }
  return await once<ReconnectedConnection>(call, async (tx) => {
    const known = await findConnectionForUpdate(tx, actor.workspaceId, connectionId)
    if (!known) {
      throw new NotFound('connection', 'connectionId')
    }
    const connector = findConnector(context, known.type)
    if (!connector) {
      throw new InvariantError(`The connection ${connectionId} has the unknown type ${known.type}.`)
    }
    const given = { config: known.config, credentials: input.credentials }
    const { credentials } = checkConnectionSettings(connector, given, [])
    const sealedCredentials = sealCredentials(context, connectionId, credentials)
    await markConnected(tx, connectionId, sealedCredentials)
    await recordDeed(tx, context, actor, {
      action: 'reconnectConnection',
      subjectType: 'connection',
      subjectId: connectionId,
      before: { isConnected: known.disconnectedAt === null },
      after: { isConnected: true, hasCredentials: sealedCredentials !== null },
    })
    return { answer: { connectionId, status: 'done' } }
  })
}
