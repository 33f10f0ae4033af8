/** Resumes what a person paused. What the breaker paused is published again instead. */
import { z } from 'zod'
import { decideResume } from '../domain/sync.ts'
import { assert, unreachable } from '../runtime/assert.ts'
import type { Handle } from '../store/database.ts'
import { findPublication } from '../store/publications.ts'
import { activateSync, findSyncForUpdate } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { DONE_OR_NOOP, type Done, once, type Repeatable } from './once.ts'
import { placeSlots } from './place-slots.ts'
import { NotFound, NotPublished, SyncPaused, SyncStillPausing } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { supersedeRequest } from './supersede-request.ts'

export interface ResumeSyncInput extends Repeatable {
  readonly syncId: string
}

export interface ResumedSync {
  readonly syncId: string
  readonly status: 'done' | 'noop'
}

const RESUME_SYNC = {
  name: 'resumeSync',
  answer: z.object({ syncId: z.string(), status: DONE_OR_NOOP }),
}

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link NotPublished}, {@link SyncPaused}, {@link SyncStillPausing}. */
export async function resumeSync(
  context: CommandContext,
  actor: Actor,
  input: ResumeSyncInput,
): Promise<ResumedSync> {
  requireRole(actor, 'operator')
  return await once<ResumedSync>({ context, actor, command: RESUME_SYNC, input }, (tx) =>
    resume(tx, context, actor, input.syncId),
  )
}

async function resume(
  tx: Handle,
  context: CommandContext,
  actor: Actor,
  syncId: string,
): Promise<Done<ResumedSync>> {
  const sync = await findSyncForUpdate(tx, actor.workspaceId, syncId)
  if (!sync) {
    throw new NotFound('sync', 'syncId')
  }
  const decision = decideResume(sync)
  if (decision.kind === 'noop') {
    return { answer: { syncId: sync.id, status: 'noop' } }
  }
  if (decision.kind === 'refuse') {
    throw toRefusal(decision.why)
  }
  assert(sync.publicationId !== null, 'A paused sync has no publication.')
  await activateSync(tx, sync.id, sync.publicationId)
  await placeSlots(tx, sync.id, { wasActive: false })
  const resumed = await findPublication(tx, sync.id, sync.publicationId)
  const superseded = await supersedeRequest(tx, actor, {
    ...{ syncId: sync.id, kind: 'version_active', digest: resumed?.versionDigest ?? '' },
  })
  await recordDeed(tx, context, actor, {
    action: 'resumeSync',
    subjectType: 'sync',
    subjectId: sync.id,
    before: { status: sync.status, pauseReason: sync.pauseReason },
    after: { status: 'active', ...superseded },
  })
  return { answer: { syncId: sync.id, status: 'done' } }
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
