/**
 * Queues a test run of the draft as it is: the next records of the source, mapped and checked, and nothing written.
 * What it answers is committed (I6).
 */
import { z } from 'zod'
import { digestConfig } from '../domain/sync.ts'
import { MAX_TEST_RECORDS } from '../domain/test-run.ts'
import { sha256 } from '../runtime/hash.ts'
import type { Handle } from '../store/database.ts'
import { keepVersion } from '../store/publications.ts'
import { enqueueRun } from '../store/runs.ts'
import { findSyncForUpdate } from '../store/syncs.ts'
import { insertTestRun } from '../store/test-runs.ts'
import { announceProgress } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'
import type { StartedRun } from './run-sync.ts'

/** Whoever started it is there to look. */
const TEST_ALLOWANCE = 1

export interface TestSyncInput extends Repeatable {
  readonly syncId: string
  /** Most records to read. */
  readonly limit: number
}

const TEST_SYNC = { name: 'testSync', answer: z.object({ runId: z.string() }) }

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link AlreadyRunning}. */
export async function testSync(
  context: CommandContext,
  actor: Actor,
  input: TestSyncInput,
): Promise<StartedRun> {
  requireRole(actor, 'operator')
  const { limit } = input
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_TEST_RECORDS) {
    const reason = `It must be a whole number from 1 to ${MAX_TEST_RECORDS}, and ${limit} was given.`
    throw new InvalidInput([{ field: 'limit', reason }])
  }
  return await once<StartedRun>({ context, actor, command: TEST_SYNC, input }, (tx) =>
    start(tx, context, actor, input),
  )
}

async function start(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: TestSyncInput,
): Promise<Done<StartedRun>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, input.syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const queued = await enqueueRun(tx, {
    id: context.ids.next(),
    workspaceId: actor.workspaceId,
    syncId: sync.id,
    publicationId: null,
    cause: 'test',
    requestedBy: actor.tokenName,
    attemptAllowance: TEST_ALLOWANCE,
    retryOf: null,
  })
  if (queued.kind !== 'queued') {
    throw new AlreadyRunning(queued.runId)
  }
  const { progress } = queued
  const { runId } = progress
  const versionDigest = digestConfig(sha256, sync.draft)
  await keepVersion(tx, { syncId: sync.id, versionDigest, config: sync.draft })
  const recordLimit = input.limit
  await insertTestRun(tx, { runId, syncId: sync.id, versionDigest, recordLimit })
  await recordDeed(tx, context, actor, {
    action: 'testSync',
    subjectType: 'sync',
    subjectId: sync.id,
    after: { runId, versionDigest, recordLimit },
  })
  return { answer: { runId }, announce: () => announceProgress(context, progress) }
}
