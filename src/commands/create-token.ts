/** Makes bearer tokens. A token's text is seen once, by whoever made it; only its hash is kept. */
import { z } from 'zod'
import type { JsonObject } from '../domain/json.ts'
import type { Role } from '../domain/role.ts'
import type { Instant } from '../runtime/clock.ts'
import { sha256 } from '../runtime/hash.ts'
import type { IdSource, Random } from '../runtime/random.ts'
import { auditMachineDeed, isReservedName } from '../store/audit.ts'
import type { Database, Handle } from '../store/database.ts'
import { insertToken } from '../store/tokens.ts'
import { recordDeed } from './audit-trail.ts'
import type { Actor, CommandContext } from './context.ts'
import { checkText, MAX_NAME_LENGTH } from './input-checks.ts'
import { once, onceChecked, type Repeatable } from './once.ts'
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
  readonly isTajo?: boolean
}

export interface CreatedToken {
  readonly tokenId: string
  readonly workspaceId: string
  /** The text that opens the workspace: `tajo_` and 43 characters. */
  readonly token: string
}

/** As the API answers it. */
export interface MadeToken {
  readonly tokenId: string
  /** The text that opens the workspace; null: it was told before, and is not kept. */
  readonly token: string | null
}

const CREATE_TOKEN = {
  name: 'createToken',
  answer: z.codec(
    z.object({ tokenId: z.string() }),
    z.object({ tokenId: z.string(), token: z.string().nullable() }),
    {
      encode: ({ tokenId }) => ({ tokenId }),
      decode: ({ tokenId }) => ({ tokenId, token: null }),
    },
  ),
}

/** For the API: an admin makes it. Throws {@link Forbidden}, {@link InvalidInput}. */
export async function createToken(
  context: CommandContext,
  actor: Actor,
  input: NewTokenInput & Repeatable,
): Promise<MadeToken> {
  requireRole(actor, 'admin')
  const call = { context, actor, command: CREATE_TOKEN, input }
  return await onceChecked<MadeToken>(call, async () => {
    const { name, role, expiresAt } = input
    const problems = [
      ...checkText('name', name, MAX_NAME_LENGTH),
      ...(isReservedName(name)
        ? [
            {
              field: 'name',
              reason: 'In the audit trail it stands for Tajo: choose another one.',
            },
          ]
        : []),
      ...(expiresAt !== null && expiresAt <= context.clock.now()
        ? [{ field: 'expiresAt', reason: 'It must lie in the future.' }]
        : []),
    ]
    if (problems.length > 0) {
      throw new InvalidInput(problems)
    }
    const { workspaceId } = actor
    return await once<MadeToken>(call, async (tx) => {
      const given = { workspaceId, name, role, expiresAt }
      const { token, ...made } = await insertNewToken(tx, context, given)
      await recordDeed(tx, context, actor, toDeed(made))
      return { answer: { tokenId: made.tokenId, token } }
    })
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
  const { isTajo = false, ...given } = input
  const tokenId = context.ids.next()
  const token = `tajo_${Buffer.from(context.random.bytes(TOKEN_BYTES)).toString('base64url')}`
  await insertToken(tx, { ...given, id: tokenId, tokenHash: sha256(token), isTajo })
  const { name, role, expiresAt } = given
  const after = { name, role, expiresAt: expiresAt?.toISOString() ?? null, isTajo }
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
