/** Connects a tool in a workspace. Its credentials are sealed for this connection before they are stored, and never shown again. */
import { z } from 'zod'
import type { JsonValue } from '../domain/json.ts'
import { insertConnection } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import { checkConnectionSettings, findConnector, sealCredentials } from './connection-settings.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { once, onceChecked, type Repeatable } from './once.ts'
import { InvalidInput } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface CreateConnectionInput extends Repeatable {
  readonly name: string
  readonly type: string
  readonly config: JsonValue
  readonly credentials: JsonValue
}

export interface CreatedConnection {
  readonly connectionId: string
}

const CREATE_CONNECTION = {
  name: 'createConnection',
  answer: z.object({ connectionId: z.string() }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}. */
export async function createConnection(
  context: CommandContext,
  actor: Actor,
  input: CreateConnectionInput,
): Promise<CreatedConnection> {
  requireRole(actor, 'publisher')
  const call = { context, actor, command: CREATE_CONNECTION, input }
  return await onceChecked<CreatedConnection>(call, async () => {
    const { config, credentials } = checkInput(context, input)
    const id = context.ids.next()
    const sealedCredentials = sealCredentials(context, id, credentials)
    const { name, type } = input
    return await once<CreatedConnection>(call, async (tx) => {
      const created = { id, name, type, config, sealedCredentials }
      if (!(await insertConnection(tx, actor.workspaceId, created))) {
        const reason = 'Another connection of this workspace has this name.'
        throw new InvalidInput([{ field: 'name', reason }])
      }
      await recordDeed(tx, context, actor, {
        action: 'createConnection',
        subjectType: 'connection',
        subjectId: id,
        after: { name, type, config, hasCredentials: sealedCredentials !== null },
      })
      return { answer: { connectionId: id } }
    })
  })
}

function checkInput(context: CommandContext, input: CreateConnectionInput) {
  const named = checkText('name', input.name, MAX_NAME_LENGTH)
  const connector = findConnector(context, input.type)
  if (!connector) {
    const { sources, destinations } = context.registry
    const known = [...new Set([...sources.keys(), ...destinations.keys()])].sort().join(', ')
    const reason = `There is no such type of connection; there are: ${known}.`
    throw new InvalidInput([...named, { field: 'type', reason }])
  }
  return checkConnectionSettings(connector, input, named)
}
