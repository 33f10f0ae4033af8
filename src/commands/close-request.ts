/** Closes a request without publishing anything, with what the audit trail tells of it. */
import type { RequestVerdict } from '../domain/publication-request.ts'
import type { Handle } from '../store/database.ts'
import { closeRequest } from '../store/publication-requests.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import type { Done } from './once.ts'
import { holdRequest, mayClose } from './open-request.ts'
import { Forbidden } from './refusals.ts'
import type { ChangedRequest } from './request-publication.ts'

/** Throws {@link Forbidden}, {@link NotFound}, {@link OwnRequest}, {@link RequestClosed}. */
export async function closeWithReason(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  closing: {
    readonly requestId: string
    readonly reason: string
    readonly verdict: Exclude<RequestVerdict, 'approved'>
    readonly action: 'refusePublication' | 'withdrawPublicationRequest'
  },
): Promise<Done<ChangedRequest>> {
  const { requestId, reason, verdict, action } = closing
  const { request, sync } = await holdRequest(tx, actor, requestId)
  if (actor.role !== 'admin' && request.requestedByTokenId !== actor.tokenId) {
    throw new Forbidden({ tokenName: actor.tokenName, role: actor.role, needed: 'admin' })
  }
  if (!mayClose(request, actor, verdict)) {
    return { answer: { requestId, status: 'noop' } }
  }
  await closeRequest(tx, requestId, { status: verdict, by: actor, reason, publicationId: null })
  await recordDeed(tx, context, actor, {
    action,
    subjectType: 'sync',
    subjectId: sync.id,
    reason,
    before: { requestId, requestStatus: 'open' },
    after: { requestId, requestStatus: verdict, versionDigest: request.versionDigest },
  })
  return { answer: { requestId, status: 'done' } }
}
