/** Who comes with a bearer token. The answer is read from the database every time: a revoked token opens nothing from then on. */
import { sha256 } from '../runtime/hash.ts'
import type { Database } from '../store/database.ts'
import { findTokenByHash } from '../store/tokens.ts'
import type { Actor } from './context.ts'

export type Authentication =
  | { readonly kind: 'authenticated'; readonly actor: Actor }
  /** `message`: one full sentence that may be shown to whoever came. */
  | { readonly kind: 'refused'; readonly message: string }

const BEARER = /^Bearer +(tajo_[A-Za-z0-9_-]{43})$/i

/** `authorization`: the header's value, such as `Bearer tajo_…`; null: there was none. */
export async function authenticate(
  database: Database,
  authorization: string | null,
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
  const { id: tokenId, workspaceId, name: tokenName, role, isTajo } = found
  return { kind: 'authenticated', actor: { workspaceId, tokenId, tokenName, role, isTajo } }
}

function refused(message: string): Authentication {
  return { kind: 'refused', message }
}
