/**
 * Closes the open request of a sync that is not about anything any more, in the transaction of the change: so an
 * open request is always about the draft as it is, and about something that can be published.
 */
import type { JsonObject } from '../domain/json.ts'
import type { Handle } from '../store/database.ts'
import { closeRequest, findOpenRequest } from '../store/publication-requests.ts'
import type { Actor } from './context.ts'

/**
 * The caller holds the sync's row. Returns what its deed tells of it after the change.
 *
 * `draft_changed`: a request of another version than `digest` is over. `version_active`: one of that very version is.
 */
export async function supersedeRequest(
  tx: Handle,
  actor: Actor,
  change: {
    readonly syncId: string
    readonly kind: 'draft_changed' | 'version_active'
    readonly digest: string
  },
): Promise<JsonObject> {
  const open = await findOpenRequest(tx, change.syncId)
  const isSame = open?.versionDigest === change.digest
  if (!open || isSame !== (change.kind === 'version_active')) {
    return {}
  }
  const rest = { by: actor, reason: null, publicationId: null }
  await closeRequest(tx, open.id, { status: 'superseded', ...rest })
  return { supersededRequestId: open.id }
}
