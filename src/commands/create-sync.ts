/** Saves a new sync as a draft: nothing runs before it is published. */
import { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'
import { insertSync } from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { once, onceChecked, type Repeatable } from './once.ts'
import { InvalidInput } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { checkSyncSettings, type SyncSettings } from './sync-settings.ts'

export interface CreateSyncInput extends Repeatable {
  readonly name: string
  readonly settings: SyncSettings
}

export interface CreatedSync {
  readonly syncId: string
}

const CREATE_SYNC = { name: 'createSync', answer: z.object({ syncId: z.string() }) }

/** Throws {@link Forbidden}, {@link InvalidInput}. */
export async function createSync(
  context: CommandContext,
  actor: Actor,
  input: CreateSyncInput,
): Promise<CreatedSync> {
  requireRole(actor, 'publisher')
  const call = { context, actor, command: CREATE_SYNC, input }
  return await onceChecked<CreatedSync>(call, async () => {
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
    return await once<CreatedSync>(call, async (tx) => {
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
      return { answer: { syncId: id } }
    })
  })
}

export const SYNC_NAME_TAKEN = {
  field: 'name',
  reason: 'Another sync of this workspace has this name.',
}
