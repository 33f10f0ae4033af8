/** Workspaces: the tenants. */
import { eq } from 'drizzle-orm'
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
