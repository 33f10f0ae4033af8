/** Refuses to have a version published that somebody else has requested. Nothing changes for the sync. */

import { closeWithReason } from './close-request.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { once, type Repeatable } from './once.ts'
import { InvalidInput } from './refusals.ts'
import { CHANGED_REQUEST, type ChangedRequest } from './request-publication.ts'
import { requireRole } from './require-role.ts'

export interface RefusePublicationInput extends Repeatable {
  readonly requestId: string
  readonly reason: string
}

const REFUSE_PUBLICATION = { name: 'refusePublication', answer: CHANGED_REQUEST }

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link OwnRequest}, {@link RequestClosed}. */
export async function refusePublication(
  context: CommandContext,
  actor: Actor,
  input: RefusePublicationInput,
): Promise<ChangedRequest> {
  requireRole(actor, 'admin')
  const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const { requestId, reason } = input
  const call = { context, actor, command: REFUSE_PUBLICATION, input }
  const closing = { requestId, reason, verdict: 'refused', action: 'refusePublication' } as const
  return await once<ChangedRequest>(call, (tx) => closeWithReason(tx, context, actor, closing))
}
