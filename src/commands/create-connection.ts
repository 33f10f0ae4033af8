/** Connects a tool in a workspace. Its credentials are sealed for this connection before they are stored, and never shown again. */
import type { JsonValue } from '../domain/json.ts'
import { insertConnection } from '../store/connections.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH, parseObject } from './input-checks.ts'
import { InvalidInput } from './refusals.ts'

export interface CreateConnectionInput {
  readonly name: string
  readonly type: string
  readonly config: JsonValue
  readonly credentials: JsonValue
}

/** Throws {@link InvalidInput}. */
export async function createConnection(
  context: CommandContext,
  actor: Actor,
  input: CreateConnectionInput,
): Promise<{ readonly connectionId: string }> {
  const { config, credentials } = checkInput(context, input)
  const id = context.ids.next()
  const hasCredentials = Object.keys(credentials).length > 0
  const sealedCredentials = hasCredentials
    ? context.sealer.seal(JSON.stringify(credentials), id)
    : null
  const { name, type } = input
  await context.database.transaction('createConnection', async (tx) => {
    const created = { id, name, type, config, sealedCredentials }
    if (!(await insertConnection(tx, actor.workspaceId, created))) {
      const reason = 'Another connection of this workspace has this name.'
      throw new InvalidInput([{ field: 'name', reason }])
    }
    await recordDeed(tx, context, actor, {
      action: 'createConnection',
      subjectType: 'connection',
      subjectId: id,
      after: { name, type, config, hasCredentials },
    })
  })
  return { connectionId: id }
}

function checkInput(context: CommandContext, input: CreateConnectionInput) {
  const named = checkText('name', input.name, MAX_NAME_LENGTH)
  const { sources, destinations } = context.registry
  const connector = sources.get(input.type) ?? destinations.get(input.type)
  if (!connector) {
    const known = [...new Set([...sources.keys(), ...destinations.keys()])].sort().join(', ')
    const reason = `There is no such type of connection; there are: ${known}.`
    throw new InvalidInput([...named, { field: 'type', reason }])
  }
  const config = parseObject('config', input.config, connector.connectionConfig)
  const credentials = parseObject('credentials', input.credentials, connector.credentials)
  const problems = [...named, ...config.problems, ...credentials.problems]
  if (problems.length > 0 || !config.value || !credentials.value) {
    throw new InvalidInput(problems)
  }
  return { config: config.value, credentials: credentials.value }
}
