/** Makes bearer tokens. A token's text is seen once, by whoever made it; only its hash is kept. */
import type { Instant } from '../runtime/clock.ts'
import { sha256 } from '../runtime/hash.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import { auditMachineDeed } from '../store/audit.ts'
import type { Database, Handle } from '../store/database.ts'
import { insertToken } from '../store/tokens.ts'

const TOKEN_BYTES = 32

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
  /** Whether it is of Tajo's operators; no, unless it is said. */
  readonly isOperator?: boolean
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

/** Stores a token inside of a command's transaction. */
export async function keepToken(
  tx: Handle,
  context: TokenContext,
  input: CreateTokenInput,
): Promise<CreatedToken> {
  const { workspaceId, name, expiresAt, isOperator = false } = input
  const tokenId = context.ids.next()
  const token = `tajo_${Buffer.from(context.random.bytes(TOKEN_BYTES)).toString('base64url')}`
  const tokenHash = sha256(token)
  await insertToken(tx, { id: tokenId, workspaceId, name, tokenHash, expiresAt, isOperator })
  // Whoever makes it has none: it is done at the console.
  await auditMachineDeed(tx, {
    id: context.ids.next(),
    workspaceId,
    action: 'createToken',
    subjectType: 'access_token',
    subjectId: tokenId,
    reason: null,
    before: null,
    after: { name, expiresAt: expiresAt?.toISOString() ?? null, isOperator },
  })
  return { tokenId, workspaceId, token }
}
