/** Says that somebody looks after an alert. It stays open until its incident is over. */
import { z } from 'zod'
import { announceAlerts } from '../coordination/announce.ts'
import { acknowledge } from '../store/alerts.ts'
import type { Handle } from '../store/database.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { DONE_OR_NOOP, type Done, once, type Repeatable } from './once.ts'
import { NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface AcknowledgeAlertInput extends Repeatable {
  readonly alertId: string
}

export interface AcknowledgedAlert {
  readonly alertId: string
  /** `noop`: somebody did so before. */
  readonly status: 'done' | 'noop'
}

const ACKNOWLEDGE_ALERT = {
  name: 'acknowledgeAlert',
  answer: z.object({ alertId: z.string(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}. */
export async function acknowledgeAlert(
  context: CommandContext,
  actor: Actor,
  input: AcknowledgeAlertInput,
): Promise<AcknowledgedAlert> {
  requireRole(actor, 'operator')
  return await once<AcknowledgedAlert>(
    { context, actor, command: ACKNOWLEDGE_ALERT, input },
    (tx) => acknowledgeOnce(tx, context, actor, input.alertId),
  )
}

/** Audited in the workspace of who acts: what Tajo's operators do is not a customer's to read. */
async function acknowledgeOnce(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  alertId: string,
): Promise<Done<AcknowledgedAlert>> {
  const isNew = await acknowledge(tx, alertId, actor)
  if (isNew === null) {
    throw new NotFound('alert', 'alertId')
  }
  if (!isNew) {
    return { answer: { alertId, status: 'noop' } }
  }
  await recordDeed(tx, context, actor, {
    action: 'acknowledgeAlert',
    subjectType: 'alert',
    subjectId: alertId,
  })
  return { answer: { alertId, status: 'done' }, announce: () => announceAlerts(context.bus) }
}
