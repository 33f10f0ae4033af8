import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { ensureFirstToken } from '../../src/commands/ensure-first-token.ts'
import type { SyncConfig } from '../../src/domain/sync.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { createIdSource, systemRandom } from '../../src/runtime/random.ts'
import { findConnections, insertConnection } from '../../src/store/connections.ts'
import type { Database } from '../../src/store/database.ts'
import { listRuns } from '../../src/store/history/run-pages.ts'
import { findLastRuns } from '../../src/store/history/runs.ts'
import { insertPublication } from '../../src/store/publications.ts'
import { findLatestRetry } from '../../src/store/retries.ts'
import {
  activateSync,
  findSync,
  findSyncForUpdate,
  insertSync,
  markSyncPaused,
  NameTakenError,
  updateDraft,
} from '../../src/store/syncs.ts'
import { findTokenByHash, revokeToken } from '../../src/store/tokens.ts'
import { insertWorkspace } from '../../src/store/workspaces.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeRun, makeToken } from '../support/factories.ts'

const ids = createIdSource(systemClock, systemRandom)

async function seedDraft(database: Database, workspaceId = ids.next()) {
  const [sourceConnectionId, destinationConnectionId, id] = [ids.next(), ids.next(), ids.next()]
  const draft: SyncConfig = {
    sourceConnectionId,
    stream: 'a.csv',
    streamOptions: {},
    destinationConnectionId,
    object: '/contacts',
    objectOptions: {},
    // A text that looks like a number stays a text.
    mapping: { price: { $const: '10.50' }, note: { $const: 'ä 😀' } },
    onRejected: 'HOLD',
    onBrokenRecord: 'REJECT',
    pageSize: 500,
    schedule: null,
    breakerThreshold: null,
  }
  await database.rows(sql`insert into workspace (id, name) values (${workspaceId}, 'Test')
    on conflict do nothing`)
  for (const connectionId of [sourceConnectionId, destinationConnectionId]) {
    const shared = { type: 'file', config: { a: '1' }, sealedCredentials: null }
    await insertConnection(database, workspaceId, {
      id: connectionId,
      name: connectionId,
      ...shared,
    })
  }
  const name = `sync ${id}`
  const isInserted = await database.transaction('test.seedDraft', (tx) =>
    insertSync(tx, { id, workspaceId, name, draft }),
  )
  expect(isInserted).toBe(true)
  return { workspaceId, syncId: id, name, draft }
}

async function seedPublished(database: Database) {
  const seeded = await seedDraft(database)
  const publicationId = ids.next()
  await database.transaction('test.seedPublished', async (tx) => {
    await insertPublication(tx, {
      id: publicationId,
      syncId: seeded.syncId,
      versionDigest: 'd'.repeat(64),
      config: seeded.draft,
      publishedBy: 'test',
      approvedBy: null,
    })
    await activateSync(tx, seeded.syncId, publicationId)
  })
  return { ...seeded, publicationId }
}

describe.each(DATABASE_KINDS)('the configuration on %s', (kind) => {
  const database = useDatabase(kind)

  it('makes the first workspace once, and another token for it each time one is asked for', async () => {
    const context = { database: database(), ids, random: systemRandom }
    const names = { workspaceName: 'Mine', tokenName: 'first' }
    const first = await ensureFirstToken(context, names)
    const second = await ensureFirstToken(context, names)
    expect(second.workspaceId).toBe(first.workspaceId)
    expect(first.token).toMatch(/^tajo_[A-Za-z0-9_-]{43}$/)
    for (const { token, tokenId } of [first, second]) {
      expect(await findTokenByHash(database(), sha256(token))).toEqual({
        id: tokenId,
        workspaceId: first.workspaceId,
        name: 'first',
        role: 'admin',
        isTajo: true,
        isExpired: false,
        isRevoked: false,
      })
    }
  })

  it('tells an expired and a revoked token', async () => {
    const workspaceId = ids.next()
    await insertWorkspace(database(), { id: workspaceId, name: 'Test' })
    const expired = await makeToken(database(), workspaceId, { expiresAt: new Date(0) })
    const revoked = await makeToken(database(), workspaceId)
    expect(await revokeToken(database(), ids.next(), revoked.tokenId)).toBe(false)
    expect(await revokeToken(database(), workspaceId, revoked.tokenId)).toBe(true)
    expect(await revokeToken(database(), workspaceId, revoked.tokenId)).toBe(false)
    const find = ({ token }: { token: string }) => findTokenByHash(database(), sha256(token))
    expect(await find(expired)).toMatchObject({ isExpired: true, isRevoked: false })
    expect(await find(revoked)).toMatchObject({ isExpired: false, isRevoked: true })
    expect(await find({ token: 'tajo_none' })).toBeNull()
  })

  it('finds the connections of a workspace only', async () => {
    const { workspaceId, draft } = await seedDraft(database())
    const wanted = [draft.sourceConnectionId, draft.destinationConnectionId, ids.next()]
    const found = await findConnections(database(), workspaceId, wanted)
    expect(found.map(({ id }) => id).sort()).toEqual(wanted.slice(0, 2).sort())
    expect(found[0]).toMatchObject({ type: 'file', config: { a: '1' }, sealedCredentials: null })
    expect(await findConnections(database(), ids.next(), wanted)).toEqual([])
    expect(await findConnections(database(), workspaceId, [])).toEqual([])
  })

  it('keeps a draft as it was saved, for its workspace only', async () => {
    const { workspaceId, syncId, name, draft } = await seedDraft(database())
    expect(await findSync(database(), workspaceId, syncId)).toEqual({
      id: syncId,
      workspaceId,
      name,
      status: 'draft',
      pauseCause: null,
      pauseReason: null,
      draft,
      publicationId: null,
    })
    expect(await findSync(database(), ids.next(), syncId)).toBeNull()
  })

  it('refuses a name that another sync of the workspace has, and leaves both as they were', async () => {
    const first = await seedDraft(database())
    const second = await seedDraft(database(), first.workspaceId)
    const again = { id: ids.next(), ...first }
    const inserted = database().transaction('test.insertAgain', (tx) => insertSync(tx, again))
    expect(await inserted).toBe(false)
    const renaming = database().transaction('test.rename', (tx) =>
      updateDraft(tx, second.syncId, { name: first.name, draft: { ...second.draft, pageSize: 1 } }),
    )
    await expect(renaming).rejects.toBeInstanceOf(NameTakenError)
    expect(await findSync(database(), second.workspaceId, second.syncId)).toMatchObject({
      name: second.name,
      draft: { pageSize: 500 },
    })
  })

  it('pauses and activates, and forgets the pause', async () => {
    const { workspaceId, syncId, publicationId } = await seedPublished(database())
    await database().transaction('test.pause', async (tx) => {
      await findSyncForUpdate(tx, workspaceId, syncId)
      await markSyncPaused(tx, syncId, { to: 'paused', cause: 'person', reason: 'Why.', by: 'me' })
    })
    expect(await findSync(database(), workspaceId, syncId)).toMatchObject({
      status: 'paused',
      pauseCause: 'person',
      pauseReason: 'Why.',
    })
    await database().transaction('test.activate', (tx) => activateSync(tx, syncId, publicationId))
    expect(await findSync(database(), workspaceId, syncId)).toMatchObject({
      status: 'active',
      pauseCause: null,
      pauseReason: null,
      publicationId,
    })
  })

  it('follows a chain of retries to its end', async () => {
    const { workspaceId, syncId } = await seedPublished(database())
    const put = (retryOf?: string) =>
      makeRun(database(), {
        workspaceId,
        syncId,
        status: 'failed',
        ...(retryOf ? { retryOf } : {}),
      })
    const first = await put()
    expect(await findLatestRetry(database(), first)).toBeNull()
    const third = await put(await put(first))
    expect(await findLatestRetry(database(), first)).toEqual({ id: third })
  })

  it('lists runs newest first from any place, and the newest of each sync', async () => {
    const [one, two] = [await seedPublished(database()), await seedPublished(database())]
    const { workspaceId } = one
    const made: string[] = []
    for (let n = 0; n < 4; n += 1) {
      const { syncId } = one
      made.unshift(await makeRun(database(), { workspaceId, syncId, status: 'succeeded' }))
    }
    await makeRun(database(), { ...two, status: 'succeeded' })
    const range = { after: null, before: null, limit: 10, isFromEnd: false }
    const list = async (given: object) => {
      const page = { ...range, ...given }
      const rows = await listRuns(database(), workspaceId, { page, filter: {} })
      return rows.map(({ id }) => id)
    }
    expect(await list({})).toEqual(made)
    expect(await list({ after: made[0], limit: 2 })).toEqual(made.slice(1, 3))
    expect(await list({ before: made[3], isFromEnd: true, limit: 2 })).toEqual([made[2], made[1]])
    const lastRuns = await findLastRuns(database(), workspaceId, [one.syncId, two.syncId])
    expect(lastRuns.map(({ id }) => id)).toEqual([made[0]])
    expect(lastRuns[0]?.durationMs).toBeGreaterThan(0)
  })
})
