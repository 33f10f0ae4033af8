/** Makes a workspace and the first token that opens it. For whoever runs the deployment, at its console. */
import { insertWorkspace } from '../store/workspaces.ts'
import { type CreatedToken, keepToken, type TokenContext } from './create-token.ts'

export async function createWorkspace(
  context: TokenContext,
  input: {
    readonly name: string
    /** Whether the token is of Tajo's operators; no, unless it is said. */
    readonly isOperator?: boolean
  },
): Promise<CreatedToken> {
  return await context.database.transaction('createWorkspace', async (tx) => {
    const workspaceId = context.ids.next()
    await insertWorkspace(tx, { id: workspaceId, name: input.name })
    const { isOperator = false } = input
    const name = 'first token'
    return await keepToken(tx, context, { workspaceId, name, expiresAt: null, isOperator })
  })
}
