/** Tells what a publication of the draft would be refused for, without publishing anything. */
import { findSync } from '../store/syncs.ts'
import type { Actor, CommandContext } from './context.ts'
import { PREFLIGHT_MS, type Preflight, preflight } from './preflight.ts'
import { requireRole } from './require-role.ts'
import { checkSyncSettings } from './sync-settings.ts'

/** Null: there is no such sync. Throws {@link Forbidden}, {@link Busy}. */
export async function previewPublication(
  context: CommandContext,
  actor: Actor,
  syncId: string,
): Promise<Preflight | null> {
  // It calls other people's systems with what is stored.
  requireRole(actor, 'operator')
  const { workspaceId } = actor
  const sync = await findSync(context.database, workspaceId, syncId)
  if (!sync) {
    return null
  }
  const checked = await checkSyncSettings(context, workspaceId, sync.draft)
  return checked.kind === 'invalid'
    ? { problems: checked.problems, unchecked: [] }
    : await preflight(context, { workspaceId, config: checked.config, atMostMs: PREFLIGHT_MS })
}
