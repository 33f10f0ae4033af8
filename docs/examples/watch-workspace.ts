/**
 * Writes a line for each change of each run of the workspace, over a WebSocket. Runs until it is stopped.
 *
 *   TAJO_URL=ws://127.0.0.1:4000/graphql TAJO_TOKEN=tajo_… npx tsx watch-workspace.ts
 *
 * Needs graphql-ws and ws. A connection that broke is made again, and the stream goes on where it was: no run is
 * missed that ended meanwhile.
 */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'

const { TAJO_URL = 'ws://127.0.0.1:4000/graphql', TAJO_TOKEN = '' } = process.env

interface Events {
  readonly workspaceRuns:
    | {
        readonly __typename: 'RunUpdate'
        readonly sequence: string
        readonly progress: {
          readonly runId: string
          readonly status: string
          readonly counters: { readonly read: number; readonly written: number }
        }
        readonly run: { readonly sync: { readonly name: string } }
      }
    | { readonly __typename: 'RunsKeepAlive'; readonly sequence: string }
}

const query = /* GraphQL */ `
  subscription Watch($after: String) {
    workspaceRuns(after: $after) {
      __typename
      ... on RunUpdate {
        sequence
        progress { runId status counters { read written } }
        run { sync { name } }
      }
      ... on RunsKeepAlive { sequence }
    }
  }
`

const client = createClient({
  url: TAJO_URL,
  webSocketImpl: WebSocket,
  connectionParams: { Authorization: `Bearer ${TAJO_TOKEN}` },
  // A subscription that broke is begun anew below, from where it was.
  retryAttempts: 0,
})

let after: string | null = null

function tell(event: Events['workspaceRuns']): void {
  if (event.__typename === 'RunUpdate') {
    const { runId, status, counters } = event.progress
    const { written, read } = counters
    console.log(`${event.run.sync.name}: ${runId} ${status}, written ${written} of ${read}`)
  }
  after = event.sequence
}

for (;;) {
  try {
    const variables = { after }
    for await (const { data } of client.iterate<Events>({ query, variables })) {
      if (data) {
        tell(data.workspaceRuns)
      }
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}
