/** How PostgreSQL finds filtered pages among a million runs: how many rows each step of the plan reads. */
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { standingsOf } from '../../../src/domain/run-standing.ts'
import type { Handle } from '../../../src/store/database.ts'
import { listFailures, listRuns } from '../../../src/store/history/run-pages.ts'
import { report } from '../figures.ts'
import { PAGE_SIZE } from './page.ts'
import type { SeededHistory } from './seed.ts'

/** A page's rows for each of 19 standings with each of 5 causes, and the runs of a day's slack: far from a million. */
const MOST_ROWS = 6_000

const PAGE = { after: null, before: null, limit: PAGE_SIZE + 1, isFromEnd: false }
const MONTHS_AGO = new Date(Date.now() - 200 * 86_400_000)
const NEXT_DAY = new Date(MONTHS_AGO.getTime() + 86_400_000)

type List = (handle: Handle, history: SeededHistory) => Promise<unknown>

/** What people ask for, and the rarest of it, which is the worst to find. */
const LISTS: Readonly<Record<string, List>> = {
  'of all': list({}),
  'by status and code': list({
    standings: standingsOf({ statuses: ['failed'], codes: ['provider_unavailable'] }),
  }),
  'by a status that no run has': list({ standings: standingsOf({ statuses: ['queued'] }) }),
  'by owner': list({ standings: standingsOf({ owner: 'TAJO' }) }),
  'by a rare cause': list({ causes: ['redrive'] }),
  'by status and a rare cause': list({
    standings: standingsOf({ statuses: ['partial'] }),
    causes: ['sweep', 'retry'],
  }),
  'of a day long ago': list({ createdFrom: MONTHS_AGO, createdTo: NEXT_DAY }),
  'of a day long ago, by status': list({
    createdFrom: MONTHS_AGO,
    createdTo: NEXT_DAY,
    standings: standingsOf({ statuses: ['failed'] }),
  }),
  'before a time long ago': list({ createdTo: MONTHS_AGO }),
  'of a sync, by code': (handle, { workspaceId, syncIds }) =>
    listRuns(handle, workspaceId, {
      page: PAGE,
      filter: { syncId: syncIds[0] ?? '', standings: ['lease_lost'] },
    }),
  'failures, by code': (handle, { workspaceId }) =>
    listFailures(handle, workspaceId, { page: PAGE, filter: { standings: ['lease_lost'] } }),
  'failures, of all': (handle, { workspaceId }) =>
    listFailures(handle, workspaceId, { page: PAGE, filter: {} }),
}

function list(filter: Parameters<typeof listRuns>[2]['filter']): List {
  return (handle, { workspaceId }) => listRuns(handle, workspaceId, { page: PAGE, filter })
}

/** False when a page reads more rows than it may, as one that scans the table does. */
export async function explainPages(url: string, history: SeededHistory): Promise<boolean> {
  const client = postgres(url, { max: 1, fetch_types: false })
  try {
    let isFine = true
    for (const [name, listed] of Object.entries(LISTS)) {
      const plan = await explain(client, (handle) => listed(handle, history))
      const isReached = report({
        bench: 'history',
        figure: `rows that a page ${name} reads`,
        value: countRows(plan),
        unit: 'rows',
        atMost: MOST_ROWS,
      })
      isFine = isReached && isFine
    }
    return isFine
  } finally {
    await client.end()
  }
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

async function explain(
  client: postgres.Sql,
  listed: (handle: Handle) => Promise<unknown>,
): Promise<PlanNode> {
  const dialect = new PgDialect()
  let plan: PlanNode | null = null
  const rows: Handle['rows'] = async (statement) => {
    const { sql: text, params } = dialect.sqlToQuery(statement)
    const [answer] = await client.unsafe(
      `explain (analyze, format json) ${text}`,
      params as never[],
    )
    plan = answer?.['QUERY PLAN'][0].Plan
    return []
  }
  await listed({ rows } as Handle)
  if (plan === null) {
    throw new Error('The list sent no statement.')
  }
  return plan
}

/** Of the table of runs: those that are given, and those that are looked at and left. */
function countRows(node: PlanNode): number {
  const own =
    node['Relation Name'] === 'run'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0
  return (node.Plans ?? []).reduce((rows, below) => rows + countRows(below), own)
}
