/**
 * Says whether publishing needs an approval in the workspace. It holds from its commit on: a publication that is under
 * way is waited for, and the next one is refused.
 */
import { z } from 'zod'
import type { Handle } from '../store/database.ts'
import { needsApproval, storePublishingPolicy } from '../store/workspaces.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_REASON_LENGTH } from './input-checks.ts'
import { DONE_OR_NOOP, type Done, once, onceChecked, type Repeatable } from './once.ts'
import { InvalidInput } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface SetPublishingPolicyInput extends Repeatable {
  readonly needsApproval: boolean
  readonly reason: string
}

export interface PublishingPolicy {
  readonly needsApproval: boolean
  readonly status: 'done' | 'noop'
}

const SET_PUBLISHING_POLICY = {
  name: 'setPublishingPolicy',
  answer: z.object({ needsApproval: z.boolean(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}. */
export async function setPublishingPolicy(
  context: CommandContext,
  actor: Actor,
  input: SetPublishingPolicyInput,
): Promise<PublishingPolicy> {
  requireRole(actor, 'admin')
  const call = { context, actor, command: SET_PUBLISHING_POLICY, input }
  return await onceChecked<PublishingPolicy>(call, async () => {
    const problems = checkText('reason', input.reason, MAX_REASON_LENGTH)
    if (problems.length > 0) {
      throw new InvalidInput(problems)
    }
    return await once<PublishingPolicy>(call, (tx) => set(tx, context, actor, input))
  })
}

async function set(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  input: SetPublishingPolicyInput,
): Promise<Done<PublishingPolicy>> {
  const { workspaceId } = actor
  const before = await needsApproval(tx, workspaceId, 'change')
  if (before === input.needsApproval) {
    return { answer: { needsApproval: before, status: 'noop' } }
  }
  await storePublishingPolicy(tx, workspaceId, input.needsApproval)
  await recordDeed(tx, context, actor, {
    action: 'setPublishingPolicy',
    subjectType: 'workspace',
    subjectId: workspaceId,
    reason: input.reason,
    before: { needsApproval: before },
    after: { needsApproval: input.needsApproval },
  })
  return { answer: { needsApproval: input.needsApproval, status: 'done' } }
}
