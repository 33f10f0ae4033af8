/**
 * Connects a tool again, with new credentials: after it was disconnected, or for a fresh authorisation. Its
 * settings stay, as what was sent is asked for below its address. What a sync paused by the breaker is waiting for
 * may be there now; it is published again all the same.
 */
import type { JsonValue } from '../domain/json.ts'
import { InvariantError } from '../runtime/assert.ts'
import { findConnectionForUpdate, markConnected } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import { checkConnectionSettings, findConnector, sealCredentials } from './connection-settings.ts'
import type { Actor, CommandContext } from './context.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface ReconnectConnectionInput {
  readonly connectionId: string
  readonly credentials: JsonValue
}

/** Throws {@link InvalidInput}, {@link NotFound}. */
export async function reconnectConnection(
  context: CommandContext,
  actor: Actor,
  input: ReconnectConnectionInput,
): Promise<{ readonly connectionId: string; readonly status: 'done' }> {
  requireRole(actor, 'publisher')
  const { connectionId } = input
  await context.database.transaction('reconnectConnection', async (tx) => {
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
  })
  return { connectionId, status: 'done' }
}
