/** Revokes a token: it opens nothing from then on, and what it watches ends. */
import { z } from 'zod'
import { findTokenForUpdate, revokeToken as markRevoked } from '../store/tokens.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, once, type Repeatable } from './once.ts'
import { InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface RevokeTokenInput extends Repeatable {
  readonly tokenId: string
  readonly reason: string
}

export interface RevokedToken {
  readonly tokenId: string
  /** `noop`: it was revoked before. */
  readonly status: 'done' | 'noop'
}

const REVOKE_TOKEN = {
  name: 'revokeToken',
  answer: z.object({ tokenId: z.string(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
export async function revokeToken(
  context: CommandContext,
  actor: Actor,
  input: RevokeTokenInput,
): Promise<RevokedToken> {
  requireRole(actor, 'admin')
  const { tokenId, reason } = input
  const problems = checkText('reason', reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const call = { context, actor, command: REVOKE_TOKEN, input }
  return await once<RevokedToken>(call, async (tx) => {
    const known = await findTokenForUpdate(tx, actor.workspaceId, tokenId)
    if (!known) {
      throw new NotFound('token', 'tokenId')
    }
    if (known.isRevoked) {
      return { answer: { tokenId, status: 'noop' } }
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
    return { answer: { tokenId, status: 'done' } }
  })
}
