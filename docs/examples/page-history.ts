/**
 * Writes the history of runs as lines of tab-separated values, newest first, a page at a time.
 *
 *   TAJO_URL=http://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… npx tsx page-history.ts
 *
 * Needs @urql/core. Runs that arrive meanwhile move no page: a cursor names a place, not a number of rows.
 */
import { Client, fetchExchange, gql } from '@urql/core'

const {
  TAJO_URL = 'http://127.0.0.1:4000/graphql',
  TAJO_TOKEN = '',
  PAGE_SIZE = '50',
} = process.env

const client = new Client({
  url: TAJO_URL,
  exchanges: [fetchExchange],
  preferGetMethod: false,
  fetchOptions: { headers: { authorization: `Bearer ${TAJO_TOKEN}` } },
})

interface HistoryPage {
  readonly runs: {
    readonly edges: readonly {
      readonly node: {
        readonly id: string
        readonly status: string
        readonly startedAt: string | null
        readonly durationMs: number | null
        readonly counters: {
          readonly read: number
          readonly written: number
          readonly rejected: number
        }
        readonly failure: { readonly code: string } | null
      }
    }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

const HISTORY = gql<HistoryPage>`
  query History($first: Int!, $after: String) {
    runs(first: $first, after: $after) {
      edges {
        node {
          id
          status
          startedAt
          durationMs
          counters { read written rejected }
          failure { code }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`

let after: string | null = null
do {
  const variables: { first: number; after: string | null } = { first: Number(PAGE_SIZE), after }
  const { data, error } = await client.query(HISTORY, variables, { requestPolicy: 'network-only' })
  if (error || !data) {
    throw new Error(error?.message ?? 'The API sent nothing.')
  }
  for (const { node } of data.runs.edges) {
    const { written, read, rejected } = node.counters
    const cells = [node.id, node.status, `${written} of ${read}`, rejected, node.durationMs ?? '']
    console.log([...cells, node.startedAt ?? '', node.failure?.code ?? ''].join('\t'))
  }
  after = data.runs.pageInfo.hasNextPage ? data.runs.pageInfo.endCursor : null
} while (after !== null)
