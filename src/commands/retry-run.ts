/**
 * Retries a failed or partial run: a new run of the published version, from the saved cursor, linked to
 * the one it retries.
 *
 * Invariant: a run is retried by at most one run. Of any number of parallel retries one starts it, and
 * all of them learn its id.
 */
import { z } from 'zod'
import { decideRetry, type RetryDecision } from '../domain/sync.ts'
import { unreachable } from '../runtime/assert.ts'
import type { Handle } from '../store/database.ts'
import { findLatestRetry, findRetriedRun } from '../store/retries.ts'
import { enqueueRun, findRunInFlight } from '../store/runs.ts'
import { findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { announceProgress } from './announce.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { type Done, once, type Repeatable } from './once.ts'
import { AlreadyRunning, NotFound, NothingToRetry, type Refusal } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { type StartedRun, toStandingRefusal } from './run-sync.ts'

/** What a person started has one attempt: whoever started it is there to look. */
const RETRY_ALLOWANCE = 1

export interface RetryRunInput extends Repeatable {
  readonly runId: string
}

const RETRY_RUN = { name: 'retryRun', answer: z.object({ runId: z.string() }) }

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NothingToRetry}, {@link AlreadyRunning}, and why the sync may not run. */
export async function retryRun(
  context: CommandContext,
  actor: Actor,
  input: RetryRunInput,
): Promise<StartedRun> {
  requireRole(actor, 'operator')
  return await once<StartedRun>({ context, actor, command: RETRY_RUN, input }, (tx) =>
    startRetry(tx, context, actor, { runId: input.runId, action: 'retryRun' }),
  )
}

/** Changes nothing where it throws one of the refusals of {@link retryRun}. Locks the row of the run's sync. */
export async function startRetry(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  { runId, action }: { readonly runId: string; readonly action: 'retryRun' | 'retryRuns' },
): Promise<Done<StartedRun>> {
  const known = await findRetriedRun(tx, actor.workspaceId, runId)
  const sync = known && (await findSyncForUpdate(tx, actor.workspaceId, known.syncId))
  // Read again behind the sync's row: only now nobody else can end or retry it.
  const run = sync && (await findRetriedRun(tx, actor.workspaceId, runId))
  if (!sync || !run) {
    throw new NotFound('run', 'runId')
  }
  const decision = decideRetry({
    syncStatus: sync.status,
    runStatus: run.status,
    isTest: run.cause === 'test',
    resolvedByRunId: run.resolvedByRunId,
    inFlight: await findRunInFlight(tx, sync.id),
    latestRetry: await findLatestRetry(tx, run.id),
  })
  if (decision.kind === 'refuse') {
    throw toRefusal(decision, sync)
  }
  const queued = await enqueueRun(tx, {
    id: context.ids.next(),
    workspaceId: actor.workspaceId,
    syncId: sync.id,
    publicationId: sync.publicationId,
    cause: 'retry',
    requestedBy: actor.tokenName,
    attemptAllowance: RETRY_ALLOWANCE,
    retryOf: run.id,
  })
  if (queued.kind !== 'queued') {
    throw new AlreadyRunning(queued.runId)
  }
  const { progress } = queued
  await recordDeed(tx, context, actor, {
    action,
    subjectType: 'run',
    subjectId: run.id,
    after: { runId: progress.runId },
  })
  return {
    answer: { runId: progress.runId },
    announce: () => announceProgress(context, progress),
  }
}

function toRefusal(
  decision: Extract<RetryDecision, { kind: 'refuse' }>,
  sync: StoredSync,
): Refusal {
  switch (decision.why) {
    case 'already_running':
      return new AlreadyRunning(decision.runId)
    case 'not_failed':
    case 'test_run':
      return new NothingToRetry(decision.why, null)
    case 'resolved':
    case 'retried':
      return new NothingToRetry(decision.why, decision.runId)
    case 'not_published':
    case 'paused':
      return toStandingRefusal(decision.why, sync)
    default:
      return unreachable(decision)
  }
}
