/** Workspaces: the tenants, and what holds in each. */
import { eq } from 'drizzle-orm'
import { assert } from '../runtime/assert.ts'
import type { Handle } from './database.ts'
import { workspace } from './schema-configuration.ts'

export interface Workspace {
  readonly id: string
  readonly name: string
}

export async function insertWorkspace(handle: Handle, created: Workspace): Promise<void> {
  await handle.orm.insert(workspace).values(created)
}

/** The oldest workspace, or null when there is none. */
export async function findFirstWorkspaceId(handle: Handle): Promise<string | null> {
  const found = await handle.orm
    .select({ id: workspace.id })
    .from(workspace)
    .orderBy(workspace.id)
    .limit(1)
  return found[0]?.id ?? null
}

export async function isWorkspace(handle: Handle, id: string): Promise<boolean> {
  const found = await handle.orm
    .select({ id: workspace.id })
    .from(workspace)
    .where(eq(workspace.id, id))
  return found.length > 0
}

/**
 * Whether publishing needs an approval in the workspace. `hold`: until the transaction ends nobody changes that
 * (`publish`), or nobody relies on it either (`change`). After the row of a sync, where both are held.
 */
export async function needsApproval(
  handle: Handle,
  workspaceId: string,
  hold: 'publish' | 'change' | null,
): Promise<boolean> {
  const query = handle.orm
    .select({ needsApproval: workspace.publishingNeedsApproval })
    .from(workspace)
    .where(eq(workspace.id, workspaceId))
    .$dynamic()
  const [found] = await (hold ? query.for(hold === 'publish' ? 'share' : 'no key update') : query)
  assert(found !== undefined, 'Whoever acts has a workspace.')
  return found.needsApproval
}

/** Changes it in a workspace whose row is held for that. */
export async function storePublishingPolicy(
  tx: Handle,
  workspaceId: string,
  publishingNeedsApproval: boolean,
): Promise<void> {
  await tx.orm
    .update(workspace)
    .set({ publishingNeedsApproval })
    .where(eq(workspace.id, workspaceId))
}
