/** Makes bearer tokens. A token's text is seen once, by whoever made it; only its hash is kept. */
import type { Instant } from '../runtime/clock.ts'
import { sha256 } from '../runtime/hash.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import { insertAuditEntry } from '../store/audit.ts'
import type { Database, Handle } from '../store/database.ts'
import { insertToken } from '../store/tokens.ts'
import { insertFirstWorkspace } from '../store/workspaces.ts'

const TOKEN_BYTES = 32
/** Who acts where no token exists yet. */
const MACHINE = 'tajo'

export interface TokenContext {
  readonly database: Database
  readonly ids: IdSource
  readonly random: Random
}

export interface CreateTokenInput {
  readonly workspaceId: string
  readonly name: string
  /** Null: it does not expire. */
  readonly expiresAt: Instant | null
}

export interface CreatedToken {
  readonly tokenId: string
  readonly workspaceId: string
  /** The text that opens the workspace: `tajo_` and 43 characters. */
  readonly token: string
}

export async function createToken(
  context: TokenContext,
  input: CreateTokenInput,
): Promise<CreatedToken> {
  return await context.database.transaction('createToken', (tx) => keepToken(tx, context, input))
}

/**
 * Makes the workspace of a new installation and a token that opens it. Null: there is a workspace
 * already, so nothing is made, whichever of several processes comes first.
 */
export async function ensureFirstWorkspace(
  context: TokenContext,
  names: { readonly workspaceName: string; readonly tokenName: string },
): Promise<CreatedToken | null> {
  return await context.database.transaction('ensureFirstWorkspace', async (tx) => {
    const workspaceId = context.ids.next()
    if (!(await insertFirstWorkspace(tx, { id: workspaceId, name: names.workspaceName }))) {
      return null
    }
    return await keepToken(tx, context, { workspaceId, name: names.tokenName, expiresAt: null })
  })
}

async function keepToken(
  tx: Handle,
  context: TokenContext,
  input: CreateTokenInput,
): Promise<CreatedToken> {
  const { workspaceId, name, expiresAt } = input
  const tokenId = context.ids.next()
  const token = `tajo_${Buffer.from(context.random.bytes(TOKEN_BYTES)).toString('base64url')}`
  await insertToken(tx, { id: tokenId, workspaceId, name, tokenHash: sha256(token), expiresAt })
  await insertAuditEntry(tx, {
    id: context.ids.next(),
    workspaceId,
    actor: MACHINE,
    action: 'createToken',
    subjectType: 'access_token',
    subjectId: tokenId,
    reason: null,
    before: null,
    after: { name, expiresAt: expiresAt?.toISOString() ?? null },
  })
  return { tokenId, workspaceId, token }
}
