/**
 * Publishes the version that somebody else has requested: that very version and nothing else. Who requested it
 * published it, and who approves it stands beside.
 */
import { announceAlerts } from '../coordination/announce.ts'
import { decidePublish, digestConfig } from '../domain/sync.ts'
import { sha256 } from '../runtime/hash.ts'
import type { Handle } from '../store/database.ts'
import { closeRequest, getVersionConfig } from '../store/publication-requests.ts'
import { findPublication } from '../store/publications.ts'
import { describeUnchecked, recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { type Done, once, onceChecked, type Repeatable } from './once.ts'
import { getRequest, holdRequest, mayClose } from './open-request.ts'
import { PREFLIGHT_MS, requirePreflight, type UncheckedSystem } from './preflight.ts'
import { publishVersion } from './publish-version.ts'
import { InvalidInput, RequestClosed, SyncStillPausing } from './refusals.ts'
import { CHANGED_REQUEST, type ChangedRequest } from './request-publication.ts'
import { requireRole } from './require-role.ts'
import { checkSyncSettings } from './sync-settings.ts'

export interface ApprovePublicationInput extends Repeatable {
  readonly requestId: string
  /** Publish also what could not be checked, because the other system is out of reach. */
  readonly acceptsUnchecked?: true
}

const APPROVE_PUBLICATION = { name: 'approvePublication', answer: CHANGED_REQUEST }

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link OwnRequest}, {@link RequestClosed}, {@link SyncStillPausing}, {@link SystemOutOfReach}. */
export async function approvePublication(
  context: CommandContext,
  actor: Actor,
  input: ApprovePublicationInput,
): Promise<ChangedRequest> {
  requireRole(actor, 'admin')
  const call = { context, actor, command: APPROVE_PUBLICATION, input }
  return await onceChecked<ChangedRequest>(call, async () => {
    const known = await getRequest(context.database, actor, input.requestId)
    let unchecked: readonly UncheckedSystem[] = []
    if (mayClose(known, actor, 'approved')) {
      const { syncId, versionDigest } = known
      const requested = await getVersionConfig(context.database, syncId, versionDigest)
      // What held when it was requested may not hold any more: its file may have gone.
      const checked = await checkSyncSettings(context, actor.workspaceId, requested)
      if (checked.kind === 'invalid') {
        throw new InvalidInput(checked.problems)
      }
      unchecked = await requirePreflight(context, {
        ...{ workspaceId: actor.workspaceId, config: checked.config, atMostMs: PREFLIGHT_MS },
        acceptsUnchecked: input.acceptsUnchecked ?? false,
      })
    }
    return await once<ChangedRequest>(call, (tx) =>
      approve(tx, { context, actor, requestId: input.requestId, unchecked }),
    )
  })
}

async function approve(
  tx: Handle,
  given: {
    readonly context: CommandContext
    readonly actor: Actor
    readonly requestId: string
    readonly unchecked: readonly UncheckedSystem[]
  },
): Promise<Done<ChangedRequest>> {
  const { context, actor, requestId, unchecked } = given
  const { request, sync } = await holdRequest(tx, actor, requestId)
  if (!mayClose(request, actor, 'approved')) {
    return { answer: { requestId, status: 'noop' } }
  }
  const { versionDigest } = request
  const current = sync.publicationId ? await findPublication(tx, sync.id, sync.publicationId) : null
  const publishedDigest = current?.versionDigest ?? null
  const { status } = sync
  const decision = decidePublish({ status, draftDigest: versionDigest, publishedDigest })
  if (decision.kind === 'refuse') {
    throw new SyncStillPausing()
  }
  // A process of a version before this one changes drafts without a thought of requests.
  if (decision.kind === 'noop' || digestConfig(sha256, sync.draft) !== versionDigest) {
    throw new RequestClosed('superseded')
  }
  const { publicationId, hasClosedAlert } = await publishVersion(tx, context, sync, {
    ...{ versionDigest, config: sync.draft },
    ...{ publishedBy: request.requestedBy, approvedBy: actor.tokenName },
  })
  const closing = { status: 'approved', by: actor, reason: null, publicationId } as const
  await closeRequest(tx, requestId, closing)
  await recordDeed(tx, context, actor, {
    action: 'approvePublication',
    subjectType: 'sync',
    subjectId: sync.id,
    before: {
      ...{ status, publicationId: current?.id ?? null, versionDigest: publishedDigest },
      ...(sync.pauseCause ? { pauseCause: sync.pauseCause, pauseReason: sync.pauseReason } : {}),
      ...{ requestId, requestStatus: 'open' },
    },
    after: {
      ...{ status: 'active', publicationId, versionDigest },
      ...{ requestId, requestStatus: 'approved', publishedBy: request.requestedBy },
      ...{ requestReason: request.reason, ...describeUnchecked(unchecked) },
    },
  })
  return {
    answer: { requestId, status: 'done' },
    ...(hasClosedAlert && { announce: () => announceAlerts(context.bus) }),
  }
}
