/**
 * What a dashboard sees of a run while it lives: one shape for the snapshot read from the database and
 * for the hints on the bus.
 */
import { type Counters, DISPOSITIONS } from './delivery.ts'
import { FAILURE_CODES, type FailureCode } from './failure.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { RUN_STATUSES, type RunStatus, type Sequence } from './run.ts'

export interface RunProgress {
  readonly runId: string
  readonly syncId: string
  readonly workspaceId: string
  readonly status: RunStatus
  readonly sequence: Sequence
  readonly counters: Counters
  /** Records in the stream, where the source can tell. */
  readonly totalRecords: number | null
  readonly failureCode: FailureCode | null
}

export function progressToMessage(progress: RunProgress): JsonObject {
  const { sequence, counters, ...rest } = progress
  return { ...rest, sequence: { ...sequence }, counters: { ...counters } }
}

/** Null for whatever is not a progress message: the bus is not trusted. */
export function progressFromMessage(message: unknown): RunProgress | null {
  if (!isJsonObject(message)) {
    return null
  }
  const { runId, syncId, workspaceId, totalRecords } = message
  const status = RUN_STATUSES.find((name) => name === message['status'])
  const failureCode = FAILURE_CODES.find((name) => name === message['failureCode']) ?? null
  const sequence = readNumbers(message['sequence'], ['epoch', 'n'] as const)
  const counters = readNumbers(message['counters'], ['read', ...DISPOSITIONS] as const)
  const isText = [runId, syncId, workspaceId].every((id) => typeof id === 'string')
  if (!isText || !status || !sequence || !counters) {
    return null
  }
  return {
    runId: String(runId),
    syncId: String(syncId),
    workspaceId: String(workspaceId),
    status,
    sequence,
    counters,
    totalRecords: typeof totalRecords === 'number' ? totalRecords : null,
    failureCode,
  }
}

function readNumbers<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Record<Name, number> | null {
  if (!isJsonObject(value)) {
    return null
  }
  const entries = names.map((name) => [name, value[name]] as const)
  const isWhole = entries.every(([, number]) => Number.isSafeInteger(number))
  return isWhole ? (Object.fromEntries(entries) as Record<Name, number>) : null
}
