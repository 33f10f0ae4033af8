/**
 * Retries every failure on which Tajo has to act, and says what became of each: for a script that runs at night.
 *
 *   TAJO_URL=http://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… npx tsx retry-failures.ts
 *
 * Needs @urql/core and a token with the role OPERATOR. May be repeated at any time: what is retried already is told.
 */
import { randomUUID } from 'node:crypto'
import { Client, fetchExchange, gql } from '@urql/core'

const { TAJO_URL = 'http://127.0.0.1:4000/graphql', TAJO_TOKEN = '' } = process.env

const client = new Client({
  url: TAJO_URL,
  exchanges: [fetchExchange],
  preferGetMethod: false,
  fetchOptions: { headers: { authorization: `Bearer ${TAJO_TOKEN}` } },
})

interface FailuresPage {
  readonly failures: {
    readonly edges: readonly { readonly node: { readonly id: string } }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

const FAILURES = gql<FailuresPage>`
  query Failures($after: String) {
    failures(filter: { owner: TAJO }, first: 200, after: $after) {
      edges { node { id } }
      pageInfo { hasNextPage endCursor }
    }
  }
`

interface Retried {
  readonly retryRuns: {
    /** Not there: the request was refused as a whole, and `message` says why. */
    readonly items?: readonly {
      readonly runId: string
      readonly outcome: { readonly message?: string; readonly run?: { readonly id: string } }
    }[]
    readonly message?: string
  }
}

const RETRY = gql<Retried>`
  mutation Retry($runIds: [ID!]!, $clientKey: String!) {
    retryRuns(input: { runIds: $runIds, clientKey: $clientKey }) {
      ... on RetriedRuns {
        items {
          runId
          outcome {
            ... on StartedRun { run { id } }
            ... on Refusal { message }
          }
        }
      }
      ... on Refusal { message }
    }
  }
`

async function ask<Data>(document: ReturnType<typeof gql<Data>>, variables: object): Promise<Data> {
  const { data, error } = await client.query(document, variables, { requestPolicy: 'network-only' })
  if (error || !data) {
    throw new Error(error?.message ?? 'The API sent nothing.')
  }
  return data
}

/** Whole pages are read before anything is retried: what is retried may leave the list. */
async function listFailures(): Promise<readonly string[]> {
  const ids: string[] = []
  let after: string | null = null
  do {
    const { failures }: FailuresPage = await ask(FAILURES, { after })
    ids.push(...failures.edges.map(({ node }) => node.id))
    after = failures.pageInfo.hasNextPage ? failures.pageInfo.endCursor : null
  } while (after !== null)
  return ids
}

async function retry(runIds: readonly string[]): Promise<void> {
  const variables = { runIds, clientKey: randomUUID() }
  const { data, error } = await client.mutation(RETRY, variables)
  const answer = data?.retryRuns
  if (error || !answer?.items) {
    throw new Error(error?.message ?? answer?.message ?? 'The API sent nothing.')
  }
  for (const { runId, outcome } of answer.items) {
    console.log(runId, outcome.run ? `is retried by ${outcome.run.id}` : outcome.message)
  }
}

const failures = await listFailures()
for (let from = 0; from < failures.length; from += 200) {
  await retry(failures.slice(from, from + 200))
}
console.log(`Failures on Tajo's side: ${failures.length}.`)
