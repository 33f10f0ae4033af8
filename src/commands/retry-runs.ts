/**
 * Retries many failed or partial runs, each as {@link startRetry} does it alone, and answers each by itself.
 *
 * Invariant: all of it is one transaction, so whoever repeats it with its client key learns what became of each.
 * A refusal of one run changes nothing and keeps no other from being retried. The rows of the syncs are locked in
 * the order of their ids, so that two such requests never wait for each other.
 */
import { z } from 'zod'
import { unreachable } from '../runtime/assert.ts'
import type { Handle } from '../store/database.ts'
import { findSyncsOfRuns } from '../store/retries.ts'
import type { Actor, CommandContext } from './context.ts'
import { type Done, once, type Repeatable } from './once.ts'
import {
  AlreadyRunning,
  InvalidInput,
  NotFound,
  NothingToRetry,
  NotPublished,
  SyncPaused,
} from './refusals.ts'
import { requireRole } from './require-role.ts'
import { startRetry } from './retry-run.ts'
import type { StartedRun } from './run-sync.ts'

/** Most runs that one request names: a full page of the DLQ. */
export const MAX_RETRIED_RUNS = 200

export interface RetryRunsInput extends Repeatable {
  readonly runIds: readonly string[]
}

const OUTCOME = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('started'), runId: z.string() }),
  z.object({ kind: z.literal('not_found') }),
  z.object({ kind: z.literal('not_published') }),
  z.object({ kind: z.literal('already_running'), runId: z.string() }),
  z.object({ kind: z.literal('paused'), isByBreaker: z.boolean() }),
  z.object({
    kind: z.literal('nothing_to_retry'),
    why: z.enum(['not_failed', 'test_run', 'resolved', 'retried']),
    runId: z.string().nullable(),
  }),
])
/** The run that was started, or why none was, as it is kept for a repetition. */
export type RetryOutcome = z.infer<typeof OUTCOME>

export interface RetriedItem {
  /** The run that was to be retried. */
  readonly runId: string
  readonly outcome: RetryOutcome
}

export interface RetriedRuns {
  readonly status: 'started' | 'noop'
  /** One for each run that was named, in the order in which they were; one that was named twice counts once. */
  readonly items: readonly RetriedItem[]
}

const RETRY_RUNS = {
  name: 'retryRuns',
  answer: z.object({
    status: z.enum(['started', 'noop']),
    items: z.array(z.object({ runId: z.string(), outcome: OUTCOME })),
  }),
}

/** Throws {@link Forbidden} and {@link InvalidInput}; what is wrong with one run is in its item. */
export async function retryRuns(
  context: CommandContext,
  actor: Actor,
  input: RetryRunsInput,
): Promise<RetriedRuns> {
  requireRole(actor, 'operator')
  return await once<RetriedRuns>({ context, actor, command: RETRY_RUNS, input }, (tx) =>
    retryEach(tx, context, actor, input.runIds),
  )
}

async function retryEach(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  named: readonly string[],
): Promise<Done<RetriedRuns>> {
  if (named.length < 1 || named.length > MAX_RETRIED_RUNS) {
    const reason = `It must name 1 to ${MAX_RETRIED_RUNS} runs, and ${named.length} were given.`
    throw new InvalidInput([{ field: 'runIds', reason }])
  }
  const runIds = [...new Set(named)]
  const outcomes = new Map<string, RetryOutcome>()
  const announcements: (() => Promise<void>)[] = []
  for (const runId of await orderBySync(tx, actor.workspaceId, runIds)) {
    try {
      const { answer, announce } = await startRetry(tx, context, actor, {
        runId,
        action: 'retryRuns',
      })
      outcomes.set(runId, { kind: 'started', ...answer })
      announcements.push(...(announce ? [announce] : []))
    } catch (error) {
      outcomes.set(runId, describeRefusal(error))
    }
  }
  const items = runIds.map((runId) => ({
    runId,
    outcome: outcomes.get(runId) ?? { kind: 'not_found' as const },
  }))
  return {
    answer: { status: announcements.length > 0 ? 'started' : 'noop', items },
    announce: async () => {
      await Promise.all(announcements.map((announce) => announce()))
    },
  }
}

/** Those that the workspace has. Of several runs of one sync the first that is named comes first. */
async function orderBySync(
  tx: Handle,
  workspaceId: string,
  runIds: readonly string[],
): Promise<readonly string[]> {
  const syncs = await findSyncsOfRuns(tx, workspaceId, runIds)
  const found = runIds.flatMap((runId) => {
    const syncId = syncs.get(runId)
    return syncId === undefined ? [] : [{ runId, syncId }]
  })
  return found
    .sort((one, other) => (one.syncId < other.syncId ? -1 : Number(one.syncId > other.syncId)))
    .map(({ runId }) => runId)
}

/** Rethrows what is not about one run alone. */
function describeRefusal(error: unknown): RetryOutcome {
  if (error instanceof NotFound) {
    return { kind: 'not_found' }
  }
  if (error instanceof NotPublished) {
    return { kind: 'not_published' }
  }
  if (error instanceof AlreadyRunning) {
    return { kind: 'already_running', runId: error.runId }
  }
  if (error instanceof SyncPaused) {
    return { kind: 'paused', isByBreaker: error.isByBreaker }
  }
  if (error instanceof NothingToRetry) {
    return { kind: 'nothing_to_retry', why: error.why, runId: error.runId }
  }
  throw error
}

/** Throws the refusal that the run would have met alone. */
export function readOutcome(outcome: RetryOutcome): StartedRun {
  switch (outcome.kind) {
    case 'started':
      return { runId: outcome.runId }
    case 'not_found':
      throw new NotFound('run', 'runIds')
    case 'not_published':
      throw new NotPublished()
    case 'already_running':
      throw new AlreadyRunning(outcome.runId)
    case 'paused':
      throw new SyncPaused(outcome.isByBreaker)
    case 'nothing_to_retry':
      throw new NothingToRetry(outcome.why, outcome.runId)
    default:
      return unreachable(outcome)
  }
}
