/**
 * Watches a run in a terminal, over server-sent events, until it has ended. Exits with 0 when it succeeded.
 *
 *   TAJO_URL=http://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… npx tsx watch-run.ts run_…
 *
 * Needs graphql-sse, which connects again by itself: the stream then begins with where the run stands.
 */
import { createClient } from 'graphql-sse'

const { TAJO_URL = 'http://127.0.0.1:4000/graphql', TAJO_TOKEN = '' } = process.env
const [, , runId] = process.argv

interface Progress {
  readonly __typename: 'RunProgress'
  readonly status: string
  readonly isTerminal: boolean
  readonly counters: { readonly read: number; readonly written: number; readonly rejected: number }
  readonly totalRecords: number | null
  readonly failureCode: string | null
  readonly progressNote: string | null
}

const client = createClient({
  url: TAJO_URL,
  headers: { authorization: `Bearer ${TAJO_TOKEN}` },
})

const query = /* GraphQL */ `
  subscription Watch($runId: ID!) {
    runProgress(runId: $runId) {
      __typename
      ... on RunProgress {
        status
        isTerminal
        counters { read written rejected }
        totalRecords
        failureCode
        progressNote
      }
    }
  }
`

let status = 'unknown'
const events = client.iterate<{ runProgress: Progress | { readonly __typename: 'KeepAlive' } }>({
  ...{ query, variables: { runId } },
})
for await (const { data, errors } of events) {
  const event = data?.runProgress
  if (errors) {
    throw new Error(errors.map(({ message }) => message).join(' '))
  }
  if (event?.__typename !== 'RunProgress') {
    continue
  }
  const { read, written, rejected } = event.counters
  const total = event.totalRecords === null ? '' : ` of ${event.totalRecords}`
  const notes = [event.failureCode, event.progressNote].filter(Boolean).join(' ')
  console.log(
    `${event.status}: read ${read}${total}, written ${written}, failed ${rejected} ${notes}`.trimEnd(),
  )
  status = event.status
}
client.dispose()
process.exitCode = status === 'SUCCEEDED' ? 0 : 1
