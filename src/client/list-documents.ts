/** The lists that the tests and the console read. */
import { graphql } from './gql/gql.ts'

export const ConnectionsQuery = graphql(`
  query Connections($first: Int, $after: String, $last: Int, $before: String) {
    connections(first: $first, after: $after, last: $last, before: $before) {
      edges {
        cursor
        node {
          id
          name
          type
          roles
          config
          hasCredentials
          isConnected
          disconnectedAt
          createdAt
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
`)

export const SyncsQuery = graphql(`
  query Syncs($first: Int, $after: String, $filter: SyncFilter) {
    syncs(first: $first, after: $after, filter: $filter) {
      edges {
        node {
          id
          name
          status
          hasUnpublishedChanges
          health {
            status
            since
            why
          }
          draft {
            sourceConnection {
              name
            }
            destinationConnection {
              name
            }
          }
          lastRun {
            id
            status
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)

export const RunsQuery = graphql(`
  query Runs($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {
    runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges {
        cursor
        node {
          ...RunSummary
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
`)

export const FailuresQuery = graphql(`
  query Failures(
    $first: Int
    $after: String
    $last: Int
    $before: String
    $filter: FailureFilter
  ) {
    failures(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      edges {
        node {
          ...RunSummary
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
`)
