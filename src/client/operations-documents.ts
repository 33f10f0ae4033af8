/** What Tajo's operators ask for. */
import { graphql } from './gql/gql.ts'

export const OperationsQuery = graphql(`
  query Operations($first: Int, $filter: WorkerFilter) {
    queue {
      queued
      due
      running
      oldestDueAt
      waitingWorkspaces
    }
    workers(first: $first, filter: $filter) {
      edges {
        node {
          workerId
          host
          pid
          startedAt
          beatAt
          silentMs
          stoppedAt
          runs
        }
      }
    }
    workspaces(first: $first) {
      edges {
        node {
          id
          name
          createdAt
        }
      }
    }
  }
`)
