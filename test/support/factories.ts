/** Makes what a test of the API starts from: workspaces with a token, runs in any state, held records. */
import { randomBytes } from 'node:crypto'
import { keepToken } from '../../src/commands/create-token.ts'
import type { FailureCode } from '../../src/domain/failure.ts'
import type { RunCause, RunStatus } from '../../src/domain/run.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import type { Database } from '../../src/store/database.ts'
import { attempt, heldRecord, run } from '../../src/store/schema.ts'
import { insertWorkspace } from '../../src/store/workspaces.ts'

const ids = createIdSource(systemClock, systemRandom)

export interface TestWorkspace {
  readonly workspaceId: string
  readonly name: string
  /** Opens the workspace. */
  readonly token: string
  readonly tokenId: string
}

export async function makeWorkspace(database: Database): Promise<TestWorkspace> {
  const workspaceId = ids.next()
  const name = `Workspace ${workspaceId}`
  await insertWorkspace(database, { id: workspaceId, name })
  return { workspaceId, name, ...(await makeToken(database, workspaceId)) }
}

/** An admin's that does not expire, unless something else is wanted. */
export async function makeToken(
  database: Database,
  workspaceId: string,
  wanted: Partial<Omit<Parameters<typeof keepToken>[2], 'workspaceId'>> = {},
): Promise<{ readonly token: string; readonly tokenId: string }> {
  const context = { database, ids, random: systemRandom }
  const usual = { name: 'test', role: 'admin', expiresAt: null } as const
  const { token, tokenId } = await database.transaction('makeToken', (tx) =>
    keepToken(tx, context, { ...usual, ...wanted, workspaceId }),
  )
  return { token, tokenId }
}

export interface RunToMake {
  readonly workspaceId: string
  readonly syncId: string
  readonly status: RunStatus
  readonly cause?: RunCause
  readonly failureCode?: FailureCode
  readonly written?: number
  readonly rejected?: number
  readonly inDoubt?: number
  readonly retryOf?: string
  readonly resolvedByRunId?: string
  /** Since its last progress. */
  readonly silentMs?: number
  readonly claims?: number
  readonly dueAt?: Date
}

/** Inserts a run as it would stand in that state. */
export async function makeRun(database: Database, wanted: RunToMake): Promise<string> {
  const id = ids.next()
  const { written = 0, rejected = 0, inDoubt = 0, status } = wanted
  await database.orm.insert(run).values({
    id,
    workspaceId: wanted.workspaceId,
    syncId: wanted.syncId,
    cause: wanted.cause ?? (wanted.retryOf ? 'retry' : 'run_now'),
    requestedBy: 'test',
    status,
    attemptAllowance: 5,
    read: written + rejected + inDoubt,
    written,
    rejected,
    inDoubt,
    failureCode: status === 'failed' ? (wanted.failureCode ?? 'provider_unavailable') : null,
    retryOf: wanted.retryOf ?? null,
    ...timesOf(wanted),
  })
  return id
}

function timesOf({ status, claims, silentMs = 0, dueAt, resolvedByRunId }: RunToMake) {
  const now = new Date()
  const isStarted = status !== 'queued' || (claims ?? 0) > 0
  const isFinal = status !== 'queued' && status !== 'running'
  return {
    dueAt: dueAt ?? now,
    claims: claims ?? (isStarted ? 1 : 0),
    epoch: isStarted ? 1 : 0,
    workerId: status === 'running' ? ids.next() : null,
    startedAt: isStarted ? new Date(now.getTime() - 60_000) : null,
    progressAt: isStarted ? new Date(now.getTime() - silentMs) : null,
    finishedAt: isFinal ? now : null,
    resolvedByRunId: resolvedByRunId ?? null,
    resolvedAt: resolvedByRunId ? now : null,
  }
}

export async function makeAttempt(
  database: Database,
  wanted: { readonly runId: string; readonly number: number; readonly failureCode?: FailureCode },
): Promise<void> {
  const now = new Date()
  await database.orm.insert(attempt).values({
    runId: wanted.runId,
    number: wanted.number,
    epoch: wanted.number,
    workerId: ids.next(),
    finishedAt: wanted.failureCode ? now : null,
    outcome: wanted.failureCode ? 'postponed' : null,
    failureCode: wanted.failureCode ?? null,
    failureStep: wanted.failureCode ? 'writing' : null,
  })
}

/** Records that the run could not write, at the positions 0 to `count` - 1 of one page; `given` of each. */
export async function makeHeldRecords(
  database: Database,
  wanted: { readonly syncId: string; readonly runId: string; readonly count: number },
  given: Partial<typeof heldRecord.$inferInsert> = {},
): Promise<void> {
  const pageDigest = randomBytes(16)
  await database.orm.insert(heldRecord).values(
    Array.from({ length: wanted.count }, (_, position) => ({
      id: ids.next(),
      syncId: wanted.syncId,
      pageDigest,
      position,
      identityHash: randomBytes(16),
      destinationIdentityHash: randomBytes(16),
      reason: `The email of record ${position} is not an address.`,
      firstRunId: wanted.runId,
      lastRunId: wanted.runId,
      ...given,
    })),
  )
}
