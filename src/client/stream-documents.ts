/** What watches the runs of a sync or of a workspace; that of one run is among the first documents. */
import { graphql } from './gql/gql.ts'

export const SyncRunsSubscription = graphql(`
  subscription SyncRuns($syncId: ID!, $after: String) {
    syncRuns(syncId: $syncId, after: $after) {
      __typename
      ...Update
    }
  }
  fragment Update on RunUpdateEvent {
    ... on RunUpdate {
      sequence
      progress {
        ...Progress
      }
      run {
        id
        status
        sync {
          id
        }
      }
    }
    ... on RunsKeepAlive {
      at
      sequence
    }
  }
`)

export const WorkspaceRunsSubscription = graphql(`
  subscription WorkspaceRuns($after: String) {
    workspaceRuns(after: $after) {
      __typename
      ...Update
    }
  }
`)
