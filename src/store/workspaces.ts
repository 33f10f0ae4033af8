/** Workspaces: the tenants. */
import { sql } from 'drizzle-orm'
import type { Handle } from './database.ts'
import { workspace } from './schema.ts'

export interface Workspace {
  readonly id: string
  readonly name: string
}

/**
 * Makes the first workspace, if there is none. False: there is one already. Processes that start
 * together wait for each other, so call it in a transaction.
 */
export async function insertFirstWorkspace(tx: Handle, first: Workspace): Promise<boolean> {
  await tx.rows(sql`/* workspaces.insertFirstWorkspace */
    lock table workspace in share row exclusive mode`)
  const existing = await tx.orm.select({ id: workspace.id }).from(workspace).limit(1)
  if (existing.length > 0) {
    return false
  }
  await tx.orm.insert(workspace).values(first)
  return true
}

export async function insertWorkspace(handle: Handle, created: Workspace): Promise<void> {
  await handle.orm.insert(workspace).values(created)
}
