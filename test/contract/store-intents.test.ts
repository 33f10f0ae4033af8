/** On both databases: an intent while its call is on its way, and imports (I2, I12). */
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { type DeliveryClass, LEDGER_RETENTION_MS } from '../../src/domain/delivery.ts'
import type { DoubtCause } from '../../src/domain/doubt.ts'
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

const OBJECT = '/imports'
const ofImport = () => ({ importTag: newId(), importObject: OBJECT })

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

  const doubtsOf = ({ sync }: Reserved) =>
    listDoubts(database(), sync.workspaceId, {
      ...{ syncId: sync.syncId, runId: null, after: null, limit: 10 },
    })

  it('have their quiet time anew when they are renewed, and only for who holds the fence', async () => {
    const { sync, holder, name } = await openAndReserve(database(), { quietMs: 0 })
    const renewal = { holder, intentId: name.intentId, quietMs: 60_000, newImport: null }
    expect(await renewIntent(database(), renewal)).toBe('reserved')
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const [left] = await listLeftIntents(database(), next)
    expect(left?.quietInMs).toBeGreaterThan(30_000)
    expect(await renewIntent(database(), renewal)).toBe('fenced_off')
    const other = { ...renewal, holder: next }
    expect(await renewIntent(database(), other)).toBe('fenced_off')
  })

  it('reserve one import a connection; others are told so and have reserved nothing', async () => {
    const first = await openAndReserve(database(), ofImport())
    expect(first.answer).toBe('reserved')
    const { workspaceId, destinationConnectionId } = first.sync
    const like = { workspaceId, destinationConnectionId }
    const second = await openAndReserve(database(), ofImport(), like)
    expect(second.answer).toBe('import_open')
    // A call that is answered at once is in nobody's way.
    expect((await openAndReserve(database(), {}, like)).answer).toBe('reserved')
    const rows = await database().rows(sql`select from delivery_intent
      where sync_id = ${second.sync.syncId}`)
    expect(rows).toHaveLength(0)
    const { syncId } = first.sync
    expect(await openAt(first)).toMatchObject({
      ...{ ...first.name, syncId, syncName: `sync ${syncId}`, tag: first.chunk.importTag },
      ...{ object: OBJECT, jobId: null, isInFlight: true },
    })
  })

  it('cannot be renewed for another import while one is open', async () => {
    const first = await openAndReserve(database(), ofImport())
    const { workspaceId, destinationConnectionId } = first.sync
    const like = { workspaceId, destinationConnectionId }
    const second = await openAndReserve(database(), {}, like)
    const { holder, name } = second
    const newImport = { tag: newId(), object: '/other-imports' }
    const renewal = { holder, intentId: name.intentId, quietMs: 0, newImport }
    expect(await renewIntent(database(), renewal)).toBe('import_open')
    await closeImport(database(), first.name)
    expect(await renewIntent(database(), renewal)).toBe('reserved')
    expect(await openAt(first)).toMatchObject({ ...name, ...newImport })
  })

  it('keep tag and name of their import for whoever comes next, also once it is closed for others', async () => {
    const reserved = await openAndReserve(database(), ofImport())
    const { sync, holder, name, chunk } = reserved
    expect(await noteImport(database(), { ...name, jobId: 'job-1', object: OBJECT })).toBe(true)
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await openAt(reserved)).toMatchObject({
      ...{ jobId: 'job-1', object: OBJECT, isInFlight: false },
    })
    await closeImport(database(), name)
    expect(await openAt(reserved)).toBeNull()
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { importTag: chunk.importTag, importObject: OBJECT, importJobId: 'job-1' },
    ])
    await noteImport(database(), { ...name, jobId: 'job-1', object: '/elsewhere' })
    expect(await listLeftIntents(database(), next)).toMatchObject([{ importObject: '/elsewhere' }])
    await endImport(database(), name)
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { importTag: null, importObject: null, importJobId: null },
    ])
    expect(await noteImport(database(), { ...name, jobId: 'job-2', object: OBJECT })).toBe(false)
  })

  it.each([
    [true, 'goes on for what is unknown'],
    [false, 'is over for what is unknown'],
  ])('whose import (%s) %s', async (keepsImport) => {
    const reserved = await openAndReserve(database(), ofImport())
    const { sync, holder, name, chunk } = reserved
    await noteImport(database(), { ...name, jobId: 'job-1', object: OBJECT })
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
      importObject: keepsImport ? OBJECT : null,
      importJobId: keepsImport ? 'job-1' : null,
    })
    expect((await openAt(reserved)) !== null).toBe(keepsImport)
  })

  it('are for nobody to settle while their import may be going on', async () => {
    const given = { ...ofImport(), deliveryClass: 'none', quietMs: 0 } as const
    const reserved = await openAndReserve(database(), given)
    const { sync, holder, name } = reserved
    await takeOver(database(), holder, sync.workspaceId)
    expect(await doubtsOf(reserved)).toEqual([])
    await endImport(database(), name)
    expect(await doubtsOf(reserved)).toHaveLength(3)
  })

  it.each<[DeliveryClass, DeliveryClass, DeliveryClass, DoubtCause | null]>([
    ['idempotent', 'idempotent', 'idempotent', null],
    ['idempotent', 'lookup', 'lookup', null],
    ['idempotent', 'none', 'none', 'class_changed'],
    ['lookup', 'idempotent', 'none', 'class_changed'],
    ['lookup', 'lookup', 'lookup', null],
    ['lookup', 'none', 'none', 'class_changed'],
    ['none', 'idempotent', 'none', null],
    ['none', 'lookup', 'none', null],
  ])(
    'left as %s where the sync declares %s now are settled as %s',
    async (was, now, then, cause) => {
      const reserved = await openAndReserve(database(), { deliveryClass: was })
      const { sync, holder } = reserved
      const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
      for (let n = 0; n < 2; n += 1) {
        await alignLeftIntents(database(), next, { deliveryClass: now, hasImports: false })
      }
      expect(await listLeftIntents(database(), next)).toMatchObject([{ deliveryClass: then }])
      const causes = (await doubtsOf(reserved)).map((doubt) => doubt.cause)
      expect(causes).toEqual(then === 'none' ? Array(3).fill(cause) : [])
    },
  )

  it('of imports are for a person where the sync says nothing of imports any more', async () => {
    const reserved = await openAndReserve(database(), ofImport())
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
    const causes = (await doubtsOf(reserved)).map(({ cause }) => cause)
    expect(causes).toEqual(Array(3).fill('import_out_of_reach'))
  })

  it('keep where their writes can be asked for, also for what is left of them', async () => {
    const given = { deliveryClass: 'lookup', lookupObject: '/writes/{key}' } as const
    const { sync, holder, name } = await openAndReserve(database(), given)
    const remaining = { intentId: newId(), indexes: [1, 2], keepsImport: false }
    await complete(database(), { ...name, written: [], remaining, hasHeldRecords: false })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    const { lookupObject, deliveryClass } = given
    expect(await listLeftIntents(database(), next)).toMatchObject([
      { positions: [1, 2], deliveryClass, lookupObject },
    ])
  })

  it('are for a person, with the cause, where that is all that is left to do', async () => {
    const reserved = await openAndReserve(database(), {
      ...{ deliveryClass: 'lookup', lookupObject: '/writes/{key}' },
    })
    const { sync, holder, name } = reserved
    await complete(database(), {
      ...{ ...name, written: [{ index: 0, result: null }], hasHeldRecords: false },
      remaining: {
        ...{ intentId: newId(), indexes: [1, 2], keepsImport: false },
        doubtCause: 'lookup_moved',
      },
    })
    const { holder: next } = await takeOver(database(), holder, sync.workspaceId)
    expect(await listLeftIntents(database(), next)).toMatchObject([{ deliveryClass: 'none' }])
    expect(await doubtsOf(reserved)).toMatchObject([
      { position: 1, cause: 'lookup_moved' },
      { position: 2, cause: 'lookup_moved' },
    ])
  })
})
