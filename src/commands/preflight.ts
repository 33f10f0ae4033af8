/**
 * Asks both systems of a sync, before it is published, whether they would take it: can the source be read and does it
 * have the fields, does the destination have the fields, and are the values of a type that they take.
 *
 * Invariants: runs outside transactions, and writes nothing there; all that is wrong is told at once, each by its field; what
 * could not be asked is told apart from what is wrong, and is never taken for right.
 */
import type { DestinationConnector } from '../connectors/destination.ts'
import type { SourceConnector } from '../connectors/source.ts'
import { isJsonObject } from '../domain/json.ts'
import { compileMapping, findUnknownFields, type MappingProblem } from '../domain/mapping.ts'
import { findMissing, findTargetProblems, type TargetField } from '../domain/mapping-types.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { InvariantError } from '../runtime/assert.ts'
import { UnknownKeyError } from '../runtime/seal.ts'
import { findConnections, markRefused, type StoredConnection } from '../store/connections.ts'
import { openConnection, toTrouble } from './call-connection.ts'
import type { CommandContext } from './context.ts'
import { type InputProblem, InvalidInput, Refusal, SystemOutOfReach } from './refusals.ts'
import { toInputProblem } from './sync-settings.ts'

/** `field`: the setting that names the connection. */
export type UncheckedSystem = InputProblem

export interface Preflight {
  readonly problems: readonly InputProblem[]
  /** What could not be asked: nothing is known of it. */
  readonly unchecked: readonly UncheckedSystem[]
}

/** For all that is asked together. Shorter than the API takes for an answer. */
export const PREFLIGHT_MS = 15_000

export interface PreflightOptions {
  readonly workspaceId: string
  /** It is valid by itself: `checkSyncSettings`. */
  readonly config: SyncConfig
  readonly atMostMs: number
}

/** Throws {@link Busy}. */
export async function preflight(
  context: CommandContext,
  options: PreflightOptions,
): Promise<Preflight> {
  const { workspaceId, config } = options
  const ids = [config.sourceConnectionId, config.destinationConnectionId]
  const found = await findConnections(context.database, workspaceId, ids)
  const get = (id: string) => {
    const connection = found.find((each) => each.id === id)
    return connection ?? raise(`There is no connection ${id}.`)
  }
  const [source, destination] = await Promise.all([
    ask(context, options, {
      connection: get(config.sourceConnectionId),
      ...{ field: 'sourceConnectionId', part: 'stream', ask: askSource },
    }),
    ask(context, options, {
      connection: get(config.destinationConnectionId),
      ...{ field: 'destinationConnectionId', part: 'object', ask: askDestination },
    }),
  ])
  return {
    problems: [
      ...source.problems,
      ...destination.problems,
      ...checkMapping(config, { source: source.fields, destination: destination.fields }),
    ],
    unchecked: [...source.unchecked, ...destination.unchecked],
  }
}

/**
 * What a version needs to be published: throws {@link InvalidInput} for what is wrong, {@link SystemOutOfReach} for what
 * could not be asked unless that is accepted, and {@link Busy}. Returns what was accepted.
 */
export async function requirePreflight(
  context: CommandContext,
  options: PreflightOptions & { readonly acceptsUnchecked: boolean },
): Promise<readonly UncheckedSystem[]> {
  const { problems, unchecked } = await preflight(context, options)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  if (unchecked.length > 0 && !options.acceptsUnchecked) {
    throw new SystemOutOfReach(unchecked)
  }
  return unchecked
}

interface Question<Fields> {
  readonly connection: StoredConnection
  readonly field: 'sourceConnectionId' | 'destinationConnectionId'
  /** What of the connection is asked for. */
  readonly part: 'stream' | 'object'
  ask(context: CommandContext, asked: Asked): Promise<Fields | null>
}

interface Asked {
  readonly options: PreflightOptions
  readonly connection: StoredConnection
  readonly signal: AbortSignal
}

interface Answer<Fields> extends Preflight {
  /** Null: nobody can tell. */
  readonly fields: Fields | null
}

async function ask<Fields>(
  context: CommandContext,
  options: PreflightOptions,
  question: Question<Fields>,
): Promise<Answer<Fields>> {
  const { connection } = question
  try {
    const fields = await context.outsideCalls.within(options, (signal) =>
      question.ask(context, { options, connection, signal }),
    )
    return { fields, problems: [], unchecked: [] }
  } catch (error) {
    return { fields: null, ...(await judge(context, question, error)) }
  }
}

/** What an error says of the version. Throws {@link Busy}. */
async function judge(
  { database, logger }: CommandContext,
  { connection, field, part }: Pick<Question<unknown>, 'connection' | 'field' | 'part'>,
  error: unknown,
): Promise<Preflight> {
  if (error instanceof Refusal) {
    if (error.code === 'NOT_CONNECTED') {
      return { problems: [{ field, reason: error.message }], unchecked: [] }
    }
    throw error
  }
  const trouble = toTrouble(error)
  switch (trouble?.outcome) {
    case 'refused':
      await markRefused(database, connection, trouble.detail)
      return { problems: [{ field, reason: `${REFUSED} ${trouble.detail}` }], unchecked: [] }
    case 'misconfigured':
      return { problems: [{ field: part, reason: trouble.detail }], unchecked: [] }
    case 'out_of_reach':
      return { problems: [], unchecked: [{ field, reason: trouble.detail }] }
    case undefined: {
      logger.error('preflight.failed', { connectionId: connection.id }, error)
      const reason = error instanceof UnknownKeyError ? error.message : OUR_FAULT
      return { problems: [], unchecked: [{ field, reason }] }
    }
  }
}

const REFUSED = 'The other system refuses our access: reconnect it (reconnectConnection).'
const OUR_FAULT = 'Something went wrong on our side, and the log has it.'

/** By its first record, of which nothing is kept. */
async function askSource(
  context: CommandContext,
  { options, connection, signal }: Asked,
): Promise<readonly string[] | null> {
  const { config, workspaceId } = options
  const connector: SourceConnector =
    context.registry.sources.get(connection.type) ?? raise(`No source ${connection.type}.`)
  const reader = await connector.open({
    ...openConnection(context, { workspaceId, connection, signal }),
    stream: config.stream,
    options: config.streamOptions,
  })
  try {
    await reader.readPage({ from: null, to: null, limit: 1, signal })
    return await reader.listFields()
  } finally {
    await reader.close()
  }
}

async function askDestination(
  context: CommandContext,
  { options, connection, signal }: Asked,
): Promise<readonly TargetField[] | null> {
  const { config, workspaceId } = options
  const connector: DestinationConnector =
    context.registry.destinations.get(connection.type) ??
    raise(`No destination ${connection.type}.`)
  return await connector.listFields({
    ...openConnection(context, { workspaceId, connection, signal }),
    object: config.object,
    options: config.objectOptions,
  })
}

function checkMapping(
  { mapping, objectOptions }: SyncConfig,
  fields: {
    readonly source: readonly string[] | null
    readonly destination: readonly TargetField[] | null
  },
): readonly InputProblem[] {
  const compiled = compileMapping(mapping)
  if (compiled.kind === 'invalid' || !isJsonObject(mapping)) {
    return []
  }
  const { source, destination } = fields
  const problems: readonly MappingProblem[] = [
    ...(source === null ? [] : findUnknownFields(compiled.mapping, source)),
    ...(destination === null ? [] : findTargetProblems(mapping, destination)),
  ]
  const { identityField } = objectOptions
  const isRequired = destination?.some(
    ({ name, isRequired }) => name === identityField && isRequired,
  )
  const missing =
    typeof identityField === 'string' && !isRequired
      ? findMissing(mapping, identityField, NO_IDENTITY)
      : []
  return [...problems, ...missing].map(toInputProblem)
}

const NO_IDENTITY =
  'The destination knows a record by this field (identityField), and the mapping gives it none.'

function raise(message: string): never {
  throw new InvariantError(message)
}
