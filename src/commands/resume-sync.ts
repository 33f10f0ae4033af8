/** Resumes what a person paused. What the breaker paused is published again instead. */
import { decideResume } from '../domain/sync.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { Handle } from '../store/database.ts'
import { activateSync, findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { placeSlots } from './place-slots.ts'
import { NotFound, NotPublished, SyncPaused, SyncStillPausing } from './refusals.ts'
import { requireRole } from './require-role.ts'

/** Throws {@link Forbidden}, {@link NotFound}, {@link NotPublished}, {@link SyncPaused}, {@link SyncStillPausing}. */
export async function resumeSync(
  context: CommandContext,
  actor: Actor,
  input: { readonly syncId: string },
): Promise<{ readonly syncId: string; readonly status: 'done' | 'noop' }> {
  requireRole(actor, 'operator')
  const status = await context.database.transaction('resumeSync', (tx) =>
    resume(tx, context, actor, input.syncId),
  )
  return { syncId: input.syncId, status }
}

async function resume(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  syncId: string,
): Promise<'done' | 'noop'> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const decision = decideResume(sync)
  if (decision.kind === 'noop') {
    return 'noop'
  }
  if (decision.kind === 'refuse') {
    throw toRefusal(decision.why)
  }
  assert(sync.publicationId !== null, 'A paused sync has no publication.')
  await activateSync(tx, sync.id, sync.publicationId)
  await placeSlots(tx, sync.id, { wasActive: false })
  await recordDeed(tx, context, actor, {
    action: 'resumeSync',
    subjectType: 'sync',
    subjectId: sync.id,
    before: { status: sync.status, pauseReason: sync.pauseReason },
    after: { status: 'active' },
  })
  return 'done'
}

function toRefusal(why: 'not_published' | 'still_pausing' | 'breaker') {
  switch (why) {
    case 'not_published':
      return new NotPublished()
    case 'still_pausing':
      return new SyncStillPausing()
    case 'breaker':
      return new SyncPaused(true)
    default:
      return unreachable(why)
  }
}
