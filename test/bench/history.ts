/**
 * Pages of a million runs: what a page of 50 with failures and attempts costs, beside a bare server.
 *
 * Bare is node:http with the same statements, prepared, and their rows as JSON. Mercurius serves our schema with its
 * JIT. Each is a process of its own on the same private PostgreSQL, with as many connections; they take turns, and the
 * medians are compared. Ten pages are walked while 100 runs arrive, the statements of a page are counted, and no plan
 * of a filtered page may read more of the table than a page.
 */
import { type Database, openDatabase } from '../../src/store/database.ts'
import { listRuns } from '../../src/store/history/run-pages.ts'
import { makeRun } from '../support/factories.ts'
import { type StartedProcess, startScript } from '../support/processes.ts'
import { startPostgres } from '../support/services.ts'
import { median, report } from './figures.ts'
import { ask, measureRate } from './history/load.ts'
import { PAGE_QUERY, PAGE_SIZE } from './history/page.ts'
import { explainPages } from './history/plans.ts'
import { type SeededHistory, seedHistory } from './history/seed.ts'

const PAGES = 10
const ARRIVING = 100
const ROUNDS = 5
const ROUND_MS = 4_000
const WARM_UP_ROUNDS = 2
const FILTER = { statuses: ['FAILED'], codes: ['PROVIDER_UNAVAILABLE'] }

const SERVERS = ['bare', 'ours', 'interpreted', 'mercurius'] as const
type Served = (typeof SERVERS)[number]

export async function benchHistory(): Promise<boolean> {
  const server = await startPostgres({ isOwn: true })
  const started: StartedProcess[] = []
  const database = await openDatabase({
    at: { url: server.url },
    maxConnections: 4,
    applicationName: 'tajo-sync bench',
  })
  try {
    const history = await seedHistory(database, server.url)
    const addresses = new Map<Served, string>()
    for (const kind of SERVERS) {
      const environment = { DATABASE_URL: server.url }
      const child = startScript('test/bench/history/serve.ts', environment, [kind])
      started.push(child)
      addresses.set(kind, await child.find(/listens at (\S+)/))
    }
    const ours = `${addresses.get('ours')}/graphql`
    const checks = [
      await explainPages(server.url, history),
      await walkWhileRunsArrive({ url: ours, database, history }),
      await compareRates(addresses, history),
    ]
    return checks.every(Boolean)
  } finally {
    for (const child of started) {
      await child.kill('SIGKILL')
    }
    await database.close()
    await server.stop()
  }
}

interface Page {
  readonly ids: readonly string[]
  readonly endCursor: string | null
}

async function readPage(url: string, token: string, after: string | null): Promise<Page> {
  const answer = JSON.parse(await ask({ url, token, body: bodyOf(after) }))
  const { edges, pageInfo } = answer.data.runs
  return {
    ids: edges.map(({ node }: { node: { id: string } }) => node.id),
    endCursor: pageInfo.endCursor,
  }
}

function bodyOf(after: string | null): string {
  return JSON.stringify({ query: PAGE_QUERY, variables: { ...FILTER, after } })
}

/** What is read must be, in order and each once, what stood there before anything arrived. */
async function walkWhileRunsArrive(given: {
  readonly url: string
  readonly database: Database
  readonly history: SeededHistory
}): Promise<boolean> {
  const { url, database, history } = given
  const { token, workspaceId, syncIds } = history
  const standing = await listRuns(database, workspaceId, {
    page: { after: null, before: null, limit: PAGES * PAGE_SIZE, isFromEnd: false },
    filter: { standings: ['provider_unavailable'] },
  })
  const walked: string[] = []
  let after: string | null = null
  for (let page = 0; page < PAGES; page += 1) {
    const arriving = Array.from({ length: ARRIVING / PAGES }, (_, n) =>
      makeRun(database, { workspaceId, syncId: syncIds[n] ?? '', status: 'failed' }),
    )
    const read: Page = await readPage(url, token, after)
    await Promise.all(arriving)
    walked.push(...read.ids)
    after = read.endCursor
  }
  const before = new Set(standing.map(({ id }) => `run_${id}`))
  const fresh = walked.filter((id) => !before.has(id)).length
  const expected = standing.slice(0, walked.length - fresh).map(({ id }) => `run_${id}`)
  const gaps = expected.filter((id) => !walked.includes(id)).length
  return [
    report({
      bench: 'history',
      figure: `runs missing of ${PAGES} pages while ${ARRIVING} arrive`,
      value: gaps,
      unit: 'runs',
      atMost: 0,
    }),
    report({
      bench: 'history',
      figure: `runs doubled in ${PAGES} pages while ${ARRIVING} arrive`,
      value: walked.length - new Set(walked).size,
      unit: 'runs',
      atMost: 0,
    }),
  ].every(Boolean)
}

async function compareRates(
  addresses: ReadonlyMap<Served, string>,
  history: SeededHistory,
): Promise<boolean> {
  const { token, workspaceId } = history
  const cursors: (string | null)[] = [null]
  for (let page = 1; page < PAGES; page += 1) {
    const { endCursor } = await readPage(
      `${addresses.get('ours')}/graphql`,
      token,
      cursors.at(-1) ?? null,
    )
    cursors.push(endCursor)
  }
  const rates = new Map<Served, number[]>(SERVERS.map((kind) => [kind, []]))
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    for (const [kind, address] of addresses) {
      const isBare = kind === 'bare'
      const rate = await measureRate({
        url: isBare ? address : `${address}/graphql`,
        token,
        bodies: cursors.map((after) => (isBare ? bareBodyOf(workspaceId, after) : bodyOf(after))),
        durationMs: ROUND_MS,
      })
      if (round >= WARM_UP_ROUNDS) {
        rates.get(kind)?.push(rate)
      }
    }
  }
  const rateOf = (kind: Served) => median(rates.get(kind) ?? [])
  for (const kind of SERVERS) {
    report({ bench: 'history', figure: `${kind}: pages`, value: rateOf(kind), unit: 'pages/s' })
  }
  for (const kind of ['interpreted', 'mercurius'] as const) {
    const figure = `${kind} to the same SQL served bare`
    report({ bench: 'history', figure, value: rateOf(kind) / rateOf('bare'), unit: 'ratio' })
  }
  return report({
    bench: 'history',
    figure: 'ours to the same SQL served bare',
    value: rateOf('ours') / rateOf('bare'),
    unit: 'ratio',
    atLeast: 0.5,
  })
}

/** The bare server is asked for ids. */
function bareBodyOf(workspaceId: string, after: string | null): string {
  const id = after === null ? LAST_ID : Buffer.from(after, 'base64url').toString('utf8')
  return JSON.stringify({ workspaceId, after: id })
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
