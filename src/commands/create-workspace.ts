/** Makes a workspace and the first token that opens it. For whoever runs the deployment, at its console. */
import { insertWorkspace } from '../store/workspaces.ts'
import { type CreatedToken, createToken, type TokenContext } from './create-token.ts'

export async function createWorkspace(
  context: TokenContext,
  input: { readonly name: string },
): Promise<CreatedToken> {
  const workspaceId = context.ids.next()
  await insertWorkspace(context.database, { id: workspaceId, name: input.name })
  return await createToken(context, { workspaceId, name: 'first token', expiresAt: null })
}
