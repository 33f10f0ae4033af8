/** Revokes a token: it opens nothing from then on, and what it watches ends. */
import { findTokenForUpdate, revokeToken as markRevoked } from '../store/tokens.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface RevokedToken {
  readonly tokenId: string
  /** `noop`: it was revoked before. */
  readonly status: 'done' | 'noop'
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
export async function revokeToken(
  context: CommandContext,
  actor: Actor,
  input: { readonly tokenId: string; readonly reason: string },
): Promise<RevokedToken> {
  requireRole(actor, 'admin')
  const { tokenId, reason } = input
  const problems = checkText('reason', reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const status = await context.database.transaction('revokeToken', async (tx) => {
    const known = await findTokenForUpdate(tx, actor.workspaceId, tokenId)
    if (!known) {
      throw new NotFound('token', 'tokenId')
    }
    if (known.isRevoked) {
      return 'noop'
    }
    await markRevoked(tx, actor.workspaceId, tokenId)
    await recordDeed(tx, context, actor, {
      action: 'revokeToken',
      subjectType: 'access_token',
      subjectId: tokenId,
      reason,
      before: { name: known.name, role: known.role, isRevoked: false },
      after: { isRevoked: true },
    })
    return 'done'
  })
  return { tokenId, status }
}
