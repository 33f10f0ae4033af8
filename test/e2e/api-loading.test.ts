import { describe, expect, it } from 'vitest'
import { TypedDocumentString } from '../../src/client/gql/graphql.ts'
import { RunsQuery, SyncsQuery } from '../../src/client/list-documents.ts'
import type { Database } from '../../src/store/database.ts'
import { PAGE_QUERY } from '../bench/history/page.ts'
import { openApi, type TestApi } from '../support/app.ts'
import { DATABASE_KINDS, useDatabase } from '../support/databases.ts'
import { makeAttempt, makeRun } from '../support/factories.ts'
import { makePublishedSync } from '../support/sync-steps.ts'

/** The database, and how many selects were built or sent through it. */
function countSelects(database: Database): { counted: Database; count(): number } {
  let selects = 0
  const orm = new Proxy(database.orm, {
    get: (target, property, receiver) => {
      if (property === 'select' || property === 'selectDistinctOn') {
        selects += 1
      }
      return Reflect.get(target, property, receiver)
    },
  })
  const rows: Database['rows'] = (statement) => {
    selects += 1
    return database.rows(statement)
  }
  return { counted: { ...database, orm, rows }, count: () => selects }
}

describe('a list', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  it('costs the same number of statements, however long it is', async () => {
    const { counted, count } = countSelects(database())
    const api = await openApi(counted)
    try {
      const [short, long] = [await makeHistory(api, 2), await makeHistory(api, 12)]
      const costs: number[] = []
      for (const { client } of [short, long]) {
        const before = count()
        const { syncs } = await client.request(SyncsQuery, {})
        const { runs } = await client.request(RunsQuery, {})
        costs.push(count() - before)
        expect(syncs.edges.every(({ node }) => node.lastRun !== null)).toBe(true)
        expect(syncs.edges.every(({ node }) => node.health?.status === 'FAILING')).toBe(true)
        expect(runs.edges).toHaveLength(syncs.edges.length)
      }
      expect(costs[1]).toBe(costs[0])
      // Two tokens; the syncs, their connections, last runs and health; the runs and their syncs.
      expect(costs[0]).toBe(8)
    } finally {
      await api.stop()
    }
  })
})

describe('a page of runs with their failures and attempts', () => {
  const database = useDatabase(DATABASE_KINDS[0] ?? 'embedded')

  it('costs three statements: the token, the runs, their attempts', async () => {
    const { counted, count } = countSelects(database())
    const api = await openApi(counted)
    try {
      const workspace = await makeHistory(api, 1)
      const { workspaceId, client } = workspace
      const { uuid: syncId } = await makePublishedSync(api, workspace)
      for (let n = 0; n < 60; n += 1) {
        const runId = await makeRun(api.database, { workspaceId, syncId, status: 'failed' })
        await makeAttempt(api.database, { runId, number: 1, failureCode: 'lease_lost' })
      }
      const variables = { statuses: ['FAILED'], codes: ['PROVIDER_UNAVAILABLE'] }
      for (const way of ['at first', 'again']) {
        const before = count()
        const { runs } = await client.request(PAGE, variables)
        expect(count() - before, way).toBe(3)
        expect(runs.edges).toHaveLength(50)
        expect(runs.edges.every(({ node }) => node.attempts.length === 1)).toBe(true)
      }
    } finally {
      await api.stop()
    }
  })
})

interface Page extends Record<string, unknown> {
  readonly runs: {
    readonly edges: readonly { readonly node: { readonly attempts: readonly unknown[] } }[]
  }
}

const PAGE = new TypedDocumentString<Page, Record<string, unknown>>(PAGE_QUERY)

async function makeHistory(api: TestApi, length: number) {
  const workspace = await api.makeWorkspace()
  const { workspaceId } = workspace
  for (let n = 0; n < length; n += 1) {
    const { uuid: syncId } = await makePublishedSync(api, workspace)
    await makeRun(api.database, { workspaceId, syncId, status: 'failed' })
  }
  return workspace
}
