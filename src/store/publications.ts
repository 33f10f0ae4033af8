/** Versions and publications: what may run, and who said so. Neither is ever changed. */
import { and, eq } from 'drizzle-orm'
import type { JsonObject } from '../domain/json.ts'
import type { SyncConfig } from '../domain/sync.ts'
import type { Handle } from './database.ts'
import { publication, syncVersion } from './schema-configuration.ts'

export interface NewPublication {
  readonly id: string
  readonly syncId: string
  readonly versionDigest: string
  readonly config: SyncConfig
  readonly publishedBy: string
  /** Null: no approval was asked for. */
  readonly approvedBy: string | null
}

export interface StoredPublication {
  readonly id: string
  readonly versionDigest: string
}

/** Keeps the version, unless it is kept already, and the publication of it. */
export async function insertPublication(tx: Handle, published: NewPublication): Promise<void> {
  const { id, syncId, versionDigest, config, publishedBy, approvedBy } = published
  await keepVersion(tx, { syncId, versionDigest, config })
  await tx.orm.insert(publication).values({ id, syncId, versionDigest, publishedBy, approvedBy })
}

/** Keeps a version, unless it is kept already. */
export async function keepVersion(
  tx: Handle,
  version: Pick<NewPublication, 'syncId' | 'versionDigest' | 'config'>,
): Promise<void> {
  const { syncId, versionDigest, config } = version
  await tx.orm
    .insert(syncVersion)
    .values({ syncId, digest: versionDigest, config: config as unknown as JsonObject })
    .onConflictDoNothing()
}

export async function findPublication(
  handle: Handle,
  syncId: string,
  publicationId: string,
): Promise<StoredPublication | null> {
  const found = await handle.orm
    .select({ id: publication.id, versionDigest: publication.versionDigest })
    .from(publication)
    .where(and(eq(publication.syncId, syncId), eq(publication.id, publicationId)))
  return found[0] ?? null
}
