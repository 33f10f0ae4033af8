/**
 * Who comes with a bearer token, and for which workspace. The answer is read from the database every time: a revoked
 * token opens nothing from then on.
 *
 * A token opens its own workspace. One of Tajo's may name another one: then it acts there, with its own role, and what it does
 * is audited there under a name that no token of that workspace can have.
 */
import { isUuid } from '../domain/ids.ts'
import { sha256 } from '../runtime/hash.ts'
import { nameForeignActor } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { findTokenByHash } from '../store/tokens.ts'
import { isWorkspace } from '../store/workspaces.ts'
import type { Actor } from './context.ts'

export type Authentication =
  | { readonly kind: 'authenticated'; readonly actor: Actor }
  /** `message`: one full sentence that may be shown to whoever came. */
  | { readonly kind: 'refused'; readonly message: string }

export interface Credentials {
  /** The header's value, such as `Bearer tajo_…`; null: there was none. */
  readonly authorization: string | null
  /** The id of another workspace, for a token of Tajo's; null: the token's own. */
  readonly workspaceId: string | null
}

const BEARER = /^Bearer +(tajo_[A-Za-z0-9_-]{43})$/i

export async function authenticate(
  database: Database,
  { authorization, workspaceId }: Credentials,
): Promise<Authentication> {
  if (authorization === null || authorization.trim() === '') {
    return refused('A token is needed: send the header "Authorization: Bearer <token>".')
  }
  const token = BEARER.exec(authorization.trim())?.[1]
  if (token === undefined) {
    return refused(
      'The authorization is not of the form "Bearer <token>" with a token of this product.',
    )
  }
  const found = await findTokenByHash(database, sha256(token))
  if (!found) {
    return refused('The token is not known.')
  }
  if (found.isRevoked) {
    return refused('The token was revoked.')
  }
  if (found.isExpired) {
    return refused('The token has expired.')
  }
  const { id: tokenId, name: tokenName, role, isTajo } = found
  const actor = { workspaceId: found.workspaceId, tokenId, tokenName, role, isTajo }
  if (workspaceId === null || workspaceId === found.workspaceId) {
    return { kind: 'authenticated', actor }
  }
  // The same answer for whoever may not, so that nobody finds out what exists.
  if (!isTajo || !isUuid(workspaceId) || !(await isWorkspace(database, workspaceId))) {
    return refused('The token opens no workspace with the id in the header "Tajo-Workspace".')
  }
  return {
    kind: 'authenticated',
    actor: { ...actor, workspaceId, tokenName: nameForeignActor(tokenName) },
  }
}

function refused(message: string): Authentication {
  return { kind: 'refused', message }
}
