/** Bearer tokens. Only their hashes are kept, so a copy of the database opens nothing. */
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Role } from '../domain/role.ts'
import type { Instant } from '../runtime/clock.ts'
import type { Handle, Row } from './database.ts'
import { selectList } from './prepared-rows.ts'
import { accessToken } from './schema-configuration.ts'

export interface NewToken {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly role: Role
  /** SHA-256 of the token's text, in hexadecimal. */
  readonly tokenHash: string
  /** Null: it does not expire. */
  readonly expiresAt: Instant | null
  readonly isTajo: boolean
}

export interface FoundToken {
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly role: Role
  readonly isTajo: boolean
  readonly isExpired: boolean
  readonly isRevoked: boolean
}

export async function insertToken(handle: Handle, token: NewToken): Promise<void> {
  await handle.orm
    .insert(accessToken)
    .values({ ...token, tokenHash: Buffer.from(token.tokenHash, 'hex') })
}

export async function findTokenByHash(
  handle: Handle,
  tokenHash: string,
): Promise<FoundToken | null> {
  // Every request asks for it: prepared, it takes one round trip.
  const found = await handle.rows<FoundToken & Row>(sql`/* tokens.findTokenByHash */
    select ${TOKEN_LIST} from access_token where token_hash = decode(${tokenHash}, 'hex')`)
  return found[0] ?? null
}

/** Null: the workspace has no such token. Locks its row. */
export async function findTokenForUpdate(
  tx: Handle,
  workspaceId: string,
  tokenId: string,
): Promise<FoundToken | null> {
  const found = await selectTokens(tx)
    .where(and(eq(accessToken.id, tokenId), eq(accessToken.workspaceId, workspaceId)))
    .for('update')
  return found[0] ?? null
}

const TOKEN_COLUMNS = {
  id: accessToken.id,
  workspaceId: accessToken.workspaceId,
  name: accessToken.name,
  role: accessToken.role,
  isTajo: accessToken.isTajo,
  isExpired: sql<boolean>`coalesce(${accessToken.expiresAt} <= now(), false)`,
  isRevoked: sql<boolean>`${accessToken.revokedAt} is not null`,
}
const TOKEN_LIST = selectList(TOKEN_COLUMNS)

function selectTokens(handle: Handle) {
  return handle.orm.select(TOKEN_COLUMNS).from(accessToken)
}

/** False: the workspace has no such token, or it was revoked before. */
export async function revokeToken(
  handle: Handle,
  workspaceId: string,
  tokenId: string,
): Promise<boolean> {
  const revoked = await handle.orm
    .update(accessToken)
    .set({ revokedAt: sql`now()` })
    .where(
      and(
        eq(accessToken.id, tokenId),
        eq(accessToken.workspaceId, workspaceId),
        isNull(accessToken.revokedAt),
      ),
    )
    .returning({ id: accessToken.id })
  return revoked.length > 0
}
