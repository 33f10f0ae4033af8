/** Takes a request back: whoever made it may, and an admin. Nothing changes for the sync. */

import { closeWithReason } from './close-request.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { once, type Repeatable } from './once.ts'
import { InvalidInput } from './refusals.ts'
import { CHANGED_REQUEST, type ChangedRequest } from './request-publication.ts'
import { requireRole } from './require-role.ts'

export interface WithdrawPublicationRequestInput extends Repeatable {
  readonly requestId: string
  readonly reason: string
}

const WITHDRAW_PUBLICATION_REQUEST = {
  name: 'withdrawPublicationRequest',
  answer: CHANGED_REQUEST,
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link RequestClosed}. */
export async function withdrawPublicationRequest(
  context: CommandContext,
  actor: Actor,
  input: WithdrawPublicationRequestInput,
): Promise<ChangedRequest> {
  requireRole(actor, 'operator')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const { requestId, reason } = input
  const call = { context, actor, command: WITHDRAW_PUBLICATION_REQUEST, input }
  const action = 'withdrawPublicationRequest' as const
  const closing = { requestId, reason, verdict: 'withdrawn', action } as const
  return await once<ChangedRequest>(call, (tx) => closeWithReason(tx, context, actor, closing))
}
