/** Finds the request that a command is about and holds its sync, so that nobody else closes it meanwhile. */
import type { RequestVerdict } from '../domain/publication-request.ts'
import { decideVerdict } from '../domain/publication-request.ts'
import type { Handle } from '../store/database.ts'
import { findRequest, type StoredRequest } from '../store/publication-requests.ts'
import { findSyncForUpdate, type StoredSync } from '../store/syncs.ts'
import type { Actor } from './context.ts'
import { NotFound, OwnRequest, RequestClosed } from './refusals.ts'

/** Throws {@link NotFound}. */
export async function getRequest(
  handle: Handle,
  actor: Actor,
  requestId: string,
): Promise<StoredRequest> {
  const request = await findRequest(handle, actor.workspaceId, requestId)
  if (!request) {
    throw new NotFound('publication request', 'requestId')
  }
  return request
}

/** Holds the sync of a request, and reads that again. Throws {@link NotFound}. */
export async function holdRequest(
  tx: Handle,
  actor: Actor,
  requestId: string,
): Promise<{ readonly request: StoredRequest; readonly sync: StoredSync }> {
  const { syncId } = await getRequest(tx, actor, requestId)
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('publication request', 'requestId')
  }
  // Only now nobody else can close it.
  return { request: await getRequest(tx, actor, requestId), sync }
}

/** True: it is to be closed; false: somebody did so before. Throws {@link OwnRequest}, {@link RequestClosed}. */
export function mayClose(request: StoredRequest, actor: Actor, verdict: RequestVerdict): boolean {
  const { status } = request
  const isOwn = request.requestedByTokenId === actor.tokenId
  const decision = decideVerdict({ status, verdict, isOwn })
  if (decision.kind === 'refuse') {
    throw decision.why === 'own_request' ? new OwnRequest() : new RequestClosed(decision.status)
  }
  return decision.kind === 'close'
}
