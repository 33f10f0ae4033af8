/** Tokens as an admin sees them. Never their texts or hashes. Every read names the workspace. */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Handle } from '../database.ts'
import { accessToken } from '../schema-configuration.ts'
import { type KeysetPage, keysetOrder, keysetRange } from './keyset.ts'

export async function findTokensByIds(handle: Handle, workspaceId: string, ids: readonly string[]) {
  return await selectTokens(
    handle,
    and(eq(accessToken.workspaceId, workspaceId), inArray(accessToken.id, [...ids])),
  )
}

export async function listTokens(handle: Handle, workspaceId: string, page: KeysetPage) {
  const isWanted = keysetRange(accessToken.id, page, eq(accessToken.workspaceId, workspaceId))
  return await selectTokens(handle, isWanted, page)
}

export type HistoricToken = Awaited<ReturnType<typeof findTokensByIds>>[number]

async function selectTokens(handle: Handle, isWanted: SQL | undefined, page?: KeysetPage) {
  const query = handle.orm
    .select({
      id: accessToken.id,
      name: accessToken.name,
      role: accessToken.role,
      createdAt: accessToken.createdAt,
      expiresAt: accessToken.expiresAt,
      revokedAt: accessToken.revokedAt,
      isUsable: sql<boolean>`${accessToken.revokedAt} is null
        and coalesce(${accessToken.expiresAt} > now(), true)`,
    })
    .from(accessToken)
    .where(isWanted)
    .$dynamic()
  return await (page ? query.orderBy(keysetOrder(accessToken.id, page)).limit(page.limit) : query)
}
