/** Makes a workspace and the first token that opens it. For whoever runs the deployment, at its console. */
import { auditMachineDeed } from '../store/audit.ts'
import type { Handle } from '../store/database.ts'
import { insertWorkspace } from '../store/workspaces.ts'
import { type CreatedToken, keepToken, type TokenContext } from './create-token.ts'

export async function createWorkspace(
  context: TokenContext,
  input: {
    readonly name: string
    /** Whether the token is of Tajo's operators; no, unless it is said. */
    readonly isTajo?: boolean
  },
): Promise<CreatedToken> {
  return await context.database.transaction('createWorkspace', async (tx) => {
    const workspaceId = await keepWorkspace(tx, context, input)
    const { isTajo = false } = input
    const name = 'first token'
    return await keepToken(tx, context, {
      workspaceId,
      name,
      role: 'admin',
      expiresAt: null,
      isTajo,
    })
  })
}

/** Stores a workspace inside of a command's transaction; returns its id. */
export async function keepWorkspace(
  tx: Handle,
  context: TokenContext,
  { name }: { readonly name: string },
): Promise<string> {
  const workspaceId = context.ids.next()
  await insertWorkspace(tx, { id: workspaceId, name })
  await auditMachineDeed(tx, {
    id: context.ids.next(),
    workspaceId,
    action: 'createWorkspace',
    subjectType: 'workspace',
    subjectId: workspaceId,
    reason: null,
    before: null,
    after: { name },
  })
  return workspaceId
}
