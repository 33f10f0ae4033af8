/** Says that somebody looks after an alert. It stays open until its incident is over. */
import { announceAlerts } from '../coordination/announce.ts'
import { acknowledge } from '../store/alerts.ts'
import type { Handle } from '../store/database.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'

export interface AcknowledgedAlert {
  readonly alertId: string
  /** `noop`: somebody did so before. */
  readonly status: 'done' | 'noop'
}

/** Throws {@link NotFound}. */
export async function acknowledgeAlert(
  context: CommandContext,
  actor: Actor,
  { alertId }: { readonly alertId: string },
): Promise<AcknowledgedAlert> {
  requireRole(actor, 'operator')
  const isNew = await context.database.transaction('acknowledgeAlert', (tx) =>
    acknowledgeOnce(tx, context, actor, alertId),
  )
  if (isNew) {
    await announceAlerts(context.bus)
  }
  return { alertId, status: isNew ? 'done' : 'noop' }
}

/** Audited in the workspace of who acts: what Tajo's operators do is not a customer's to read. */
async function acknowledgeOnce(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  alertId: string,
): Promise<boolean> {
  const isNew = await acknowledge(tx, alertId, actor)
  if (isNew === null) {
    throw new NotFound('alert', 'alertId')
  }
  if (isNew) {
    await recordDeed(tx, context, actor, {
      action: 'acknowledgeAlert',
      subjectType: 'alert',
      subjectId: alertId,
    })
  }
  return isNew
}
