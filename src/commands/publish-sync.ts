/**
 * Attests the draft: it becomes the version that runs, and the sync becomes active, whoever had paused it. Where
 * that was the breaker, its incident is over. Where the workspace wants four eyes, nobody publishes alone (I22).
 */
import { z } from 'zod'
import { announceAlerts } from '../coordination/announce.ts'
import { decidePublish, digestConfig } from '../domain/sync.ts'
import { sha256 } from '../runtime/hash.ts'
import type { Handle } from '../store/database.ts'
import { findPublication } from '../store/publications.ts'
import { findSync, findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { needsApproval } from '../store/workspaces.ts'
import { describeUnchecked, recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { DONE_OR_NOOP, type Done, once, onceChecked, type Repeatable } from './once.ts'
import { PREFLIGHT_MS, requirePreflight, type UncheckedSystem } from './preflight.ts'
import { publishVersion } from './publish-version.ts'
import {
  ApprovalNeeded,
  ChangedMeanwhile,
  InvalidInput,
  NotFound,
  SyncStillPausing,
} from './refusals.ts'
import { requireRole } from './require-role.ts'
import { supersedeRequest } from './supersede-request.ts'
import { checkSyncSettings } from './sync-settings.ts'

export interface PublishSyncInput extends Repeatable {
  readonly syncId: string
  /** Publish also what could not be checked, because the other system is out of reach. */
  readonly acceptsUnchecked?: true
}

export interface PublishSyncResult {
  readonly syncId: string
  readonly publicationId: string
  readonly status: 'done' | 'noop'
}

const PUBLISH_SYNC = {
  name: 'publishSync',
  answer: z.object({ syncId: z.string(), publicationId: z.string(), status: DONE_OR_NOOP }),
}

/** Tries to publish the draft that was checked, before somebody else's changes win. */
const MAX_TRIES = 3

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link ApprovalNeeded}, {@link SyncStillPausing}, {@link SystemOutOfReach}, {@link ChangedMeanwhile}. */
export async function publishSync(
  context: CommandContext,
  actor: Actor,
  input: PublishSyncInput,
): Promise<PublishSyncResult> {
  requireRole(actor, 'publisher')
  const call = { context, actor, command: PUBLISH_SYNC, input }
  return await onceChecked<PublishSyncResult>(call, async () => {
    const untilMs = context.clock.monotonicMs() + PREFLIGHT_MS
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const known = await findSync(context.database, actor.workspaceId, input.syncId)
      if (!known) {
        throw new NotFound('sync', 'syncId')
      }
      await refuseWithoutApproval(context.database, actor, null)
      // What held when the draft was saved may not hold any more: its file may have gone.
      const checked = await checkSyncSettings(context, actor.workspaceId, known.draft)
      if (checked.kind === 'invalid') {
        throw new InvalidInput(checked.problems)
      }
      const { kind } = await decide(context.database, known)
      const unchecked =
        kind === 'publish'
          ? await requirePreflight(context, {
              ...{ workspaceId: actor.workspaceId, config: checked.config },
              acceptsUnchecked: input.acceptsUnchecked ?? false,
              atMostMs: Math.max(1, untilMs - context.clock.monotonicMs()),
            })
          : null
      const result = await once<PublishSyncResult, null>(call, (tx) =>
        publishDraft(tx, { context, actor, known, unchecked }),
      )
      if (result) {
        return result
      }
    }
    throw new ChangedMeanwhile()
  })
}

/** What becomes of the draft if it is published now, and what is published. */
async function decide(handle: Handle, sync: StoredSync) {
  const draftDigest = digestConfig(sha256, sync.draft)
  const current = sync.publicationId
    ? await findPublication(handle, sync.id, sync.publicationId)
    : null
  const publishedDigest = current?.versionDigest ?? null
  const { kind } = decidePublish({ status: sync.status, draftDigest, publishedDigest })
  return { kind, current, publishedDigest }
}

interface CheckedDraft {
  readonly context: CommandContext
  readonly actor: Actor
  readonly known: StoredSync
  /** What could not be asked, which was accepted; null: nobody was asked, as nothing was to be published. */
  readonly unchecked: readonly UncheckedSystem[] | null
}

/** Null: the draft is not the one that was checked. */
async function publishDraft(
  tx: Handle,
  { context, actor, known, unchecked }: CheckedDraft,
): Promise<Done<PublishSyncResult> | null> {
  const draftDigest = digestConfig(sha256, known.draft)
  const sync = await findSyncForUpdate(tx, actor.workspaceId, known.id)
  if (!sync || digestConfig(sha256, sync.draft) !== draftDigest) {
    return null
  }
  await refuseWithoutApproval(tx, actor, 'publish')
  const { kind, current, publishedDigest } = await decide(tx, sync)
  if (kind === 'refuse') {
    throw new SyncStillPausing()
  }
  if (kind === 'noop' && current) {
    return { answer: { syncId: sync.id, publicationId: current.id, status: 'noop' } }
  }
  if (unchecked === null) {
    return null // it was the version that runs, when nobody was asked
  }
  const { publicationId, hasClosedAlert } = await publishVersion(tx, context, sync, {
    ...{ versionDigest: draftDigest, config: sync.draft },
    ...{ publishedBy: actor.tokenName, approvedBy: null },
  })
  const superseded = await supersedeRequest(tx, actor, {
    ...{ syncId: sync.id, kind: 'version_active', digest: draftDigest },
  })
  await recordDeed(tx, context, actor, {
    action: 'publishSync',
    subjectType: 'sync',
    subjectId: sync.id,
    before: {
      status: sync.status,
      publicationId: current?.id ?? null,
      versionDigest: publishedDigest,
    },
    after: {
      ...{ status: 'active', publicationId, versionDigest: draftDigest, ...superseded },
      ...describeUnchecked(unchecked),
    },
  })
  return {
    answer: { syncId: sync.id, publicationId, status: 'done' },
    ...(hasClosedAlert && { announce: () => announceAlerts(context.bus) }),
  }
}

async function refuseWithoutApproval(
  handle: Handle,
  { workspaceId }: Actor,
  hold: 'publish' | null,
): Promise<void> {
  if (await needsApproval(handle, workspaceId, hold)) {
    throw new ApprovalNeeded()
  }
}
