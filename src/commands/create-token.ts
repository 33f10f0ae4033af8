/** Makes bearer tokens. A token's text is seen once, by whoever made it; only its hash is kept. */
import type { JsonObject } from '../domain/json.ts'
import type { Role } from '../domain/role.ts'
import type { Instant } from '../runtime/clock.ts'
import { sha256 } from '../runtime/hash.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import { auditMachineDeed } from '../store/audit.ts'
import type { Database, Handle } from '../store/database.ts'
import { insertToken } from '../store/tokens.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { InvalidInput } from './refusals.ts'
import { requireRole } from './require-role.ts'

const TOKEN_BYTES = 32

export interface TokenContext {
  readonly database: Database
  readonly ids: IdSource
  readonly random: Random
}

export interface NewTokenInput {
  readonly name: string
  readonly role: Role
  /** Null: it does not expire. */
  readonly expiresAt: Instant | null
}

export interface CreateTokenInput extends NewTokenInput {
  readonly workspaceId: string
  /** Whether it is of Tajo's operators; no, unless it is said. */
  readonly isOperator?: boolean
}

export interface CreatedToken {
  readonly tokenId: string
  readonly workspaceId: string
  /** The text that opens the workspace: `tajo_` and 43 characters. */
  readonly token: string
}

/** For the API: an admin makes it. Throws {@link Forbidden}, {@link InvalidInput}. */
export async function createToken(
  context: CommandContext,
  actor: Actor,
  input: NewTokenInput,
): Promise<CreatedToken> {
  requireRole(actor, 'admin')
  const { name, expiresAt } = input
  const problems = [
    ...checkText('name', name, MAX_NAME_LENGTH),
    ...(expiresAt !== null && expiresAt <= context.clock.now()
      ? [{ field: 'expiresAt', reason: 'It must lie in the future.' }]
      : []),
  ]
  if (problems.length > 0) {
    throw new InvalidInput(problems)
  }
  const { workspaceId } = actor
  return await context.database.transaction('createToken', async (tx) => {
    const { token, ...made } = await insertNewToken(tx, context, { ...input, workspaceId })
    await recordDeed(tx, context, actor, toDeed(made))
    return { tokenId: made.tokenId, workspaceId, token }
  })
}

/** Stores a token inside of a command's transaction, for whoever is at the console: nobody has one yet. */
export async function keepToken(
  tx: Handle,
  context: TokenContext,
  input: CreateTokenInput,
): Promise<CreatedToken> {
  const { workspaceId } = input
  const { token, ...made } = await insertNewToken(tx, context, input)
  const { action, subjectType, subjectId, after } = toDeed(made)
  await auditMachineDeed(tx, {
    id: context.ids.next(),
    ...{ workspaceId, action, subjectType, subjectId, after, reason: null, before: null },
  })
  return { tokenId: made.tokenId, workspaceId, token }
}

async function insertNewToken(tx: Handle, context: TokenContext, input: CreateTokenInput) {
  const { isOperator = false, ...given } = input
  const tokenId = context.ids.next()
  const token = `tajo_${Buffer.from(context.random.bytes(TOKEN_BYTES)).toString('base64url')}`
  await insertToken(tx, { ...given, id: tokenId, tokenHash: sha256(token), isOperator })
  const { name, role, expiresAt } = given
  const after = { name, role, expiresAt: expiresAt?.toISOString() ?? null, isOperator }
  return { tokenId, token, after }
}

/** As the audit trail tells it: never the token itself. */
function toDeed({ tokenId, after }: { readonly tokenId: string; readonly after: JsonObject }) {
  return {
    action: 'createToken',
    subjectType: 'access_token' as const,
    subjectId: tokenId,
    after,
  }
}
