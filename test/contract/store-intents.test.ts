/** On both databases: an intent while its call is on its way, and imports (I2, I12). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type DeliveryClass, LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { Database } from '../../src/store/database.ts'
import { listDoubts } from '../../src/store/history/doubts.ts'
import {
  closeImport,
  endImport,
  findOpenImport,
  noteImport,
  renewIntent,
} from '../../src/store/intents.ts'
import { type Chunk, complete, openPage, reserve } from '../../src/store/ledger.ts'
import { alignLeftIntents, listLeftIntents } from '../../src/store/left-intents.ts'
import type { RunHolder } from '../../src/store/run-ends.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import {
  newId,
  type SeededPage,
  type SeededSync,
  seedChunk,
  seedClaimedRun,
  seedPage,
  seedSync,
  takeOver,
} from '../support/store-seed.ts'

interface Reserved {
  readonly sync: SeededSync
  readonly holder: RunHolder
  readonly seeded: SeededPage
  readonly chunk: Chunk
  readonly name: { readonly intentId: string; readonly epoch: number }
}

async function openAndReserve(
  database: Database,
  given: Partial<Chunk> = {},
  like: { readonly destinationConnectionId?: string; readonly workspaceId?: string } = {},
): Promise<Reserved & { readonly answer: string }> {
  const sync = await seedSync(database, like)
  const { holder } = await seedClaimedRun(database, sync)
  const seeded = seedPage(sync, { from: 'a', to: 'b', values: ['x', 'y', 'z'] })
  await openPage(database, {
    ...{ holder, page: seeded.page, chunk: null, resendsUnknown: false },
    retentionMs: LEDGER_RETENTION_MS,
  })
  const connectionId = sync.config.destinationConnectionId
  const chunk: Chunk = { ...seedChunk(sync, seeded), connectionId, ...given }
  const answer = await reserve(database, { holder, pageDigest: seeded.page.pageDigest, chunk })
  const name = { intentId: chunk.intentId, epoch: holder.epoch }
  return { sync, holder, seeded, chunk, name, answer }
}

describe.each(DATABASE_KINDS)('intents on %s', (kind) => {
  const database = useDatabase(kind)

  const openAt = (reserved: Reserved) =>
    findOpenImport(database(), reserved.sync.config.destinationConnectionId)

  it('have their quiet time anew when they are renewed, and only for who holds the fence', async () => {
    const { sync, holder, name } = await openAndReserve(database(), { quietMs: 0 })
    const renewal = { holder, intentId: name.intentId, quietMs: 60_000, importTag: null }
    expect(await renewIntent(database(), renewal)).toBe('reserved')
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const [left] = await listLeftIntents(database(), next)
    expect(left?.quietInMs).toBeGreaterThan(30_000)
    expect(await renewIntent(database(), renewal)).toBe('fenced_off')
    const other = { ...renewal, holder: next }
    expect(await renewIntent(database(), other)).toBe('fenced_off')
  })

  it('reserve one import a connection; others are told so and have reserved nothing', async () => {
    const first = await openAndReserve(database(), { importTag: newId() })
    expect(first.answer).toBe('reserved')
    const { workspaceId, destinationConnectionId } = first.sync
    const like = { workspaceId, destinationConnectionId }
    const second = await openAndReserve(database(), { importTag: newId() }, like)
    expect(second.answer).toBe('import_open')
    // A call that is answered at once is in nobody's way.
    expect((await openAndReserve(database(), {}, like)).answer).toBe('reserved')
    const rows = await database().rows(sql`select from delivery_intent
      where sync_id = ${second.sync.syncId}`)
    expect(rows).toHaveLength(0)
    expect(await openAt(first)).toMatchObject({
      ...first.name,
      ...{ syncId: first.sync.syncId, tag: first.chunk.importTag, jobId: null, isInFlight: true },
    })
  })

  it('cannot be renewed for another import while one is open', async () => {
    const first = await openAndReserve(database(), { importTag: newId() })
    const { workspaceId, destinationConnectionId } = first.sync
    const like = { workspaceId, destinationConnectionId }
    const second = await openAndReserve(database(), {}, like)
    const { holder, name } = second
    const renewal = { holder, intentId: name.intentId, quietMs: 0, importTag: newId() }
    expect(await renewIntent(database(), renewal)).toBe('import_open')
    await closeImport(database(), first.name)
    expect(await renewIntent(database(), renewal)).toBe('reserved')
    expect(await openAt(first)).toMatchObject({ ...name, tag: renewal.importTag })
  })

  it('keep tag and name of their import for whoever comes next, also once it is closed for others', async () => {
    const reserved = await openAndReserve(database(), { importTag: newId() })
    const { sync, holder, name, chunk } = reserved
    expect(await noteImport(database(), { ...name, jobId: 'job-1' })).toBe(true)
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await openAt(reserved)).toMatchObject({ jobId: 'job-1', isInFlight: false })
    await closeImport(database(), name)
    expect(await openAt(reserved)).toBeNull()
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { importTag: chunk.importTag, importJobId: 'job-1' },
    ])
    await endImport(database(), name)
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { importTag: null, importJobId: null },
    ])
    expect(await noteImport(database(), { ...name, jobId: 'job-2' })).toBe(false)
  })

  it.each([
    [true, 'goes on for what is unknown'],
    [false, 'is over for what is unknown'],
  ])('whose import (%s) %s', async (keepsImport) => {
    const reserved = await openAndReserve(database(), { importTag: newId() })
    const { sync, holder, name, chunk } = reserved
    await noteImport(database(), { ...name, jobId: 'job-1' })
    await complete(database(), {
      ...name,
      written: [{ index: 0, result: null }],
      remaining: { intentId: newId(), indexes: [1, 2], keepsImport },
      hasHeldRecords: false,
    })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const [left] = await listLeftIntents(database(), next)
    expect(left).toMatchObject({
      positions: [1, 2],
      importTag: keepsImport ? chunk.importTag : null,
      importJobId: keepsImport ? 'job-1' : null,
    })
    expect((await openAt(reserved)) !== null).toBe(keepsImport)
  })

  it('are for nobody to settle while their import may be going on', async () => {
    const given = { importTag: newId(), deliveryClass: 'none', quietMs: 0 } as const
    const { sync, holder, name } = await openAndReserve(database(), given)
    await takeOver(database(), holder, sync.workspaceId)
    const list = () =>
      listDoubts(database(), sync.workspaceId, {
        ...{ syncId: sync.syncId, runId: null, after: null, limit: 10 },
      })
    expect(await list()).toEqual([])
    await endImport(database(), name)
    expect(await list()).toHaveLength(3)
  })

  it.each<[DeliveryClass, DeliveryClass, DeliveryClass]>([
    ['idempotent', 'idempotent', 'idempotent'],
    ['idempotent', 'lookup', 'lookup'],
    ['idempotent', 'none', 'none'],
    ['lookup', 'idempotent', 'none'],
    ['lookup', 'lookup', 'lookup'],
    ['lookup', 'none', 'none'],
    ['none', 'idempotent', 'none'],
    ['none', 'lookup', 'none'],
  ])('left as %s where the sync declares %s now are settled as %s', async (was, now, then) => {
    const { sync, holder } = await openAndReserve(database(), { deliveryClass: was })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    await alignLeftIntents(database(), next, { deliveryClass: now, hasImports: false })
    expect(await listLeftIntents(database(), next)).toMatchObject([{ deliveryClass: then }])
  })

  it('of imports are for a person where the sync says nothing of imports any more', async () => {
    const reserved = await openAndReserve(database(), { importTag: newId() })
    const { sync, holder } = reserved
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const now = { deliveryClass: 'idempotent', hasImports: true } as const
    await alignLeftIntents(database(), next, now)
    expect(await listLeftIntents(database(), next)).toMatchObject([{ deliveryClass: 'idempotent' }])
    await alignLeftIntents(database(), next, { ...now, hasImports: false })
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { deliveryClass: 'none', importTag: null },
    ])
    expect(await openAt(reserved)).toBeNull()
  })
})
