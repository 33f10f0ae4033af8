/**
 * Approvals at the same moment as everything that may not go with them, on PostgreSQL: the sync's row is held by
 * the test while they queue for it, so that they get it in the order in which they came (I22).
 */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { approvePublication } from '../../src/commands/approve-publication.ts'
import { publishSync } from '../../src/commands/publish-sync.ts'
import { Refusal, RequestClosed } from '../../src/commands/refusals.ts'
import { refusePublication } from '../../src/commands/refuse-publication.ts'
import { requestPublication } from '../../src/commands/request-publication.ts'
import { setPublishingPolicy } from '../../src/commands/set-publishing-policy.ts'
import { updateSync } from '../../src/commands/update-sync.ts'
import { withdrawPublicationRequest } from '../../src/commands/withdraw-publication-request.ts'
import { digestConfig } from '../../src/domain/sync.ts'
import { sha256 } from '../../src/runtime/hash.ts'
import { type Database, type Handle, openDatabase } from '../../src/store/database.ts'
import { isUniqueViolation } from '../../src/store/database-errors.ts'
import { createTestDatabase, DATABASE_KINDS, type TestDatabase } from '../support/databases.ts'
import { holdOpen, waitUntilBlocked } from '../support/held-open.ts'
import { newId, type SeededSync, seedSync } from '../support/store-seed.ts'
import { actingFor, requestDraft } from '../support/sync-verbs.ts'

const CALLERS = 20
const DESTINATION = { type: 'http', config: { baseUrl: 'http://127.0.0.1:9' } }

describe.runIf(DATABASE_KINDS.includes('postgresql'))('an approval, and at the same moment', () => {
  let test: TestDatabase
  let database: Database
  /** A connection for each that waits. */
  let callers: Database

  beforeAll(async () => {
    test = await createTestDatabase()
    database = await test.open()
    const at = { url: test.url }
    callers = await openDatabase({ at, maxConnections: CALLERS + 2, applicationName: 'callers' })
  })
  afterAll(async () => {
    await callers.close()
    await test.drop()
  })

  const holdSync = (tx: Handle, { syncId }: SeededSync) =>
    tx.rows(sql`select 1 from sync where id = ${syncId} for no key update`)
  const holdWorkspace = (tx: Handle, { workspaceId }: SeededSync) =>
    tx.rows(sql`select 1 from workspace where id = ${workspaceId} for no key update`)

  /** Starts them one after the other, each when the one before it waits for the row; then lets them have it. */
  async function inOrder(
    sync: SeededSync,
    acts: readonly (() => Promise<string>)[],
    hold: (tx: Handle, sync: SeededSync) => Promise<unknown> = holdSync,
  ): Promise<string[]> {
    const held = await holdOpen(database, (tx) => hold(tx, sync))
    const acting: Promise<string>[] = []
    for (const act of acts) {
      acting.push(act())
      await waitUntilBlocked(database, acting.length)
    }
    await held.release()
    return await Promise.all(acting)
  }

  async function seed() {
    const sync = await seedSync(database, { destination: DESTINATION })
    await database.rows(sql`update connection set type = 'scripted'
      where id = ${sync.sourceConnectionId}`)
    const requestId = await requestDraft(database, sync)
    const { syncId } = sync
    const reason = 'R'
    const by = () => actingFor(callers, sync)
    return {
      ...{ sync, requestId },
      acts: {
        approve: told(() => approvePublication(...by(), { requestId })),
        refuse: told(() => refusePublication(...by(), { requestId, reason })),
        withdraw: told(() => withdrawPublicationRequest(...by(), { requestId, reason })),
        publish: told(() => publishSync(...by(), { syncId })),
        update: told(() => updateSync(...by(), { syncId, settings: { pageSize: 9 } })),
        request: told(() => requestPublication(...by(), { syncId, reason })),
        askForEyes: told(() => setPublishingPolicy(...by(), { needsApproval: true, reason })),
      },
    }
  }

  /** How it stands in the end: the requests, and the publications after the first, by who and of which version. */
  async function read(sync: SeededSync) {
    const requests = await database.rows<{ status: string }>(sql`
      select status from publication_request where sync_id = ${sync.syncId} order by id`)
    const published = await database.rows<{ told: string; digest: string }>(sql`
      select concat_ws(' ', published_by, approved_by) as told, version_digest as digest
      from publication where sync_id = ${sync.syncId} and id <> ${sync.publicationId} order by id`)
    const requested = digestConfig(sha256, sync.config)
    return {
      requests: requests.map(({ status }) => status).join(' '),
      published: published.map(({ told: by, digest }) =>
        digest === requested ? by : `${by} of another version`,
      ),
    }
  }

  const APPROVED = { requests: 'approved', published: ['requester test'] }
  const SUPERSEDED = 'refused: superseded'

  it(`${CALLERS - 1} more of the same: it is published once, and all of them are told so`, async () => {
    const { sync, acts } = await seed()
    const held = await holdOpen(database, (tx) => holdSync(tx, sync))
    const acting = Array.from({ length: CALLERS }, acts.approve)
    // Some have looked at the open request by now, and wait to publish it.
    await waitUntilBlocked(database, 3)
    await held.release()
    const ends = await Promise.all(acting)
    expect(ends.sort()).toEqual(['done', ...Array<string>(CALLERS - 1).fill('noop')])
    expect(await read(sync)).toEqual(APPROVED)
  })

  it.each([
    ['refuse', ['done', 'refused: approved'], APPROVED],
    ['withdraw', ['done', 'refused: approved'], APPROVED],
    ['publish', ['done', 'noop'], APPROVED],
    ['update', ['done', 'done'], APPROVED],
    ['request', ['done', 'refused: NOTHING_TO_PUBLISH'], APPROVED],
  ] as const)('a %s behind it: the approval stands', async (other, ends, outcome) => {
    const { sync, acts } = await seed()
    expect(await inOrder(sync, [acts.approve, acts[other]])).toEqual(ends)
    expect(await read(sync)).toEqual(outcome)
  })

  it.each([
    ['refuse', ['done', 'refused: refused'], { requests: 'refused', published: [] }],
    ['withdraw', ['done', 'refused: withdrawn'], { requests: 'withdrawn', published: [] }],
    ['publish', ['done', SUPERSEDED], { requests: 'superseded', published: ['test'] }],
    ['update', ['done', SUPERSEDED], { requests: 'superseded', published: [] }],
    ['request', ['noop', 'done'], APPROVED],
  ] as const)('a %s before it: that stands', async (other, ends, outcome) => {
    const { sync, acts } = await seed()
    expect(await inOrder(sync, [acts[other], acts.approve])).toEqual(ends)
    expect(await read(sync)).toEqual(outcome)
  })

  it('a change of the policy behind a publication that is under way waits for its end', async () => {
    const { sync, acts } = await seed()
    // It holds the workspace's row before the change asks for it, and waits for the publication it is to make.
    const held = await holdOpen(database, (tx) =>
      tx.rows(sql`lock table publication in share row exclusive mode`),
    )
    const publishing = acts.publish()
    await waitUntilBlocked(database, 1)
    const asking = acts.askForEyes()
    await waitUntilBlocked(database, 2)
    await held.release()
    expect(await Promise.all([publishing, asking])).toEqual(['done', 'done'])
    expect(await read(sync)).toEqual({ requests: 'superseded', published: ['test'] })
    expect(await acts.publish()).toBe('refused: APPROVAL_NEEDED')
  })

  it('a publication behind a change of the policy is refused', async () => {
    const { sync, acts } = await seed()
    // The change has the workspace's row; the publication has looked before that, and looks again behind it.
    const ends = await inOrder(sync, [acts.askForEyes, acts.publish], holdWorkspace)
    expect(ends).toEqual(['done', 'refused: APPROVAL_NEEDED'])
    expect(await read(sync)).toEqual({ requests: 'open', published: [] })
  })

  describe('the database itself', () => {
    it('has one open request a sync at most', async () => {
      const { sync } = await seed()
      const second = await requestDraft(database, sync).catch((error: unknown) => error)
      expect(isUniqueViolation(second)).toBe(true)
    })

    it.each(['approved', 'refused'])('has none %s with the token that made it', async (status) => {
      const { sync, requestId } = await seed()
      const publicationId = status === 'approved' ? sync.publicationId : null
      const close = (tokenId: object) =>
        database.rows(sql`
          update publication_request
          set status = ${status}, closed_by = 'x', closed_by_token_id = ${tokenId}, closed_at = now(),
              publication_id = ${publicationId}
          where id = ${requestId}`)
      await expect(close(sql`requested_by_token_id`)).rejects.toThrow(/four_eyes/)
      await close(sql`${newId()}`)
    })
  })
})

/** What it came to: what it did, or why it was refused. */
function told(act: () => Promise<{ readonly status: string }>): () => Promise<string> {
  return async () => {
    try {
      return (await act()).status
    } catch (error) {
      if (error instanceof RequestClosed) {
        return `refused: ${error.status}`
      }
      if (error instanceof Refusal) {
        return `refused: ${error.code}`
      }
      throw error
    }
  }
}
