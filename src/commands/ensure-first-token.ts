/**
 * Opens an embedded installation to whoever owns its data directory: makes its workspace, if it has none
 * yet, and a token for it. Who owns the directory operates the installation, so the token is one of Tajo's.
 */
import { findFirstWorkspaceId } from '../store/workspaces.ts'
import { type CreatedToken, keepToken, type TokenContext } from './create-token.ts'
import { keepWorkspace } from './create-workspace.ts'

export async function ensureFirstToken(
  context: TokenContext,
  names: { readonly workspaceName: string; readonly tokenName: string },
): Promise<CreatedToken> {
  return await context.database.transaction('ensureFirstToken', async (tx) => {
    const workspaceId =
      (await findFirstWorkspaceId(tx)) ??
      (await keepWorkspace(tx, context, { name: names.workspaceName }))
    const name = names.tokenName
    return await keepToken(tx, context, {
      workspaceId,
      name,
      role: 'admin',
      expiresAt: null,
      isTajo: true,
    })
  })
}
