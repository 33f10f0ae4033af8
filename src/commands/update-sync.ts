/**
 * Changes a sync's draft: only what is given. What runs is the published version; the draft takes
 * effect when it is published.
 */
import { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'
import { digestConfig, type SyncConfig } from '../domain/sync.ts'
import { sha256 } from '../runtime/hash.ts'
import {
  findSync,
  findSyncForUpdate,
  NameTakenError,
  type StoredSync,
  updateDraft,
} from '../store/syncs.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { SYNC_NAME_TAKEN } from './create-sync.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { type Call, DONE_OR_NOOP, once, onceChecked, type Repeatable } from './once.ts'
import { ChangedMeanwhile, type InputProblem, InvalidInput, NotFound } from './refusals.ts'
import { requireRole } from './require-role.ts'
import { supersedeRequest } from './supersede-request.ts'
import { checkSyncSettings, type SyncSettings } from './sync-settings.ts'

export interface UpdateSyncInput extends Repeatable {
  readonly syncId: string
  readonly name?: string
  readonly settings: Partial<SyncSettings>
}

export type UpdateSyncResult = { readonly syncId: string; readonly status: 'done' | 'noop' }

const UPDATE_SYNC = {
  name: 'updateSync',
  answer: z.object({ syncId: z.string(), status: DONE_OR_NOOP }),
}

/** Tries to save against the draft that was checked, before somebody else's changes win. */
const MAX_TRIES = 3

/** Throws {@link Forbidden}, {@link InvalidInput}, {@link NotFound}, {@link ChangedMeanwhile}. */
export async function updateSync(
  context: CommandContext,
  actor: Actor,
  input: UpdateSyncInput,
): Promise<UpdateSyncResult> {
  requireRole(actor, 'publisher')
  const call = { context, actor, command: UPDATE_SYNC, input }
  return await onceChecked<UpdateSyncResult>(call, async () => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const known = await findSync(context.database, actor.workspaceId, input.syncId)
      if (!known) {
        throw new NotFound('sync', 'syncId')
      }
      const config = await checkChange(context, known, input)
      const saved = await save(call, { known, name: input.name ?? known.name, config })
      if (saved) {
        return saved
      }
    }
    throw new ChangedMeanwhile()
  })
}

async function checkChange(
  context: CommandContext,
  known: StoredSync,
  input: UpdateSyncInput,
): Promise<SyncConfig> {
  const named = input.name === undefined ? [] : checkText('name', input.name, MAX_NAME_LENGTH)
  const settings = { ...known.draft, ...input.settings }
  const checked = await checkSyncSettings(context, known.workspaceId, settings)
  const problems = [
    ...named,
    ...describeFixedFields(known, settings),
    ...(checked.kind === 'invalid' ? checked.problems : []),
  ]
  if (problems.length > 0 || checked.kind === 'invalid') {
    throw new InvalidInput(problems)
  }
  return checked.config
}

/** What was delivered stands in the destination under the sync's keys: another destination is another sync. */
function describeFixedFields(known: StoredSync, settings: SyncSettings): InputProblem[] {
  if (known.publicationId === null) {
    return []
  }
  const fixed = ['destinationConnectionId', 'object'] as const
  return fixed
    .filter((field) => settings[field] !== known.draft[field])
    .map((field) => ({
      field,
      reason: 'It is fixed since the first publication: create another sync instead.',
    }))
}

/** Null: the draft is not the one that was checked. */
async function save(
  call: Call<UpdateSyncResult>,
  change: { known: StoredSync; name: string; config: SyncConfig },
): Promise<UpdateSyncResult | null> {
  const { context, actor } = call
  const { known, name, config } = change
  const syncId = known.id
  const before = describe(known.name, known.draft)
  try {
    return await once<UpdateSyncResult, null>(call, async (tx) => {
      const locked = await findSyncForUpdate(tx, actor.workspaceId, syncId)
      if (!locked || !isSame(locked, known) || locked.publicationId !== known.publicationId) {
        return null
      }
      if (isSame(locked, { name, draft: config })) {
        return { answer: { syncId, status: 'noop' } }
      }
      await updateDraft(tx, syncId, { name, draft: config })
      const digest = digestConfig(sha256, config)
      const superseded = await supersedeRequest(tx, actor, {
        ...{ syncId, kind: 'draft_changed', digest },
      })
      await recordDeed(tx, context, actor, {
        action: 'updateSync',
        subjectType: 'sync',
        subjectId: syncId,
        before,
        after: { ...describe(name, config), ...superseded },
      })
      return { answer: { syncId, status: 'done' } }
    })
  } catch (error) {
    throw error instanceof NameTakenError ? new InvalidInput([SYNC_NAME_TAKEN]) : error
  }
}

function isSame(
  a: { readonly name: string; readonly draft: SyncConfig },
  b: { readonly name: string; readonly draft: SyncConfig },
): boolean {
  return a.name === b.name && digestConfig(sha256, a.draft) === digestConfig(sha256, b.draft)
}

function describe(name: string, draft: SyncConfig): JsonObject {
  return { name, draft: draft as unknown as JsonObject }
}
