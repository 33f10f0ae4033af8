/**
 * Rows for tests of the store and the engine: a workspace with a published sync, its pages and keys.
 */
import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { BREAKER_THRESHOLD } from '../../src/domain/breaker.ts'
import { deliveryKey, digestPage, digestRecord, hashIdentity } from '../../src/domain/delivery.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { assert } from '../../src/runtime/assert.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import type { BreakerParts } from '../../src/store/breaker.ts'
import type { Database, Handle } from '../../src/store/database.ts'
import type { Chunk, PageToOpen } from '../../src/store/ledger.ts'
import { makePartitions } from '../../src/store/partitions.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { type ClaimedRun, claimRuns, enqueueRun, type NewRun } from '../../src/store/runs.ts'
import { recoverRun, registerWorker } from '../../src/store/workers.ts'

const ids = createIdSource(systemClock, systemRandom)

export function newId(): string {
  return ids.next()
}

/** What a path on which runs fail works with. */
export const BREAKER_PARTS: BreakerParts = {
  ids,
  breaker: { threshold: BREAKER_THRESHOLD, channels: ['log'] },
}

export interface SeededSync {
  readonly workspaceId: string
  readonly syncId: string
  readonly publicationId: string
  readonly sourceConnectionId: string
  readonly destinationConnectionId: string
  readonly config: SyncConfig
}

/** A workspace with one active, published sync. `given` replaces parts of its configuration. */
export async function seedSync(
  database: Database,
  given: Partial<SyncConfig> & {
    readonly workspaceId?: string
    readonly destination?: { readonly type: string; readonly config: object }
  } = {},
): Promise<SeededSync> {
  const { destination, workspaceId: givenWorkspace, ...partial } = given
  const workspaceId = givenWorkspace ?? newId()
  const [syncId, publicationId] = [newId(), newId()]
  const [sourceConnectionId, destinationConnectionId] = [newId(), newId()]
  const config: SyncConfig = {
    sourceConnectionId,
    stream: 'customers.csv',
    streamOptions: {},
    destinationConnectionId,
    object: '/contacts',
    objectOptions: {},
    mapping: { email: { $path: 'email' } },
    onRejected: 'HOLD',
    onBrokenRecord: 'REJECT',
    pageSize: 500,
    schedule: null,
    breakerThreshold: null,
    ...partial,
  }
  const digest = createHash('sha256').update(JSON.stringify(config)).digest('hex')
  const name = `sync ${syncId}`
  await makePartitions(database)
  await database.transaction('storeSeed.seedSync', async (tx) => {
    await tx.rows(sql`insert into workspace (id, name) values (${workspaceId}, 'Test')
      on conflict do nothing`)
    await tx.rows(sql`insert into connection (id, workspace_id, name, type, config) values
      (${sourceConnectionId}, ${workspaceId}, ${`source ${syncId}`}, 'file', '{}'),
      (${destinationConnectionId}, ${workspaceId}, ${`destination ${syncId}`},
       ${destination?.type ?? 'http'}, ${JSON.stringify(destination?.config ?? {})}::text::jsonb)`)
    await tx.rows(sql`insert into sync (id, workspace_id, name, status, draft,
        source_connection_id, destination_connection_id, publication_id)
      values (${syncId}, ${workspaceId}, ${name}, 'active', ${JSON.stringify(config)}::text::jsonb,
        ${sourceConnectionId}, ${destinationConnectionId}, ${publicationId})`)
    await tx.rows(sql`insert into sync_fence (sync_id) values (${syncId})`)
    await tx.rows(sql`insert into sync_version (sync_id, digest, config)
      values (${syncId}, ${digest}, ${JSON.stringify(config)}::text::jsonb)`)
    await tx.rows(sql`insert into publication (id, sync_id, version_digest, published_by)
      values (${publicationId}, ${syncId}, ${digest}, 'test')`)
  })
  return { workspaceId, syncId, publicationId, sourceConnectionId, destinationConnectionId, config }
}

export function newRun(sync: SeededSync, given: Partial<NewRun> = {}): NewRun {
  return {
    id: newId(),
    workspaceId: sync.workspaceId,
    syncId: sync.syncId,
    publicationId: sync.publicationId,
    cause: 'run_now',
    requestedBy: 'test',
    attemptAllowance: 5,
    retryOf: null,
    ...given,
  }
}

export async function seedWorker(database: Database): Promise<string> {
  const id = newId()
  await registerWorker(database, { id, host: 'test', pid: 1 })
  return id
}

/** Queues a run of the sync and claims it, as the only due one of its workspace. */
export async function seedClaimedRun(
  database: Database,
  sync: SeededSync,
  given: { readonly workerId?: string; readonly run?: Partial<NewRun> } = {},
): Promise<{ readonly claimed: ClaimedRun; readonly holder: RunHolder }> {
  const workerId = given.workerId ?? (await seedWorker(database))
  const run = newRun(sync, given.run)
  await enqueueRun(database, run)
  return await claimRun(database, { runId: run.id, workerId, workspaceId: sync.workspaceId })
}

/** Claims one queued run that must be the only due one of its workspace. */
export async function claimRun(
  database: Handle,
  given: { readonly runId: string; readonly workerId: string; readonly workspaceId: string },
): Promise<{ readonly claimed: ClaimedRun; readonly holder: RunHolder }> {
  const { runId, workerId, workspaceId } = given
  const afterWorkspaceId = previousUuid(workspaceId)
  const [claimed] = await claimRuns(database, { workerId, slots: 1, afterWorkspaceId })
  if (claimed?.runId !== runId) {
    throw new Error(`Claimed ${claimed?.runId ?? 'nothing'} and not ${runId}.`)
  }
  return {
    claimed,
    holder: { runId, syncId: claimed.syncId, workerId, epoch: claimed.epoch },
  }
}

function previousUuid(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`) - 1n
  const text = number.toString(16).padStart(32, '0')
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A page of `values.length` records, each with the identity `id-<index>`. */
export interface SeededPage {
  readonly page: PageToOpen
  readonly values: readonly string[]
}

export function seedPage(
  sync: SeededSync,
  given: { readonly from: string; readonly to: string; readonly values: readonly string[] },
): SeededPage {
  const { syncId, sourceConnectionId, config } = sync
  const pageDigest = digestPage(sha256, {
    syncId,
    sourceConnectionId,
    stream: config.stream,
    fromCursor: given.from,
  })
  const identities = given.values
    .map((_, index) => hashIdentity(sha256, syncId, `id-${index}`))
    .join('')
  return {
    page: { pageDigest, fromCursor: given.from, toCursor: given.to, identities },
    values: given.values,
  }
}

/** Recovers a run whose worker has never beaten, and claims it for another one. */
export async function takeOver(database: Database, holder: RunHolder, workspaceId: string) {
  const recovered = await recoverRun(database, { ...holder, takeOvers: 0, beatN: 0 })
  assert(recovered !== null, 'The run was still its worker’s.')
  const workerId = await seedWorker(database)
  return await claimRun(database, { runId: holder.runId, workerId, workspaceId })
}

/** A chunk of the given positions of a page, all by default. */
export function seedChunk(
  sync: SeededSync,
  seeded: SeededPage,
  positions: readonly number[] = seeded.values.map((_, index) => index),
): Chunk {
  return {
    intentId: newId(),
    connectionId: sync.destinationConnectionId,
    deliveryClass: 'idempotent',
    positions,
    recordDigests: positions.map((position) => digestOf(seeded, position)).join(''),
    destinationIdentities: positions.map((position) => identityOf(seeded, position)).join(''),
    quietMs: 30_000,
    ...{ importTag: null, importObject: null, lookupObject: null },
  }
}

/** The hashed identity of the record at a position. */
export function identityOf(seeded: SeededPage, position: number): string {
  return seeded.page.identities.slice(position * 32, position * 32 + 32)
}

export function digestOf(seeded: SeededPage, position: number): string {
  return digestRecord(sha256, JSON.stringify(seeded.values[position]))
}

export function keyOf(seeded: SeededPage, position: number): string {
  return deliveryKey(seeded.page.pageDigest, position, digestOf(seeded, position))
}
