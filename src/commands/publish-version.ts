/** Makes a version the one that runs, in the transaction of whoever decided so. */
import { breakerIncident } from '../domain/alert.ts'
import { BREAKER_INCIDENT_CLOSING } from '../domain/breaker.ts'
import type { SyncConfig } from '../domain/sync.ts'
import { closeIncident } from '../store/alerts.ts'
import type { Handle } from '../store/database.ts'
import { insertPublication } from '../store/publications.ts'
import { activateSync, type StoredSync } from '../store/syncs.ts'
import type { CommandContext } from './context.ts'
import { placeSlots } from './place-slots.ts'

export interface VersionToPublish {
  readonly versionDigest: string
  readonly config: SyncConfig
  readonly publishedBy: string
  /** Null: no approval was asked for. */
  readonly approvedBy: string | null
}

/** The caller holds the sync's row. `hasClosedAlert`: that of the breaker, which is to be announced. */
export async function publishVersion(
  tx: Handle,
  context: CommandContext,
  sync: StoredSync,
  version: VersionToPublish,
): Promise<{ readonly publicationId: string; readonly hasClosedAlert: boolean }> {
  const publicationId = context.ids.next()
  await insertPublication(tx, { id: publicationId, syncId: sync.id, ...version })
  await activateSync(tx, sync.id, publicationId)
  const hasClosedAlert = await closeIncident(tx, breakerIncident(sync.id), BREAKER_INCIDENT_CLOSING)
  const { schedule } = version.config
  await placeSlots(tx, sync.id, { schedule, wasActive: sync.status === 'active' })
  return { publicationId, hasClosedAlert }
}
