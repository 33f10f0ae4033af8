/** Saves a new sync as a draft: nothing runs before it is published. */
import type { JsonObject } from '../domain/json.ts'
import { insertSync } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { InvalidInput } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { checkSyncSettings, type SyncSettings } from './sync-settings.ts'

export interface CreateSyncInput {
  readonly name: string
  readonly settings: SyncSettings
}

/** Throws {@link InvalidInput}. */
export async function createSync(
  context: CommandContext,
  actor: Actor,
  input: CreateSyncInput,
): Promise<{ readonly syncId: string }> {
  requireRole(actor, 'publisher')
  const { name, settings } = input
  const named = checkText('name', name, MAX_NAME_LENGTH)
  const checked = await checkSyncSettings(context, actor.workspaceId, settings)
  if (checked.kind === 'invalid') {
    throw new InvalidInput([...named, ...checked.problems])
  }
  if (named.length > 0) {
    throw new InvalidInput(named)
  }
  const { config } = checked
  const id = context.ids.next()
  await context.database.transaction('createSync', async (tx) => {
    const { workspaceId } = actor
    if (!(await insertSync(tx, { id, workspaceId, name, draft: config }))) {
      throw new InvalidInput([SYNC_NAME_TAKEN])
    }
    await recordDeed(tx, context, actor, {
      action: 'createSync',
      subjectType: 'sync',
      subjectId: id,
      after: { name, draft: config as unknown as JsonObject },
    })
  })
  return { syncId: id }
}

export const SYNC_NAME_TAKEN = {
  field: 'name',
  reason: 'Another sync of this workspace has this name.',
}
