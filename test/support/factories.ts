/** Makes what a test of the API starts from: workspaces with a token, runs in any state, held records. */
import { randomBytes } from 'node:crypto'
import type { FailureCode } from '../../src/domain/failure.ts'
import type { RunStatus } from '../../src/domain/run.ts'
import { createToken } from '../../src/commands/create-token.ts'
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

export async function makeToken(
  database: Database,
  workspaceId: string,
  expiresAt: Date | null = null,
): Promise<{ readonly token: string; readonly tokenId: string }> {
  const context = { database, ids, random: systemRandom }
  const { token, tokenId } = await createToken(context, { workspaceId, name: 'test', expiresAt })
  return { token, tokenId }
}

export interface RunToMake {
  readonly workspaceId: string
  readonly syncId: string
  readonly publicationId?: string | null
  readonly status: RunStatus
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
  const now = new Date()
  const isStarted = status !== 'queued' || (wanted.claims ?? 0) > 0
  const isFinal = status !== 'queued' && status !== 'running'
  await database.orm.insert(run).values({
    id,
    workspaceId: wanted.workspaceId,
    syncId: wanted.syncId,
    publicationId: wanted.publicationId ?? null,
    cause: wanted.retryOf ? 'retry' : 'run_now',
    requestedBy: 'test',
    status,
    dueAt: wanted.dueAt ?? now,
    attemptAllowance: 5,
    claims: wanted.claims ?? (isStarted ? 1 : 0),
    epoch: isStarted ? 1 : 0,
    workerId: status === 'running' ? ids.next() : null,
    startedAt: isStarted ? new Date(now.getTime() - 60_000) : null,
    progressAt: isStarted ? new Date(now.getTime() - (wanted.silentMs ?? 0)) : null,
    finishedAt: isFinal ? now : null,
    read: written + rejected + inDoubt,
    written,
    rejected,
    inDoubt,
    failureCode: status === 'failed' ? (wanted.failureCode ?? 'provider_unavailable') : null,
    retryOf: wanted.retryOf ?? null,
    resolvedByRunId: wanted.resolvedByRunId ?? null,
    resolvedAt: wanted.resolvedByRunId ? now : null,
  })
  return id
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

/** Records that the run could not write, at the positions 0 to `count` - 1 of one page. */
export async function makeHeldRecords(
  database: Database,
  wanted: { readonly syncId: string; readonly runId: string; readonly count: number },
): Promise<void> {
  const pageDigest = randomBytes(16)
  await database.orm.insert(heldRecord).values(
    Array.from({ length: wanted.count }, (_, position) => ({
      syncId: wanted.syncId,
      pageDigest,
      position,
      identityHash: randomBytes(16),
      destinationIdentityHash: randomBytes(16),
      reason: `The email of record ${position} is not an address.`,
      firstRunId: wanted.runId,
      lastRunId: wanted.runId,
    })),
  )
}
