/**
 * Asks for the draft to be published, for those who may not publish and where the workspace wants four eyes. What is
 * requested is the draft as it is now: once it is changed, the request is over.
 */
import { z } from 'zod'
import { decideRequest } from '../domain/publication-request.ts'
import { digestConfig } from '../domain/sync.ts'
import { sha256 } from '../runtime/hash.ts'
import type { Handle } from '../store/database.ts'
import { closeRequest, findOpenRequest, insertRequest } from '../store/publication-requests.ts'
import { findPublication } from '../store/publications.ts'
import { findSync, findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import { describeUnchecked, recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, type Done, once, onceChecked, type Repeatable } from './once.ts'
import { PREFLIGHT_MS, requirePreflight, type UncheckedSystem } from './preflight.ts'
import { ChangedMeanwhile, InvalidInput, NotFound, NothingToPublish } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { checkSyncSettings } from './sync-settings.ts'

export interface RequestPublicationInput extends Repeatable {
  readonly syncId: string
  readonly reason: string
  /** Request also what could not be checked, because the other system is out of reach. */
  readonly acceptsUnchecked?: true
}

export interface ChangedRequest {
  readonly requestId: string
  readonly status: 'done' | 'noop'
}

/** What is kept of the answer of whatever is done to a request. */
export const CHANGED_REQUEST = z.object({ requestId: z.string(), status: DONE_OR_NOOP })

const REQUEST_PUBLICATION = { name: 'requestPublication', answer: CHANGED_REQUEST }

/** Tries to request the draft that was checked, before somebody else's changes win. */
const MAX_TRIES = 3

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NothingToPublish}, {@link SystemOutOfReach}, {@link ChangedMeanwhile}. */
export async function requestPublication(
  context: CommandContext,
  actor: Actor,
  input: RequestPublicationInput,
): Promise<ChangedRequest> {
  requireRole(actor, 'operator')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const call = { context, actor, command: REQUEST_PUBLICATION, input }
  return await onceChecked<ChangedRequest>(call, async () => {
    const untilMs = context.clock.monotonicMs() + PREFLIGHT_MS
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const known = await findSync(context.database, actor.workspaceId, input.syncId)
      if (!known) {
        throw new NotFound('sync', 'syncId')
      }
      // Nobody should be asked to approve what cannot be published.
      const checked = await checkSyncSettings(context, actor.workspaceId, known.draft)
      if (checked.kind === 'invalid') {
        throw new InvalidInput(checked.problems)
      }
      const { decision } = await decide(context.database, known)
      const unchecked =
        decision.kind === 'request'
          ? await requirePreflight(context, {
              ...{ workspaceId: actor.workspaceId, config: checked.config },
              acceptsUnchecked: input.acceptsUnchecked ?? false,
              atMostMs: Math.max(1, untilMs - context.clock.monotonicMs()),
            })
          : null
      const result = await once<ChangedRequest, null>(call, (tx) =>
        request(tx, { context, actor, known, reason: input.reason, unchecked }),
      )
      if (result) {
        return result
      }
    }
    throw new ChangedMeanwhile()
  })
}

/** What becomes of the draft if it is requested now. */
async function decide(handle: Handle, sync: StoredSync) {
  const current = sync.publicationId
    ? await findPublication(handle, sync.id, sync.publicationId)
    : null
  const open = await findOpenRequest(handle, sync.id)
  const decision = decideRequest({
    ...{ status: sync.status, draftDigest: digestConfig(sha256, sync.draft) },
    publishedDigest: current?.versionDigest ?? null,
    requestedDigest: open?.versionDigest ?? null,
  })
  return { decision, current, open }
}

/** Null: the draft is not the one that was checked. */
async function request(
  tx: Handle,
  given: {
    readonly context: CommandContext
    readonly actor: Actor
    readonly known: StoredSync
    readonly reason: string
    /** What could not be asked, which was accepted; null: nobody was asked, as nothing was to be requested. */
    readonly unchecked: readonly UncheckedSystem[] | null
  },
): Promise<Done<ChangedRequest> | null> {
  const { context, actor, known, reason, unchecked } = given
  const draftDigest = digestConfig(sha256, known.draft)
  const sync = await findSyncForUpdate(tx, actor.workspaceId, known.id)
  if (!sync || digestConfig(sha256, sync.draft) !== draftDigest) {
    return null
  }
  const { decision, current, open } = await decide(tx, sync)
  if (decision.kind === 'refuse') {
    throw new NothingToPublish()
  }
  if (open && decision.kind === 'noop') {
    return { answer: { requestId: open.id, status: 'noop' } }
  }
  if (unchecked === null) {
    return null // there was nothing to request, when nobody was asked
  }
  if (open) {
    const rest = { by: actor, reason: null, publicationId: null }
    await closeRequest(tx, open.id, { status: 'superseded', ...rest })
  }
  const requestId = context.ids.next()
  await insertRequest(tx, {
    ...{ id: requestId, workspaceId: actor.workspaceId, syncId: sync.id },
    ...{ versionDigest: draftDigest, config: sync.draft, reason, by: actor },
  })
  await recordDeed(tx, context, actor, {
    action: 'requestPublication',
    subjectType: 'sync',
    subjectId: sync.id,
    reason,
    before: { versionDigest: current?.versionDigest ?? null },
    after: {
      ...{ requestId, requestStatus: 'open', versionDigest: draftDigest },
      ...(open && { supersededRequestId: open.id }),
      ...describeUnchecked(unchecked),
    },
  })
  return { answer: { requestId, status: 'done' } }
}
