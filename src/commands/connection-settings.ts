/** Checks what a tool is connected with, and seals its credentials: for a new connection and for one that is renewed. */
import type { DestinationConnector } from '../connectors/destination.ts'
import type { SourceConnector } from '../connectors/source.ts'
import type { JsonObject, JsonValue } from '../domain/json.ts'
import type { CommandContext } from './context.ts'
import { parseObject } from './input-checks.ts'
import { type InputProblem, InvalidInput } from './refusals.ts'

export interface ConnectionSettings {
  readonly config: JsonObject
  readonly credentials: JsonObject
}

/** Null: there is no such type of connection. */
export function findConnector(
  { registry }: Pick<CommandContext, 'registry'>,
  type: string,
): SourceConnector | DestinationConnector | null {
  return registry.sources.get(type) ?? registry.destinations.get(type) ?? null
}

/** Throws {@link InvalidInput} with these problems and those of the settings. */
export function checkConnectionSettings(
  connector: SourceConnector | DestinationConnector,
  given: { readonly config: JsonValue; readonly credentials: JsonValue },
  others: readonly InputProblem[],
): ConnectionSettings {
  const config = parseObject('config', given.config, connector.connectionConfig)
  const credentials = parseObject('credentials', given.credentials, connector.credentials)
  const problems = [...others, ...config.problems, ...credentials.problems]
  if (problems.length > 0 || !config.value || !credentials.value) {
    throw new InvalidInput(problems)
  }
  return { config: config.value, credentials: credentials.value }
}

/** For this connection only; null: there are none. */
export function sealCredentials(
  { sealer }: Pick<CommandContext, 'sealer'>,
  connectionId: string,
  credentials: JsonObject,
): string | null {
  const hasCredentials = Object.keys(credentials).length > 0
  return hasCredentials ? sealer.seal(JSON.stringify(credentials), connectionId) : null
}
