/**
 * Checks a sync's configuration as a whole: its connections, stream, object, options and mapping.
 *
 * Runs outside transactions (a source may have to look at a file). Connections are never removed and keep
 * their type, so what held here still holds in the transaction that follows. Whether a tool is connected is
 * no question of the configuration: that may change at any time, and each run asks it.
 */

import { ConnectorError } from '../connectors/connector.ts'
import type { SourceConnector } from '../connectors/source.ts'
import { MAX_BREAKER_THRESHOLD } from '../domain/breaker.ts'
import { isUuid } from '../domain/ids.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts'
import { compileMapping, findUnknownFields, type MappingProblem } from '../domain/mapping.ts'
import { MAX_PAGE_RECORDS } from '../domain/page.ts'
import type { GivenSchedule, Schedule } from '../domain/schedule.ts'
import type { BrokenRecordPolicy, RejectionPolicy, SyncConfig } from '../domain/sync.ts'
import { findConnections } from '../store/connections.ts'
import type { CommandContext } from './context.ts'
import { checkText, describeUnfitJson, MAX_NAME_LENGTH, parseObject } from './input-checks.ts'
import type { InputProblem } from './refusals.ts'
import { checkScheduleInput } from './schedule-input.ts'

/** A configuration as it is handed in: nothing about it is checked. */
export interface SyncSettings {
  readonly sourceConnectionId: string
  readonly stream: string
  readonly streamOptions: JsonValue
  readonly destinationConnectionId: string
  readonly object: string
  readonly objectOptions: JsonValue
  readonly mapping: JsonValue
  readonly onRejected: RejectionPolicy
  readonly onBrokenRecord: BrokenRecordPolicy
  readonly pageSize: number
  /** Null: it runs only when it is asked to. */
  readonly schedule: GivenSchedule | null
  /** Null: as many failed runs in a row as the deployment says. */
  readonly breakerThreshold: number | null
}

export type CheckedSettings =
  | { readonly kind: 'valid'; readonly config: SyncConfig }
  | { readonly kind: 'invalid'; readonly problems: readonly InputProblem[] }

interface CheckedSide {
  readonly options: JsonObject
  /** The fields that records have; null: nobody can tell. */
  readonly fields: readonly string[] | null
  readonly problems: readonly InputProblem[]
}

export async function checkSyncSettings(
  context: CommandContext,
  workspaceId: string,
  settings: SyncSettings,
): Promise<CheckedSettings> {
  const types = await findConnectionTypes(context, workspaceId, settings)
  const source = await checkSource(context, types.get(settings.sourceConnectionId), settings)
  const destination = checkDestination(
    context,
    types.get(settings.destinationConnectionId),
    settings,
  )
  const scheduled = checkGivenSchedule(settings.schedule)
  const problems = [
    ...source.problems,
    ...destination.problems,
    ...checkMapping(settings.mapping, source.fields),
    ...checkPageSize(settings.pageSize),
    ...checkBreakerThreshold(settings.breakerThreshold),
    ...scheduled.problems,
  ]
  if (problems.length > 0 || !isJsonObject(settings.mapping)) {
    return { kind: 'invalid', problems }
  }
  return {
    kind: 'valid',
    // Member by member: its digest names the version, so nothing else may slip in.
    config: {
      sourceConnectionId: settings.sourceConnectionId,
      stream: settings.stream,
      streamOptions: source.options,
      destinationConnectionId: settings.destinationConnectionId,
      object: settings.object,
      objectOptions: destination.options,
      mapping: settings.mapping,
      onRejected: settings.onRejected,
      onBrokenRecord: settings.onBrokenRecord,
      pageSize: settings.pageSize,
      schedule: scheduled.schedule,
      breakerThreshold: settings.breakerThreshold,
    },
  }
}

async function findConnectionTypes(
  context: CommandContext,
  workspaceId: string,
  settings: SyncSettings,
): Promise<ReadonlyMap<string, string>> {
  const ids = [settings.sourceConnectionId, settings.destinationConnectionId].filter(isUuid)
  const found = await findConnections(context.database, workspaceId, ids)
  return new Map(found.map(({ id, type }) => [id, type]))
}

async function checkSource(
  context: CommandContext,
  type: string | undefined,
  settings: SyncSettings,
): Promise<CheckedSide> {
  const named = checkText('stream', settings.stream, MAX_NAME_LENGTH)
  const field = 'sourceConnectionId'
  if (type === undefined) {
    return side([{ field, reason: NO_CONNECTION }, ...named])
  }
  const connector = context.registry.sources.get(type)
  if (!connector) {
    return side([{ field, reason: `A connection of type ${type} cannot be read from.` }, ...named])
  }
  const options = parseObject('streamOptions', settings.streamOptions, connector.streamOptions)
  const { problem, fields } =
    // Without valid options a source cannot tell what the stream consists of.
    named.length === 0 && options.value
      ? await askStream(connector, settings.stream, options.value)
      : { problem: null, fields: null }
  return {
    options: options.value ?? {},
    fields,
    problems: [...named, ...describe('stream', problem), ...options.problems],
  }
}

async function askStream(connector: SourceConnector, stream: string, options: JsonObject) {
  const problem = await connector.describeStreamProblem(stream, options)
  if (problem !== null) {
    return { problem, fields: null }
  }
  try {
    return { problem, fields: await connector.listFields(stream, options) }
  } catch (error) {
    if (error instanceof ConnectorError) {
      return { problem: error.message, fields: null }
    }
    throw error
  }
}

function checkDestination(
  context: CommandContext,
  type: string | undefined,
  settings: SyncSettings,
): CheckedSide {
  const named = checkText('object', settings.object, MAX_NAME_LENGTH)
  const field = 'destinationConnectionId'
  if (type === undefined) {
    return side([{ field, reason: NO_CONNECTION }, ...named])
  }
  const connector = context.registry.destinations.get(type)
  if (!connector) {
    return side([{ field, reason: `A connection of type ${type} cannot be written to.` }, ...named])
  }
  const options = parseObject('objectOptions', settings.objectOptions, connector.objectOptions)
  const problem = named.length === 0 ? connector.describeObjectProblem(settings.object) : null
  return {
    options: options.value ?? {},
    fields: null,
    problems: [...named, ...describe('object', problem), ...options.problems],
  }
}

const NO_CONNECTION = 'There is no connection with this id.'

function checkMapping(
  mapping: JsonValue,
  fields: readonly string[] | null,
): readonly InputProblem[] {
  const unfit = describeUnfitJson(mapping)
  if (unfit) {
    return [{ field: 'mapping', reason: unfit }]
  }
  const compiled = compileMapping(mapping)
  if (compiled.kind === 'invalid') {
    return compiled.problems.map(toInputProblem)
  }
  return fields === null ? [] : findUnknownFields(compiled.mapping, fields).map(toInputProblem)
}

export function toInputProblem({ field, reason }: MappingProblem): InputProblem {
  // The mapping as a whole is named in brackets.
  return { field: field.startsWith('(') ? 'mapping' : `mapping.${field}`, reason }
}

function checkPageSize(pageSize: number): readonly InputProblem[] {
  return checkCount('pageSize', pageSize, MAX_PAGE_RECORDS)
}

function checkBreakerThreshold(threshold: number | null): readonly InputProblem[] {
  return threshold === null ? [] : checkCount('breakerThreshold', threshold, MAX_BREAKER_THRESHOLD)
}

function checkCount(field: string, count: number, most: number): readonly InputProblem[] {
  if (Number.isSafeInteger(count) && count >= 1 && count <= most) {
    return []
  }
  const reason = `It must be a whole number from 1 to ${most}, and ${count} was given.`
  return [{ field, reason }]
}

function checkGivenSchedule(given: GivenSchedule | null): {
  readonly schedule: Schedule | null
  readonly problems: readonly InputProblem[]
} {
  return given === null ? { schedule: null, problems: [] } : checkScheduleInput(given)
}

function side(problems: readonly InputProblem[]): CheckedSide {
  return { options: {}, fields: null, problems }
}

function describe(field: string, reason: string | null): readonly InputProblem[] {
  return reason === null ? [] : [{ field, reason }]
}
